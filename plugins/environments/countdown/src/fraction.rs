//! Exact numbers: fractions of integers that fit into 128 bits.

/// A fraction in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction {
    top: i128,
    /// Greater than 0.
    bottom: i128,
}

/// The largest exponent of a power.
const MOST_POWER: i128 = 64;

impl Fraction {
    /// A whole number.
    pub fn whole(value: i64) -> Self {
        Fraction { top: i128::from(value), bottom: 1 }
    }

    /// Nothing if the second is 0 or the numbers are too large.
    fn new(top: i128, bottom: i128) -> Option<Self> {
        if bottom == 0 {
            return None;
        }
        let divisor = divisor(top.checked_abs()?, bottom.checked_abs()?);
        let sign = bottom.signum();
        Some(Fraction { top: sign * (top / divisor), bottom: sign * (bottom / divisor) })
    }

    /// The sum, if it is not too large, as for all that follow.
    pub fn plus(self, other: Self) -> Option<Self> {
        let left = self.top.checked_mul(other.bottom)?;
        let right = other.top.checked_mul(self.bottom)?;
        Fraction::new(left.checked_add(right)?, self.bottom.checked_mul(other.bottom)?)
    }

    /// With the other sign.
    pub fn negated(self) -> Self {
        // The least number of the type is never a numerator: its amount is none.
        Fraction { top: -self.top, ..self }
    }

    /// The product.
    pub fn times(self, other: Self) -> Option<Self> {
        let bottom = self.bottom.checked_mul(other.bottom)?;
        Fraction::new(self.top.checked_mul(other.top)?, bottom)
    }

    /// The quotient, if there is one.
    pub fn over(self, other: Self) -> Option<Self> {
        self.times(Fraction::new(other.bottom, other.top)?)
    }

    /// The power, if the exponent is whole and small.
    pub fn to_the(self, exponent: Self) -> Option<Self> {
        if exponent.bottom != 1 || exponent.top.abs() > MOST_POWER {
            return None;
        }
        let mut power = Fraction::whole(1);
        for _ in 0..exponent.top.abs() {
            power = power.times(self)?;
        }
        if exponent.top < 0 { Fraction::whole(1).over(power) } else { Some(power) }
    }
}

impl std::fmt::Display for Fraction {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.bottom {
            1 => write!(out, "{}", self.top),
            bottom => write!(out, "{}/{bottom}", self.top),
        }
    }
}

/// The greatest common divisor of numbers that are not negative and not both 0.
fn divisor(mut one: i128, mut other: i128) -> i128 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_exact_and_never_too_large() {
        let [one, two, three] = [1, 2, 3].map(Fraction::whole);
        let third = one.over(three).expect("a third");
        assert_eq!(third.times(three), Some(one));
        assert_eq!(third.plus(third.negated()), Some(Fraction::whole(0)));
        assert_eq!(two.over(third.negated()).map(|six| six.to_string()).as_deref(), Some("-6"));
        assert_eq!(two.to_the(three.negated()).map(|n| n.to_string()).as_deref(), Some("1/8"));
        assert_eq!(one.over(Fraction::whole(0)), None);
        assert_eq!(Fraction::whole(0).to_the(one.negated()), None);
        assert_eq!(two.to_the(third), None);
        let large = Fraction::whole(i64::MAX);
        assert_eq!(large.times(large).and_then(|square| square.times(large)), None);
        assert_eq!(large.to_the(Fraction::whole(64)), None);
    }
}
