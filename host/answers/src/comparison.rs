//! Whether two answers are equal: which kinds go together, and how each is compared.

mod lists;
mod relations;
mod values;

use crate::answer::{Answer, SetOperation};
use crate::equality::Comparison;
use crate::region::Condition;
use crate::rules::Rules;
use crate::work::Work;

/// Compares one gold with one answer.
pub struct Comparer<'a> {
    /// What counts as equal.
    pub rules: &'a Rules,
    /// What it may cost.
    pub work: &'a Work,
}

impl Comparer<'_> {
    /// Whether `answer` is right where `gold` is asked for. The signs of both are written out.
    pub fn compare(&self, gold: &Answer, answer: &Answer) -> Comparison {
        self.at(gold, answer, 0)
    }

    /// The same, where `gold` is the part of the whole gold at `index`.
    fn at(&self, gold: &Answer, answer: &Answer, index: usize) -> Comparison {
        self.structure(gold, answer, index).or(|| self.regions(gold, answer))
    }

    fn structure(&self, gold: &Answer, answer: &Answer, index: usize) -> Comparison {
        if let Some(comparison) = self.relations(gold, answer, index) {
            return comparison;
        }
        match (gold, answer) {
            (Answer::Value(gold), Answer::Value(answer)) => self.values(gold, answer, index),
            (Answer::Value(gold), Answer::Ratio(parts, unit)) => {
                self.value_as_ratio(gold, parts, unit.as_deref(), index)
            }
            (Answer::Ratio(gold, unit), Answer::Ratio(answer, other)) => {
                self.ratios((gold, unit.as_deref()), (answer, other.as_deref()))
            }
            (Answer::Ratio(gold, None), Answer::Value(answer)) => self.ratio_as_value(gold, answer),
            (Answer::Known(gold), Answer::Known(answer)) => Comparison::of(gold == answer),
            (Answer::Words(gold), Answer::Words(answer)) => Comparison::of(gold == answer),
            (Answer::Digits(gold, base), Answer::Digits(answer, other)) => {
                let digits = |text: &str| text.trim_start_matches('0').to_owned();
                Comparison::of(base == other && digits(gold) == digits(answer))
            }
            (
                Answer::Tuple { open, items, close },
                Answer::Tuple { open: other_open, items: others, close: other_close },
            ) => {
                if open != other_open || close != other_close {
                    return Comparison::Different;
                }
                self.in_order(items, others)
            }
            (Answer::Matrix { bars, rows }, Answer::Matrix { bars: other_bars, rows: others }) => {
                self.matrices((*bars, rows), (*other_bars, others))
            }
            (Answer::Combined(..), Answer::Combined(..)) => self.combined(gold, answer),
            (Answer::Builder(element, condition), Answer::Builder(other, other_condition)) => {
                Comparison::all([
                    self.compare(element, other),
                    self.compare(condition, other_condition),
                ])
            }
            _ => self.collections(gold, answer, index),
        }
    }

    fn matrices(&self, gold: (bool, &[Vec<Answer>]), answer: (bool, &[Vec<Answer>])) -> Comparison {
        if gold.0 != answer.0 || gold.1.len() != answer.1.len() {
            return Comparison::Different;
        }
        let rows = gold.1.iter().zip(answer.1);
        Comparison::all(rows.map(|(gold, answer)| self.in_order(gold, answer)))
    }

    /// Unions and intersections of the same sets, in any order; differences in theirs.
    fn combined(&self, gold: &Answer, answer: &Answer) -> Comparison {
        let (Answer::Combined(left, operation, right), Answer::Combined(first, other, second)) =
            (gold, answer)
        else {
            return Comparison::Different;
        };
        if operation != other {
            return Comparison::Different;
        }
        if *operation == SetOperation::Difference {
            return Comparison::all([self.compare(left, first), self.compare(right, second)]);
        }
        let flat = |answer| {
            let mut parts = Vec::new();
            operands(answer, *operation, &mut parts);
            parts
        };
        self.unordered(&flat(gold), &flat(answer))
    }

    /// Sets of real numbers that are written differently.
    fn regions(&self, gold: &Answer, answer: &Answer) -> Comparison {
        if !is_region(gold) && !is_region(answer) {
            return Comparison::Different;
        }
        let inequality = |side: &Answer| matches!(side, Answer::Relations(_) | Answer::List(..));
        if inequality(gold) != inequality(answer) && !self.rules.inequality_for_interval {
            return Comparison::Different;
        }
        let (Some(gold), Some(answer)) =
            (Condition::of(gold, self.work), Condition::of(answer, self.work))
        else {
            return Comparison::Different;
        };
        if let (Some(gold), Some(answer)) = (&gold.letter, &answer.letter)
            && gold != answer
        {
            return Comparison::Different;
        }
        gold.region.same(&answer.region, self.work)
    }
}

fn operands<'a>(answer: &'a Answer, operation: SetOperation, parts: &mut Vec<&'a Answer>) {
    match answer {
        Answer::Combined(left, inner, right) if *inner == operation => {
            operands(left, operation, parts);
            operands(right, operation, parts);
        }
        other => parts.push(other),
    }
}

/// Whether an answer can only be a set of numbers, and no point or list.
fn is_region(answer: &Answer) -> bool {
    match answer {
        Answer::Combined(..) | Answer::Builder(..) | Answer::Known(_) => true,
        Answer::Relations(chain) => {
            chain.rest.iter().any(|(relation, _)| *relation != crate::answer::Relation::Equal)
        }
        Answer::List(items, _) => items.iter().all(is_region),
        _ => false,
    }
}
