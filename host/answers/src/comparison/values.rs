//! Scalars with their units, and ratios.

use super::Comparer;
use crate::answer::Value;
use crate::closeness::close;
use crate::equality::{Comparison, equal};
use crate::term::Term;

impl Comparer<'_> {
    pub(super) fn values(&self, gold: &Value, answer: &Value, index: usize) -> Comparison {
        match (gold.unit.as_deref(), answer.unit.as_deref()) {
            (None, None) => self.terms(&gold.term, &answer.term, index),
            (Some(_), Some(_)) if gold.unit != answer.unit => Comparison::Different,
            (Some(_), Some(_)) => close(&gold.term, &answer.term, self.rules, index, self.work),
            (gold_unit, answer_unit) => {
                // What looks like a unit of one letter may be that letter: `0.64 N`.
                let letter = gold_unit.or(answer_unit).filter(|unit| unit.len() == 1);
                if let Some(letter) = letter
                    && let Some((gold, answer)) = as_letter(gold, answer, letter)
                {
                    return close(&gold, &answer, self.rules, index, self.work);
                }
                self.without_unit(gold, answer, index)
            }
        }
    }

    /// One of the two has a unit.
    fn without_unit(&self, gold: &Value, answer: &Value, index: usize) -> Comparison {
        // Nothing but a number can be short of its unit, and a share is no amount.
        let amount = |term: &Term| !is_percent(term);
        if !self.rules.unit_optional || !amount(&gold.term) || !amount(&answer.term) {
            return Comparison::Different;
        }
        close(&gold.term, &answer.term, self.rules, index, self.work)
    }

    fn terms(&self, gold: &Term, answer: &Term, index: usize) -> Comparison {
        let same = close(gold, answer, self.rules, index, self.work);
        if !self.rules.percent_optional || is_percent(gold) == is_percent(answer) {
            return same;
        }
        same.or(|| close(bare(gold), bare(answer), self.rules, index, self.work))
    }

    /// `3:4` where `\frac{3}{4}` is asked for.
    pub(super) fn value_as_ratio(
        &self,
        gold: &Value,
        parts: &[Term],
        unit: Option<&str>,
        index: usize,
    ) -> Comparison {
        match parts {
            [above, below] if unit.is_none() && gold.unit.is_none() => {
                let ratio = above.clone().over(below.clone());
                close(&gold.term, &ratio, self.rules, index, self.work)
            }
            _ => Comparison::Different,
        }
    }

    /// `\frac{2}{3}` where `2:3` is asked for.
    pub(super) fn ratio_as_value(&self, gold: &[Term], answer: &Value) -> Comparison {
        match gold {
            [above, below] if answer.unit.is_none() && !is_time(gold) => {
                equal(&above.clone().over(below.clone()), &answer.term, self.work)
            }
            _ => Comparison::Different,
        }
    }

    pub(super) fn ratios(
        &self,
        (gold, unit): (&[Term], Option<&str>),
        (answer, other): (&[Term], Option<&str>),
    ) -> Comparison {
        let units_agree = match (unit, other) {
            (Some(unit), Some(other)) => unit == other,
            (None, None) => true,
            _ => self.rules.unit_optional,
        };
        if gold.len() != answer.len() || !units_agree {
            return Comparison::Different;
        }
        let same = gold.iter().zip(answer).map(|(gold, answer)| equal(gold, answer, self.work));
        let same = Comparison::all(same);
        if is_time(gold) || is_time(answer) || unit.is_some() || other.is_some() {
            return same;
        }
        same.or(|| {
            let crossed = gold.iter().zip(answer).map(|(gold_part, answer_part)| {
                let product =
                    |left: &Term, right: &Term| Term::Product(vec![left.clone(), right.clone()]);
                equal(&product(gold_part, &answer[0]), &product(answer_part, &gold[0]), self.work)
            });
            Comparison::all(crossed)
        })
    }
}

/// Whether a ratio may be a time of day or a duration, which is not to be reduced.
fn is_time(parts: &[Term]) -> bool {
    let shows = |term: &Term, digits: std::ops::RangeInclusive<u32>| {
        matches!(term, Term::Number(number) if number.decimals.is_none()
            && digits.contains(&number.significant))
    };
    parts.len() <= 3
        && parts.first().is_some_and(|hours| shows(hours, 0..=2))
        && parts[1..].iter().all(|rest| shows(rest, 2..=2) || shows(rest, 0..=0))
}

fn is_percent(term: &Term) -> bool {
    match term {
        Term::Percent(_) => true,
        Term::Negative(inner) => is_percent(inner),
        _ => false,
    }
}

/// A percentage without its sign.
fn bare(term: &Term) -> &Term {
    match term {
        Term::Percent(inner) => inner,
        other => other,
    }
}

/// Both scalars with the unit as a factor, if the other one has that letter in it.
fn as_letter(gold: &Value, answer: &Value, letter: &str) -> Option<(Term, Term)> {
    let named = |value: &Value| {
        value.term.variables().into_iter().find(|name| name.eq_ignore_ascii_case(letter))
    };
    let name = named(gold).or_else(|| named(answer))?;
    let with = |value: &Value| match value.unit {
        Some(_) => Term::Product(vec![value.term.clone(), Term::Variable(name.clone())]),
        None => value.term.clone(),
    };
    Some((with(gold), with(answer)))
}
