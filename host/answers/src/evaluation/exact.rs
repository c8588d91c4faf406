//! Fractions.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::{Evaluated, Field, Obstacle};
use crate::term::{Constant, Function};

/// Longer numerators and denominators are not written out.
const MOST_BITS: u64 = 16_384;

/// Fractions, written out.
#[derive(Clone, Copy, Debug)]
pub struct Exact;

impl Field for Exact {
    type Value = BigRational;
    const ORDERED: bool = true;

    fn number(&self, value: &BigRational) -> Evaluated<BigRational> {
        Ok(value.clone())
    }

    fn constant(&self, _: Constant) -> Evaluated<BigRational> {
        Err(Obstacle::Unsupported)
    }

    fn add(&self, left: &BigRational, right: &BigRational) -> Evaluated<BigRational> {
        bounded(left + right)
    }

    fn multiply(&self, left: &BigRational, right: &BigRational) -> Evaluated<BigRational> {
        bounded(left * right)
    }

    fn divide(&self, left: &BigRational, right: &BigRational) -> Evaluated<BigRational> {
        if right.is_zero() {
            return Err(Obstacle::Undefined);
        }
        bounded(left / right)
    }

    fn whole_power(&self, base: &BigRational, exponent: &BigInt) -> Evaluated<BigRational> {
        if base.is_zero() && exponent.is_negative() {
            return Err(Obstacle::Undefined);
        }
        let bits = base.numer().bits().max(base.denom().bits()).saturating_sub(1);
        let size = exponent.abs().to_u64().filter(|size| size.saturating_mul(bits) <= MOST_BITS);
        match size.and_then(|_| exponent.to_i32()) {
            Some(exponent) => Ok(base.pow(exponent)),
            // One and minus one, to whatever power.
            None if bits == 0 && exponent.is_even() && !base.is_zero() => Ok(BigRational::one()),
            None if bits == 0 => Ok(base.clone()),
            None => Err(Obstacle::TooLarge),
        }
    }

    fn power(
        &self,
        _: &BigRational,
        _: &BigRational,
        _: Option<&BigRational>,
    ) -> Evaluated<BigRational> {
        Err(Obstacle::Unsupported)
    }

    fn call(&self, _: Function, _: &[BigRational]) -> Evaluated<BigRational> {
        Err(Obstacle::Unsupported)
    }

    fn cost(&self) -> u64 {
        10
    }
}

fn bounded(value: BigRational) -> Evaluated<BigRational> {
    let bits = value.numer().bits().max(value.denom().bits());
    if bits > MOST_BITS { Err(Obstacle::TooLarge) } else { Ok(value) }
}

/// Functions that take fractions to fractions.
pub fn arithmetic(function: Function, of: &[BigRational]) -> Evaluated<BigRational> {
    let whole = || -> Evaluated<Vec<BigInt>> {
        let whole = |value: &BigRational| value.is_integer().then(|| value.to_integer());
        of.iter().map(whole).collect::<Option<_>>().ok_or(Obstacle::Undefined)
    };
    let joined = |join: fn(BigInt, BigInt) -> BigInt| -> Evaluated<BigRational> {
        let joined = whole()?.into_iter().reduce(join).ok_or(Obstacle::Undefined)?;
        Ok(BigRational::from_integer(joined))
    };
    match function {
        Function::Abs => Ok(of[0].abs()),
        Function::Floor => Ok(of[0].floor()),
        Function::Ceiling => Ok(of[0].ceil()),
        Function::Gcd => joined(|left, right| left.gcd(&right)),
        Function::Lcm => bounded(joined(|left, right| left.lcm(&right))?),
        Function::Max => of.iter().max().cloned().ok_or(Obstacle::Undefined),
        Function::Min => of.iter().min().cloned().ok_or(Obstacle::Undefined),
        _ => Err(Obstacle::Unsupported),
    }
}
