//! Whether a scalar is close enough: by the tolerance of a data set, or because the gold is a
//! decimal that was rounded.

use num_rational::BigRational;
use num_traits::One;

use crate::equality::{Comparison, equal, within};
use crate::evaluation::{Obstacle, exactly};
use crate::number::{Number, ten_to, terminates};
use crate::point::Point;
use crate::rules::{Decimals, Rules};
use crate::term::Term;
use crate::work::Work;

/// A gold with fewer digits is not taken for a rounded value.
const FEWEST_DIGITS: u32 = 4;

/// Whether `answer` is right where `gold` is the part of the gold at `index`.
pub fn close(gold: &Term, answer: &Term, rules: &Rules, index: usize, work: &Work) -> Comparison {
    let constant = |term: &Term| term.variables().is_empty();
    let tolerance = rules.tolerance(index).filter(|_| constant(gold) && constant(answer));
    let same = match tolerance {
        Some(tolerance) => within(gold, answer, tolerance, work).or(|| equal(gold, answer, work)),
        None => equal(gold, answer, work),
    };
    if same != Comparison::Different || !constant(answer) {
        return same;
    }
    match rounding(gold, rules).filter(|_| may_be_rounded(answer, rules, work)) {
        Some(half_a_digit) => within(gold, answer, &half_a_digit, work),
        None => same,
    }
}

/// Half of what the last digit of the gold is worth, if the gold is a decimal.
fn rounding(gold: &Term, rules: &Rules) -> Option<BigRational> {
    let (number, scale) = scientific(gold)?;
    let digits = number.decimals?;
    let enough = match rules.decimals {
        Decimals::Exact => false,
        Decimals::Approximate => number.significant >= FEWEST_DIGITS,
        Decimals::Rounded => true,
    };
    let last_digit = scale / BigRational::from_integer(ten_to(digits as usize));
    (enough && digits > 0).then(|| last_digit / BigRational::from_integer(2.into()))
}

/// The decimal that a term is, and the power of ten that it is multiplied by.
fn scientific(term: &Term) -> Option<(Number, BigRational)> {
    match term {
        Term::Product(factors) => match factors.as_slice() {
            [mantissa, Term::Power(ten, exponent)] if ten.literal()? == whole(10) => {
                let exponent = exponent.literal()?.to_integer();
                let exponent = i32::try_from(exponent).ok().filter(|e| e.abs() < 1_000)?;
                Some((mantissa.numeral()?.0, whole(10).pow(exponent)))
            }
            _ => None,
        },
        _ => Some((term.numeral()?.0, BigRational::one())),
    }
}

fn whole(value: i64) -> BigRational {
    BigRational::from_integer(value.into())
}

/// Whether the gold may be what the answer was rounded to. A decimal says itself how far it
/// was rounded: `3.1416` is not `3.14`.
fn may_be_rounded(answer: &Term, rules: &Rules, work: &Work) -> bool {
    match exactly(answer, &Point::new(), work) {
        Ok(value) => rules.decimals == Decimals::Rounded || !terminates(&value),
        Err(obstacle) => obstacle == Obstacle::Unsupported,
    }
}
