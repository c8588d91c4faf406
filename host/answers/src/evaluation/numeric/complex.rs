//! Complex arithmetic.

use astro_float_num::BigFloat;

use super::{Numeric, ROUNDING};
use crate::evaluation::{Evaluated, Obstacle};

/// A complex number.
#[derive(Clone, Debug)]
pub struct Complex {
    /// The real part.
    pub re: BigFloat,
    /// The imaginary part.
    pub im: BigFloat,
}

/// The power of two just above a number; none for zero.
pub fn magnitude(value: &BigFloat) -> Option<i32> {
    if value.is_zero() { None } else { value.exponent() }
}

impl Complex {
    /// Whether it has no imaginary part.
    pub fn is_real(&self) -> bool {
        self.im.is_zero()
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.re.is_zero() && self.im.is_zero()
    }

    /// Whether it is a number above zero.
    pub fn is_positive(&self) -> bool {
        self.is_real() && !self.re.is_zero() && self.re.is_positive()
    }

    /// It times minus one.
    pub fn negated(&self) -> Complex {
        Complex { re: self.re.neg(), im: self.im.neg() }
    }

    /// The power of two just above it; none for zero.
    pub fn exponent(&self) -> Option<i32> {
        magnitude(&self.re).max(magnitude(&self.im))
    }
}

impl Numeric {
    pub(super) fn product(&self, left: &Complex, right: &Complex) -> Complex {
        let times = |left: &BigFloat, right: &BigFloat| left.mul(right, self.precision, ROUNDING);
        if left.is_real() && right.is_real() {
            return self.real(times(&left.re, &right.re));
        }
        let re = self.part_sum(&times(&left.re, &right.re), &times(&left.im, &right.im).neg());
        let im = self.part_sum(&times(&left.re, &right.im), &times(&left.im, &right.re));
        Complex { re, im }
    }

    pub(super) fn quotient(&self, left: &Complex, right: &Complex) -> Evaluated<Complex> {
        if right.is_zero() {
            return Err(Obstacle::Undefined);
        }
        let over = |above: &BigFloat, below: &BigFloat| above.div(below, self.precision, ROUNDING);
        if right.is_real() {
            return Ok(Complex { re: over(&left.re, &right.re), im: over(&left.im, &right.re) });
        }
        let conjugate = Complex { re: right.re.clone(), im: right.im.neg() };
        let above = self.product(left, &conjugate);
        let below = self.product(right, &conjugate).re;
        Ok(Complex { re: over(&above.re, &below), im: over(&above.im, &below) })
    }

    pub(super) fn modulus(&self, value: &Complex) -> BigFloat {
        if value.is_real() {
            return value.re.abs();
        }
        let square = |part: &BigFloat| part.mul(part, self.precision, ROUNDING);
        let sum = square(&value.re).add(&square(&value.im), self.precision, ROUNDING);
        sum.sqrt(self.precision, ROUNDING)
    }

    /// The angle of a number that is not zero, between −π and π.
    fn angle(&self, value: &Complex) -> Evaluated<BigFloat> {
        let (re, im) = (&value.re, &value.im);
        if re.is_zero() {
            let half = self.pi()?.div(&BigFloat::from_word(2, 64), self.precision, ROUNDING);
            return Ok(if im.is_negative() { half.neg() } else { half });
        }
        let slope = im.div(re, self.precision, ROUNDING);
        let angle = self.with_constants(|c| slope.atan(self.precision, ROUNDING, c))?;
        if re.is_positive() {
            return Ok(angle);
        }
        let half_turn = if im.is_negative() { self.pi()?.neg() } else { self.pi()? };
        Ok(angle.add(&half_turn, self.precision, ROUNDING))
    }

    pub(super) fn logarithm(&self, of: &Complex) -> Evaluated<Complex> {
        if of.is_zero() {
            return Err(Obstacle::Undefined);
        }
        let modulus = self.modulus(of);
        let re = self.with_constants(|c| modulus.ln(self.precision, ROUNDING, c))?;
        if of.is_positive() {
            return Ok(self.real(re));
        }
        self.branched.set(true);
        Ok(Complex { re, im: self.angle(of)? })
    }

    pub(super) fn exponential(&self, of: &Complex) -> Evaluated<Complex> {
        self.watch(of);
        // Beyond this the result is no number of any use, and takes long to find out.
        if magnitude(&of.re).is_some_and(|exponent| exponent > 28) {
            return Err(Obstacle::TooLarge);
        }
        let size = self.with_constants(|c| of.re.exp(self.precision, ROUNDING, c))?;
        if of.is_real() {
            return Ok(self.real(size));
        }
        let (sine, cosine) = (self.sine(&of.im)?, self.cosine(&of.im)?);
        let times = |part: BigFloat| part.mul(&size, self.precision, ROUNDING);
        Ok(Complex { re: times(cosine), im: times(sine) })
    }

    pub(super) fn square_root(&self, of: &Complex) -> Evaluated<Complex> {
        if of.is_real() {
            let root = of.re.abs().sqrt(self.precision, ROUNDING);
            if !of.re.is_negative() || of.re.is_zero() {
                return Ok(self.real(root));
            }
            self.branched.set(true);
            return Ok(Complex { re: BigFloat::new(self.precision), im: root });
        }
        let half = self.fraction(&num_rational::BigRational::new(1.into(), 2.into()));
        let logarithm = self.logarithm(of)?;
        self.exponential(&self.product(&logarithm, &self.real(half)))
    }
}
