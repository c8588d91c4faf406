//! Numbers as they are written: their exact value, and how many digits they show.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};

/// Longer numerals are not read.
pub const MOST_DIGITS: usize = 2_000;
/// Powers of ten beyond this are not written out.
pub const MOST_SHIFT: u32 = 2_000;

/// A numeral.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// What it is worth, exactly.
    pub value: BigRational,
    /// How many digits follow its decimal point; none if it has no point.
    pub decimals: Option<u32>,
    /// How many digits it shows, without the zeros in front.
    pub significant: u32,
    /// How many digits it is written with, zeros in front and exponent included, if it has no
    /// point: in another base than ten they may be the last ones of a numeral, as in `1A05`.
    pub written: u32,
}

impl Number {
    /// A whole number.
    pub fn whole(value: impl Into<BigInt>) -> Number {
        let value = BigRational::from_integer(value.into());
        Number { value, decimals: None, significant: 0, written: 0 }
    }

    /// The number with these digits before and after its point, and after these a period
    /// that goes on for ever. All three are ASCII digits.
    pub fn from_digits(whole: &str, fraction: Option<&str>, period: &str) -> Option<Number> {
        let shown = fraction.unwrap_or_default();
        if whole.len() + shown.len() + period.len() > MOST_DIGITS {
            return None;
        }
        let digits = format!("{whole}{shown}");
        let scale = ten_to(shown.len());
        let mut value = BigRational::new(parse(&digits)?, scale.clone());
        if !period.is_empty() {
            let nines = ten_to(period.len()) - 1;
            value += BigRational::new(parse(period)?, nines * scale);
        }
        let significant = digits.trim_start_matches('0').len();
        // All lengths are at most MOST_DIGITS.
        let decimals = fraction.filter(|_| period.is_empty()).map(|_| shown.len() as u32);
        let written = if fraction.is_none() { whole.len() as u32 } else { 0 };
        Some(Number { value, decimals, significant: significant as u32, written })
    }

    /// The number times a power of ten, if that is worth writing out.
    pub fn shifted(mut self, power: i64) -> Option<Number> {
        if power.unsigned_abs() > u64::from(MOST_SHIFT) {
            return None;
        }
        let factor = BigRational::from_integer(ten_to(power.unsigned_abs() as usize));
        if power >= 0 {
            self.value *= factor;
        } else {
            self.value /= factor;
        }
        let places = i64::from(self.decimals.unwrap_or(0)) - power;
        self.decimals = Some(places.max(0) as u32);
        Some(self)
    }

    /// Its only digits, if it is a whole number below ten thousand that is written as one.
    pub fn small(&self) -> Option<u32> {
        if self.decimals.is_some() || !self.value.is_integer() {
            return None;
        }
        u32::try_from(self.value.to_integer()).ok().filter(|&small| small < 10_000)
    }
}

/// 10 to the power of `exponent`.
pub fn ten_to(exponent: usize) -> BigInt {
    // Callers bound the exponent by MOST_DIGITS or MOST_SHIFT.
    num_traits::pow(BigInt::from(10), exponent)
}

fn parse(digits: &str) -> Option<BigInt> {
    if digits.is_empty() {
        return Some(BigInt::zero());
    }
    BigInt::parse_bytes(digits.as_bytes(), 10)
}

/// Whether a fraction can be written as a decimal that ends.
pub fn terminates(value: &BigRational) -> bool {
    let mut rest = value.denom().clone();
    for factor in [2_u32, 5] {
        while (&rest % factor).is_zero() {
            rest /= factor;
        }
    }
    rest.is_one()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(top: i64, bottom: i64) -> BigRational {
        BigRational::new(top.into(), bottom.into())
    }

    #[test]
    fn a_period_goes_on_for_ever() {
        let third = Number::from_digits("0", Some(""), "3").map(|number| number.value);
        assert_eq!(third, Some(ratio(1, 3)));
        let sixth = Number::from_digits("0", Some("1"), "6").map(|number| number.value);
        assert_eq!(sixth, Some(ratio(1, 6)));
    }

    #[test]
    fn a_shift_keeps_account_of_the_decimals() {
        let number = Number::from_digits("1", Some("50"), "").and_then(|n| n.shifted(-3));
        assert_eq!(number.map(|n| (n.value, n.decimals)), Some((ratio(3, 2000), Some(5))));
    }

    #[test]
    fn a_fraction_terminates_when_its_denominator_has_only_twos_and_fives() {
        assert!(terminates(&ratio(7, 40)));
        assert!(!terminates(&ratio(1, 12)));
    }
}
