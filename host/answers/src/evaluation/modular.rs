//! Remainders modulo a large prime. Two rational functions that agree there at a random point
//! are equal, but for a chance of one in some quintillions; and no number is too long.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};

use super::{Evaluated, Field, Obstacle};
use crate::term::{Constant, Function};
use crate::work::Work;

/// Primes just below 2^62 that leave 1 when divided by 4, each with a root of −1.
pub const PRIMES: [(u64, u64); 2] = [
    (4_611_686_018_427_387_817, 4_490_822_397_581_186_023),
    (4_611_686_018_427_387_761, 3_481_184_452_870_754_207),
];

/// Remainders. π and e are random, for no polynomial relation binds them to fractions.
#[derive(Clone, Copy, Debug)]
pub struct Modular {
    prime: u64,
    imaginary: u64,
    pi: u64,
    e: u64,
}

impl Modular {
    /// Remainders modulo one of the primes.
    pub fn new((prime, imaginary): (u64, u64), work: &Work) -> Modular {
        let (pi, e) = (work.random("pi", prime) % prime, work.random("e", prime) % prime);
        Modular { prime, imaginary, pi, e }
    }

    fn times(&self, left: u64, right: u64) -> u64 {
        // A remainder of a number below 2^62 fits.
        (u128::from(left) * u128::from(right) % u128::from(self.prime)) as u64
    }

    fn to_power(self, base: u64, mut exponent: u64) -> u64 {
        let (mut power, mut square) = (1, base);
        while exponent > 0 {
            if exponent & 1 == 1 {
                power = self.times(power, square);
            }
            square = self.times(square, square);
            exponent >>= 1;
        }
        power
    }

    fn inverse(&self, value: u64) -> Evaluated<u64> {
        if value == 0 { Err(Obstacle::Undefined) } else { Ok(self.to_power(value, self.prime - 2)) }
    }

    fn remainder(&self, value: &BigInt) -> u64 {
        // What is left of a division by a u64 fits into one.
        value.mod_floor(&BigInt::from(self.prime)).to_u64().unwrap_or_default()
    }
}

impl Field for Modular {
    type Value = u64;
    const ORDERED: bool = false;

    fn number(&self, value: &BigRational) -> Evaluated<u64> {
        let above = self.remainder(value.numer());
        if value.is_integer() {
            return Ok(above);
        }
        Ok(self.times(above, self.inverse(self.remainder(value.denom()))?))
    }

    fn constant(&self, constant: Constant) -> Evaluated<u64> {
        match constant {
            Constant::Pi => Ok(self.pi),
            Constant::E => Ok(self.e),
            Constant::I => Ok(self.imaginary),
            Constant::Infinity => Err(Obstacle::Unsupported),
        }
    }

    fn add(&self, left: &u64, right: &u64) -> Evaluated<u64> {
        Ok((left + right) % self.prime)
    }

    fn multiply(&self, left: &u64, right: &u64) -> Evaluated<u64> {
        Ok(self.times(*left, *right))
    }

    fn divide(&self, left: &u64, right: &u64) -> Evaluated<u64> {
        Ok(self.times(*left, self.inverse(*right)?))
    }

    fn whole_power(&self, base: &u64, exponent: &BigInt) -> Evaluated<u64> {
        if *base == 0 && exponent.is_negative() {
            return Err(Obstacle::Undefined);
        }
        if *base == 0 && !exponent.is_zero() {
            return Ok(0);
        }
        // Powers repeat after one less than the prime.
        let exponent = exponent.mod_floor(&BigInt::from(self.prime - 1));
        Ok(self.to_power(*base, exponent.to_u64().unwrap_or_default()))
    }

    fn power(&self, _: &u64, _: &u64, _: Option<&BigRational>) -> Evaluated<u64> {
        Err(Obstacle::Unsupported)
    }

    fn call(&self, _: Function, _: &[u64]) -> Evaluated<u64> {
        Err(Obstacle::Unsupported)
    }

    fn cost(&self) -> u64 {
        10
    }
}
