//! Several things at once: lists and sets, in order or not.

use super::Comparer;
use crate::answer::{Answer, Relation};
use crate::equality::Comparison;
use crate::verdict::Reason;

/// Longer lists are compared in order only.
const MOST_UNORDERED: usize = 48;

impl Comparer<'_> {
    /// A list, a set or a tuple against what may stand for it.
    pub(super) fn collections(&self, gold: &Answer, answer: &Answer, index: usize) -> Comparison {
        match (gold, answer) {
            (Answer::List(golds, joiner), Answer::List(answers, other)) => {
                // `x < 1 and x > 0` is not `x < 1 or x > 0`.
                let conditions = golds.iter().all(super::is_region);
                if conditions && joiner != other {
                    return Comparison::Different;
                }
                self.lists(golds, answers)
            }
            (Answer::Set(golds), Answer::Set(answers)) => {
                self.unordered(&self.distinct(golds), &self.distinct(answers))
            }
            (Answer::Set(golds), Answer::List(answers, _)) if self.rules.list_for_set => {
                self.unordered(&self.distinct(golds), &all(answers))
            }
            (Answer::List(golds, _), Answer::Set(answers)) if self.rules.list_for_set => {
                self.unordered(&all(golds), &self.distinct(answers))
            }
            (Answer::Set(golds), Answer::Value(_)) if self.rules.list_for_set => {
                match golds.as_slice() {
                    [only] => self.at(only, answer, index),
                    _ => Comparison::Different,
                }
            }
            (Answer::Value(_), Answer::Set(answers)) if self.rules.list_for_set => {
                match answers.as_slice() {
                    [only] => self.at(gold, only, index),
                    _ => Comparison::Different,
                }
            }
            (Answer::Tuple { items, .. }, Answer::List(answers, _)) => self
                .by_name(answers)
                .map_or(Comparison::Different, |values| self.in_order(items, &values)),
            (Answer::List(golds, _), Answer::Tuple { items, .. }) => self
                .by_name(golds)
                .map_or(Comparison::Different, |values| self.in_order(&values, items)),
            _ => Comparison::Different,
        }
    }

    fn lists(&self, golds: &[Answer], answers: &[Answer]) -> Comparison {
        // Values for `AB = 4, CD = 5` are in that order.
        if self.named_apart(golds) && answers.iter().all(|answer| !answer.is_relation()) {
            return self.in_order(golds, answers);
        }
        self.unordered(&all(golds), &all(answers))
    }

    /// Whether each of these gives a value to a name of its own.
    fn named_apart(&self, answers: &[Answer]) -> bool {
        let names: Option<Vec<&Answer>> =
            answers.iter().map(|answer| answer.assignment().map(|(name, _)| name)).collect();
        names.is_some_and(|names| {
            names.iter().enumerate().all(|(index, name)| !names[..index].contains(name))
        })
    }

    /// The values of `x = 1, y = 2`, in the order of the names.
    fn by_name(&self, answers: &[Answer]) -> Option<Vec<Answer>> {
        if answers.len() < 2 || !self.named_apart(answers) {
            return None;
        }
        let mut named: Vec<(String, Answer)> = Vec::new();
        for answer in answers {
            let (name, values) = answer.assignment()?;
            let [value] = values.as_slice() else { return None };
            named.push((format!("{name:?}"), (*value).clone()));
        }
        named.sort_by(|left, right| left.0.cmp(&right.0));
        Some(named.into_iter().map(|(_, value)| value).collect())
    }

    pub(super) fn in_order(&self, golds: &[Answer], answers: &[Answer]) -> Comparison {
        if golds.len() != answers.len() {
            return Comparison::Different;
        }
        let pairs = golds.iter().zip(answers).enumerate();
        Comparison::all(pairs.map(|(index, (gold, answer))| self.at(gold, answer, index)))
    }

    /// Each gold to one answer and each answer to one gold, whatever the order.
    pub(super) fn unordered(&self, golds: &[&Answer], answers: &[&Answer]) -> Comparison {
        if golds.len() != answers.len() {
            return Comparison::Different;
        }
        if golds.len() > MOST_UNORDERED {
            let pairs = golds.iter().zip(answers).enumerate();
            let ordered =
                Comparison::all(pairs.map(|(index, (gold, answer))| self.at(gold, answer, index)));
            return match ordered {
                Comparison::Same => Comparison::Same,
                _ => Comparison::Unknown(Reason::TooLarge),
            };
        }
        let mut unknown = None;
        let mut fits = vec![vec![false; answers.len()]; golds.len()];
        for (row, gold) in golds.iter().enumerate() {
            for (column, answer) in answers.iter().enumerate() {
                match self.at(gold, answer, row) {
                    Comparison::Same => fits[row][column] = true,
                    Comparison::Different => {}
                    Comparison::Unknown(reason) => unknown = Some(reason),
                }
            }
        }
        match (matching(&fits), unknown) {
            (true, _) => Comparison::Same,
            (false, Some(reason)) => Comparison::Unknown(reason),
            (false, None) => Comparison::Different,
        }
    }

    /// The elements of a set, each once.
    fn distinct<'a>(&self, elements: &'a [Answer]) -> Vec<&'a Answer> {
        let mut distinct: Vec<&Answer> = Vec::new();
        for element in elements {
            if elements.len() > MOST_UNORDERED
                || !distinct.iter().any(|known| self.at(known, element, 0) == Comparison::Same)
            {
                distinct.push(element);
            }
        }
        distinct
    }
}

impl Answer {
    fn is_relation(&self) -> bool {
        matches!(self, Answer::Relations(chain)
            if chain.rest.iter().any(|(relation, _)| *relation == Relation::Equal))
    }
}

fn all(answers: &[Answer]) -> Vec<&Answer> {
    answers.iter().collect()
}

/// Whether every row can be given a column of its own that fits.
fn matching(fits: &[Vec<bool>]) -> bool {
    let mut taken: Vec<Option<usize>> = vec![None; fits.len()];
    (0..fits.len()).all(|row| seat(row, fits, &mut taken, &mut vec![false; fits.len()]))
}

/// Find a column for `row`, moving others to another column where that helps.
fn seat(row: usize, fits: &[Vec<bool>], taken: &mut [Option<usize>], tried: &mut [bool]) -> bool {
    for column in 0..fits.len() {
        if !fits[row][column] || tried[column] {
            continue;
        }
        tried[column] = true;
        if taken[column].is_none_or(|other| seat(other, fits, taken, tried)) {
            taken[column] = Some(row);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::matching;

    #[test]
    fn one_that_fits_everywhere_makes_room_for_one_that_does_not() {
        assert!(matching(&[vec![true, true], vec![true, false]]));
        assert!(!matching(&[vec![true, false], vec![true, false]]));
    }
}
