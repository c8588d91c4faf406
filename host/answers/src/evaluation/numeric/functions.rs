//! Functions of real and complex numbers.

use astro_float_num::BigFloat;

use super::complex::magnitude;
use super::{Complex, GUARD, Numeric, ROUNDING};
use crate::evaluation::{Evaluated, Obstacle};
use crate::term::Function;

/// The power of two beyond which functions are not computed.
const LARGEST_ARGUMENT: i32 = 2_048;

impl Numeric {
    /// Note an argument that is so small or so large that a function loses bits of it.
    pub(super) fn watch(&self, argument: &Complex) {
        let bits = self.precision as i64;
        for part in [&argument.re, &argument.im] {
            if let Some(exponent) = magnitude(part).map(i64::from)
                && (exponent < -bits / 4 || exponent > bits / 8)
            {
                self.lost.set(true);
            }
        }
    }

    pub(super) fn function(&self, function: Function, of: &[Complex]) -> Evaluated<Complex> {
        match (function, of) {
            (Function::Sqrt, [of]) => self.square_root(of),
            (Function::Root, [degree, of]) => self.root(degree, of),
            (Function::Abs, [of]) => Ok(self.real(self.modulus(of))),
            (Function::Exp, [of]) => self.exponential(of),
            (Function::Ln, [of]) => self.logarithm(of),
            (Function::Log, [of]) => {
                let scale = self.real(self.fraction(&self.log));
                Ok(self.product(&self.logarithm(of)?, &scale))
            }
            (Function::LogBase, [base, of]) => {
                self.quotient(&self.logarithm(of)?, &self.logarithm(base)?)
            }
            (Function::Max | Function::Min, _) => self.extreme(function, of),
            (_, [of]) if of.is_real() => {
                self.watch(of);
                // To reduce such an argument takes as many bits again.
                if magnitude(&of.re).is_some_and(|exponent| exponent > LARGEST_ARGUMENT) {
                    return Err(Obstacle::TooLarge);
                }
                self.real_function(function, &of.re)
            }
            _ => Err(Obstacle::Unsupported),
        }
    }

    /// A root by its degree; of a negative number, an odd one is real.
    fn root(&self, degree: &Complex, of: &Complex) -> Evaluated<Complex> {
        if of.is_zero() {
            return Ok(of.clone());
        }
        let one = self.real(BigFloat::from_word(1, self.precision));
        let inverse = self.quotient(&one, degree)?;
        let odd = degree.is_real()
            && degree.re.is_int()
            && degree.re.rem(&BigFloat::from_word(2, 64)).abs_cmp(&BigFloat::from_word(1, 64))
                == Some(0);
        if odd && of.is_real() && of.re.is_negative() {
            let root = self.general_power(&of.negated(), &inverse)?;
            return Ok(root.negated());
        }
        self.general_power(of, &inverse)
    }

    fn extreme(&self, function: Function, of: &[Complex]) -> Evaluated<Complex> {
        if !of.iter().all(Complex::is_real) {
            return Err(Obstacle::Undefined);
        }
        let parts = of.iter().map(|of| of.re.clone());
        let extreme = match function {
            Function::Max => parts.reduce(|left, right| left.max(&right)),
            _ => parts.reduce(|left, right| left.min(&right)),
        };
        extreme.map(|extreme| self.real(extreme)).ok_or(Obstacle::Undefined)
    }

    fn real_function(&self, function: Function, of: &BigFloat) -> Evaluated<Complex> {
        let one = || BigFloat::from_word(1, self.precision);
        let over = |above: BigFloat, below: BigFloat| {
            if below.is_zero() {
                return Err(Obstacle::Undefined);
            }
            Ok(above.div(&below, self.precision, ROUNDING))
        };
        let value = match function {
            Function::Sin => self.sine(of)?,
            Function::Cos => self.cosine(of)?,
            Function::Tan => over(self.sine(of)?, self.cosine(of)?)?,
            Function::Cot => over(self.cosine(of)?, self.sine(of)?)?,
            Function::Sec => over(one(), self.cosine(of)?)?,
            Function::Csc => over(one(), self.sine(of)?)?,
            Function::Arcsin | Function::Arccos => self.inverse_sine(function, of)?,
            Function::Arctan => self.with_constants(|c| of.atan(self.precision, ROUNDING, c))?,
            Function::Sinh | Function::Cosh | Function::Tanh => self.hyperbolic(function, of)?,
            Function::Floor | Function::Ceiling => self.rounded(function, of)?,
            _ => return Err(Obstacle::Unsupported),
        };
        Ok(self.real(value))
    }

    pub(super) fn sine(&self, of: &BigFloat) -> Evaluated<BigFloat> {
        let sine = self.with_constants(|c| of.sin(self.precision, ROUNDING, c))?;
        Ok(self.periodic(of, sine))
    }

    pub(super) fn cosine(&self, of: &BigFloat) -> Evaluated<BigFloat> {
        let cosine = self.with_constants(|c| of.cos(self.precision, ROUNDING, c))?;
        Ok(self.periodic(of, cosine))
    }

    /// A sine or cosine, which is zero if only the rounding of its argument is left of it.
    fn periodic(&self, of: &BigFloat, value: BigFloat) -> BigFloat {
        let size = magnitude(of).map_or(0, |exponent| i64::from(exponent).max(0));
        let noise = size - self.precision as i64 + GUARD / 2;
        // The sine of a small number is small without being noise.
        let small = magnitude(of).is_some_and(|exponent| exponent < 0);
        match magnitude(&value) {
            Some(exponent) if !small && i64::from(exponent) < noise => {
                BigFloat::new(self.precision)
            }
            _ => value,
        }
    }

    fn inverse_sine(&self, function: Function, of: &BigFloat) -> Evaluated<BigFloat> {
        if of.abs_cmp(&BigFloat::from_word(1, 64)).is_none_or(|order| order > 0) {
            return Err(Obstacle::Undefined);
        }
        self.with_constants(|c| match function {
            Function::Arcsin => of.asin(self.precision, ROUNDING, c),
            _ => of.acos(self.precision, ROUNDING, c),
        })
    }

    fn hyperbolic(&self, function: Function, of: &BigFloat) -> Evaluated<BigFloat> {
        if magnitude(of).is_some_and(|exponent| exponent > 28) {
            return Err(Obstacle::TooLarge);
        }
        // What a hyperbolic tangent is short of one soon vanishes.
        if function == Function::Tanh && magnitude(of).is_some_and(|exponent| exponent > 5) {
            self.lost.set(true);
        }
        self.with_constants(|c| match function {
            Function::Sinh => of.sinh(self.precision, ROUNDING, c),
            Function::Cosh => of.cosh(self.precision, ROUNDING, c),
            _ => of.tanh(self.precision, ROUNDING, c),
        })
    }

    /// The whole number below or above, if it is sure that there is none in between.
    fn rounded(&self, function: Function, of: &BigFloat) -> Evaluated<BigFloat> {
        let (below, above) = (of.floor(), of.ceil());
        let nearest = |whole: &BigFloat| {
            let distance = of.sub(whole, self.precision, ROUNDING);
            magnitude(&distance)
                .is_none_or(|exponent| i64::from(exponent) < -(self.precision as i64) + 2 * GUARD)
        };
        if magnitude(of).is_some_and(|exponent| i64::from(exponent) > GUARD) {
            return Err(Obstacle::TooLarge);
        }
        if nearest(&below) {
            return Ok(below);
        }
        if nearest(&above) {
            return Ok(above);
        }
        Ok(if function == Function::Floor { below } else { above })
    }
}
