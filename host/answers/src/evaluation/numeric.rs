//! Complex numbers to many digits, and how far they can be trusted.

mod complex;
mod functions;

use std::cell::{Cell, RefCell};

use astro_float_num::{BigFloat, Consts, RoundingMode, Sign, WORD_BIT_SIZE, Word};
use num_bigint::{BigInt, Sign as IntegerSign};
use num_rational::BigRational;
use num_traits::{One, Signed};

pub use complex::Complex;

use super::{Evaluated, Field, Obstacle};
use crate::term::{Constant, Function};

const ROUNDING: RoundingMode = RoundingMode::None;
/// Bits that rounding may cost.
const GUARD: i64 = 64;

thread_local! {
    /// π, e and the like, to as many digits as were needed so far.
    static CONSTANTS: RefCell<Option<Consts>> = const { RefCell::new(None) };
}

/// What an odd root of a negative number is when it is written as a power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roots {
    /// The real root: `(-8)^{1/3}` is −2.
    Real,
    /// The principal root: `(-8)^{1/3}` is `1 + √3 i`.
    Principal,
}

/// Complex numbers of some precision. It remembers what was met on the way.
#[derive(Debug)]
pub struct Numeric {
    precision: usize,
    roots: Roots,
    /// What `log` is as a multiple of the natural logarithm.
    log: BigRational,
    lowest: Cell<i64>,
    highest: Cell<i64>,
    lost: Cell<bool>,
    branched: Cell<bool>,
}

impl Numeric {
    /// Numbers with `precision` bits.
    pub fn new(precision: usize, roots: Roots, log: BigRational) -> Numeric {
        Numeric {
            precision,
            roots,
            log,
            lowest: Cell::new(i64::MAX),
            highest: Cell::new(i64::MIN),
            lost: Cell::new(false),
            branched: Cell::new(false),
        }
    }

    /// Whether something so small was met, beside something so large, that it may be missing
    /// in the result: more bits are needed to trust it.
    pub fn needs_more(&self) -> bool {
        let span = self.highest.get().max(0).saturating_sub(self.lowest.get());
        self.lost.get() || span > self.precision as i64 - 2 * GUARD
    }

    /// Whether an argument was so small or so large that a function lost bits of it.
    pub fn is_blurred(&self) -> bool {
        self.lost.get()
    }

    /// Whether a root or logarithm was taken of what is no positive number.
    pub fn branched(&self) -> bool {
        self.branched.get()
    }

    /// Whether two values differ by no more than what rounding explains.
    pub fn agree(&self, left: &Complex, right: &Complex) -> bool {
        let difference = self.sum(left, &right.negated());
        let highest = self.highest.get().max(1);
        difference
            .exponent()
            .is_none_or(|exponent| i64::from(exponent) < highest - self.precision as i64 + GUARD)
    }

    /// Whether two values differ by no more than `tolerance`.
    pub fn within(&self, left: &Complex, right: &Complex, tolerance: &BigRational) -> bool {
        let difference = self.sum(left, &right.negated());
        let distance = self.modulus(&difference);
        distance.cmp(&self.fraction(tolerance)).is_some_and(|order| order <= 0)
    }

    /// A fraction to this precision.
    pub fn fraction(&self, value: &BigRational) -> BigFloat {
        let above = self.integer(value.numer());
        if value.denom().is_one() {
            return above;
        }
        above.div(&self.integer(value.denom()), self.precision, ROUNDING)
    }

    fn integer(&self, value: &BigInt) -> BigFloat {
        let (sign, mut words) = value.to_u64_digits();
        if words.is_empty() {
            return BigFloat::new(self.precision);
        }
        let bits = words.len() as i32 * 64;
        let wanted = self.precision.div_ceil(64) + 1;
        // The words come least significant first.
        if words.len() > wanted {
            words.drain(..words.len() - wanted);
        } else {
            let missing = wanted - words.len();
            words.splice(..0, std::iter::repeat_n(0, missing));
        }
        let sign = if sign == IntegerSign::Minus { Sign::Neg } else { Sign::Pos };
        // A word has 32 bits in WebAssembly.
        let halves = |word: u64| {
            (0..64 / WORD_BIT_SIZE).map(move |part| (word >> (part * WORD_BIT_SIZE)) as Word)
        };
        let words: Vec<Word> = words.into_iter().flat_map(halves).collect();
        BigFloat::from_words(&words, sign, bits)
    }

    /// Look at a value that was computed: too large, undefined, how large.
    fn met(&self, value: Complex) -> Evaluated<Complex> {
        if value.re.is_nan() || value.im.is_nan() {
            return Err(Obstacle::Undefined);
        }
        if value.re.is_inf() || value.im.is_inf() {
            return Err(Obstacle::TooLarge);
        }
        for part in [&value.re, &value.im] {
            if let Some(exponent) = complex::magnitude(part) {
                self.lowest.set(self.lowest.get().min(i64::from(exponent)));
                self.highest.set(self.highest.get().max(i64::from(exponent)));
            }
        }
        Ok(value)
    }

    /// The value, without a part that is nothing but rounding beside the other.
    fn cleaned(&self, mut value: Complex) -> Complex {
        let (re, im) = (complex::magnitude(&value.re), complex::magnitude(&value.im));
        if let (Some(re), Some(im)) = (re, im) {
            let limit = self.precision as i64 - GUARD / 2;
            if i64::from(re) - i64::from(im) > limit {
                value.im = BigFloat::new(self.precision);
            } else if i64::from(im) - i64::from(re) > limit {
                value.re = BigFloat::new(self.precision);
            }
        }
        value
    }

    /// The sum of two numbers, which is zero if only rounding is left of it.
    fn part_sum(&self, left: &BigFloat, right: &BigFloat) -> BigFloat {
        let sum = left.add(right, self.precision, ROUNDING);
        let largest = complex::magnitude(left).max(complex::magnitude(right));
        match (complex::magnitude(&sum), largest) {
            (Some(sum), Some(largest))
                if i64::from(largest) - i64::from(sum) > self.precision as i64 - GUARD / 2 =>
            {
                BigFloat::new(self.precision)
            }
            _ => sum,
        }
    }

    fn sum(&self, left: &Complex, right: &Complex) -> Complex {
        Complex { re: self.part_sum(&left.re, &right.re), im: self.part_sum(&left.im, &right.im) }
    }

    fn real(&self, re: BigFloat) -> Complex {
        Complex { re, im: BigFloat::new(self.precision) }
    }

    fn with_constants<T>(&self, compute: impl FnOnce(&mut Consts) -> T) -> Evaluated<T> {
        CONSTANTS.with_borrow_mut(|constants| {
            if constants.is_none() {
                *constants = Consts::new().ok();
            }
            constants.as_mut().map(compute).ok_or(Obstacle::TooLarge)
        })
    }

    fn pi(&self) -> Evaluated<BigFloat> {
        self.with_constants(|constants| constants.pi(self.precision, ROUNDING))
    }
}

impl Field for Numeric {
    type Value = Complex;
    const ORDERED: bool = true;

    fn number(&self, value: &BigRational) -> Evaluated<Complex> {
        self.met(self.real(self.fraction(value)))
    }

    fn constant(&self, constant: Constant) -> Evaluated<Complex> {
        let value = match constant {
            Constant::Pi => self.real(self.pi()?),
            Constant::E => {
                self.real(self.with_constants(|constants| constants.e(self.precision, ROUNDING))?)
            }
            Constant::I => Complex {
                re: BigFloat::new(self.precision),
                im: BigFloat::from_word(1, self.precision),
            },
            Constant::Infinity => return Err(Obstacle::Unsupported),
        };
        self.met(value)
    }

    fn add(&self, left: &Complex, right: &Complex) -> Evaluated<Complex> {
        self.met(self.sum(left, right))
    }

    fn multiply(&self, left: &Complex, right: &Complex) -> Evaluated<Complex> {
        self.met(self.cleaned(self.product(left, right)))
    }

    fn divide(&self, left: &Complex, right: &Complex) -> Evaluated<Complex> {
        self.met(self.cleaned(self.quotient(left, right)?))
    }

    fn whole_power(&self, base: &Complex, exponent: &BigInt) -> Evaluated<Complex> {
        if base.is_zero() && exponent.is_negative() {
            return Err(Obstacle::Undefined);
        }
        if exponent.bits() > 64 {
            return Err(Obstacle::TooLarge);
        }
        let mut power = self.real(BigFloat::from_word(1, self.precision));
        for bit in (0..exponent.bits()).rev() {
            power = self.multiply(&power, &power)?;
            if exponent.magnitude().bit(bit) {
                power = self.multiply(&power, base)?;
            }
        }
        if exponent.is_negative() {
            let one = self.real(BigFloat::from_word(1, self.precision));
            return self.divide(&one, &power);
        }
        Ok(power)
    }

    fn power(
        &self,
        base: &Complex,
        exponent: &Complex,
        exact: Option<&BigRational>,
    ) -> Evaluated<Complex> {
        if base.is_zero() {
            let positive = exact.is_some_and(|exact| exact.is_positive());
            return if positive { Ok(base.clone()) } else { Err(Obstacle::Undefined) };
        }
        if let Some(exact) = exact
            && base.is_real()
            && base.re.is_negative()
            && exact.denom().bit(0)
            && self.roots == Roots::Real
        {
            let positive = self.general_power(&base.negated(), exponent)?;
            let odd = exact.numer().bit(0);
            return Ok(if odd { positive.negated() } else { positive });
        }
        self.general_power(base, exponent)
    }

    fn call(&self, function: Function, arguments: &[Complex]) -> Evaluated<Complex> {
        let value = self.function(function, arguments)?;
        self.met(self.cleaned(value))
    }

    fn cost(&self) -> u64 {
        let words = self.precision as u64 / 64;
        40 + 10 * words + words * words
    }
}

impl Numeric {
    fn general_power(&self, base: &Complex, exponent: &Complex) -> Evaluated<Complex> {
        let logarithm = self.logarithm(base)?;
        let product = self.met(self.product(&logarithm, exponent))?;
        let power = self.exponential(&product)?;
        self.met(self.cleaned(power))
    }
}
