//! What a term is worth: exactly, modulo a prime, or to many digits. The three differ in what
//! numbers are; how terms are taken apart is the same.

mod exact;
mod modular;
mod numeric;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

pub use exact::Exact;
pub use modular::{Modular, PRIMES};
pub use numeric::{Complex, Numeric, Roots};

use crate::point::Point;
use crate::term::{Constant, Function, Series, Term};
use crate::work::{Spent, Work};

/// What a function costs, in operations.
const FUNCTION: u64 = 30;
/// What one more value of an index costs, in operations.
const INDEX: u64 = 8;
/// More than that is not added up.
const MOST_ADDENDS: u64 = 5_000;
/// Larger factorials are not computed.
const MOST_FACTORIAL: u64 = 20_000;

/// Why a term has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// These numbers do not know such a function.
    Unsupported,
    /// It is undefined there, as `1/0`.
    Undefined,
    /// The value is too large.
    TooLarge,
    /// The allowance is spent.
    Spent,
}

impl From<Spent> for Obstacle {
    fn from(_: Spent) -> Obstacle {
        Obstacle::Spent
    }
}

/// A value, if there is one.
pub type Evaluated<T> = Result<T, Obstacle>;

/// How two numbers become one.
type Join<F> = fn(&F, &<F as Field>::Value, &<F as Field>::Value) -> Evaluated<<F as Field>::Value>;

/// Numbers of a kind.
pub trait Field {
    /// One of them.
    type Value: Clone;
    /// Whether a function such as `|x|` that is no rational one is as good as any other at a
    /// point; a remainder says nothing of the sign.
    const ORDERED: bool;

    /// A fraction.
    fn number(&self, value: &BigRational) -> Evaluated<Self::Value>;
    /// A number with a name.
    fn constant(&self, constant: Constant) -> Evaluated<Self::Value>;
    /// Two numbers added.
    fn add(&self, left: &Self::Value, right: &Self::Value) -> Evaluated<Self::Value>;
    /// Two numbers multiplied.
    fn multiply(&self, left: &Self::Value, right: &Self::Value) -> Evaluated<Self::Value>;
    /// One number divided by another.
    fn divide(&self, left: &Self::Value, right: &Self::Value) -> Evaluated<Self::Value>;
    /// A number to a whole power.
    fn whole_power(&self, base: &Self::Value, exponent: &BigInt) -> Evaluated<Self::Value>;
    /// A number to any power, known exactly if it is a fraction.
    fn power(
        &self,
        base: &Self::Value,
        exponent: &Self::Value,
        exact: Option<&BigRational>,
    ) -> Evaluated<Self::Value>;
    /// A function that is no arithmetic.
    fn call(&self, function: Function, arguments: &[Self::Value]) -> Evaluated<Self::Value>;
    /// What one operation costs.
    fn cost(&self) -> u64;
}

/// The value of `term` at `point`.
///
/// # Errors
/// If it has none in these numbers.
pub fn evaluate<F: Field>(
    field: &F,
    term: &Term,
    point: &Point,
    work: &Work,
) -> Evaluated<F::Value> {
    Evaluation { field, point, work }.term(term)
}

/// The fraction that `term` is at `point`.
///
/// # Errors
/// If it is none, or too long.
pub fn exactly(term: &Term, point: &Point, work: &Work) -> Evaluated<BigRational> {
    evaluate(&Exact, term, point, work)
}

struct Evaluation<'a, F> {
    field: &'a F,
    point: &'a Point,
    work: &'a Work,
}

impl<F: Field> Evaluation<'_, F> {
    fn term(&self, term: &Term) -> Evaluated<F::Value> {
        self.charge(1)?;
        match term {
            Term::Number(number) => self.field.number(&number.value),
            Term::Constant(Constant::Infinity) => Err(Obstacle::Unsupported),
            Term::Constant(constant) => self.field.constant(*constant),
            Term::Variable(name) => {
                self.field.number(self.point.get(name).ok_or(Obstacle::Unsupported)?)
            }
            Term::Sum(terms) => self.fold(terms, BigRational::zero(), F::add),
            Term::Product(terms) => self.fold(terms, BigRational::one(), F::multiply),
            Term::Quotient(left, right) => self.field.divide(&self.term(left)?, &self.term(right)?),
            Term::Negative(term) => self.scaled(term, &-BigRational::one()),
            Term::Percent(term) => self.scaled(term, &BigRational::new(1.into(), 100.into())),
            Term::Degrees(term) => {
                let turn = self.scaled(term, &BigRational::new(1.into(), 180.into()))?;
                self.field.multiply(&turn, &self.field.constant(Constant::Pi)?)
            }
            Term::Power(base, exponent) => self.power(base, exponent),
            Term::Call(Function::Factorial, of) => self.factorial(&of[0]),
            Term::Call(Function::Binomial, of) => self.binomial(&of[0], &of[1]),
            Term::Call(function, of) => self.call(*function, of),
            Term::Series(series) => self.series(series),
            Term::PlusMinus { .. } | Term::Applied(..) => Err(Obstacle::Unsupported),
        }
    }

    fn charge(&self, operations: u64) -> Result<(), Spent> {
        self.work.spend(operations * self.field.cost())
    }

    fn fold(&self, terms: &[Term], start: BigRational, join: Join<F>) -> Evaluated<F::Value> {
        let Some((first, rest)) = terms.split_first() else { return self.field.number(&start) };
        let mut all = self.term(first)?;
        for term in rest {
            all = join(self.field, &all, &self.term(term)?)?;
        }
        Ok(all)
    }

    fn scaled(&self, term: &Term, factor: &BigRational) -> Evaluated<F::Value> {
        self.field.multiply(&self.term(term)?, &self.field.number(factor)?)
    }

    /// The fraction that a part of the term is, for what only whole numbers can do.
    fn exact(&self, term: &Term) -> Evaluated<BigRational> {
        exactly(term, self.point, self.work)
    }

    fn whole(&self, term: &Term) -> Evaluated<BigInt> {
        let value = self.exact(term)?;
        if value.is_integer() { Ok(value.to_integer()) } else { Err(Obstacle::Undefined) }
    }

    fn power(&self, base: &Term, exponent: &Term) -> Evaluated<F::Value> {
        let exact = match self.exact(exponent) {
            Ok(exact) => Some(exact),
            Err(Obstacle::Unsupported) => None,
            Err(obstacle) => return Err(obstacle),
        };
        let base = self.term(base)?;
        if let Some(whole) = exact.as_ref().filter(|exact| exact.is_integer()) {
            return self.field.whole_power(&base, &whole.to_integer());
        }
        self.charge(FUNCTION)?;
        self.field.power(&base, &self.term(exponent)?, exact.as_ref())
    }

    fn factorial(&self, of: &Term) -> Evaluated<F::Value> {
        let of = self.whole(of)?;
        if of.is_negative() {
            return Err(Obstacle::Undefined);
        }
        let of = of.to_u64().filter(|&of| of <= MOST_FACTORIAL).ok_or(Obstacle::TooLarge)?;
        self.rising(1, of)
    }

    /// The product of the whole numbers from `first` to `last`.
    fn rising(&self, first: u64, last: u64) -> Evaluated<F::Value> {
        let number = |value: u64| self.field.number(&BigRational::from_integer(value.into()));
        let mut product = number(1)?;
        for factor in first..=last {
            self.charge(1)?;
            product = self.field.multiply(&product, &number(factor)?)?;
        }
        Ok(product)
    }

    fn binomial(&self, above: &Term, below: &Term) -> Evaluated<F::Value> {
        let (above, below) = (self.whole(above)?, self.whole(below)?);
        if above.is_negative() || below.is_negative() {
            return Err(Obstacle::Undefined);
        }
        if below > above {
            return self.field.number(&BigRational::zero());
        }
        let below = (&above - &below).min(below);
        let size = |value: &BigInt| value.to_u64().filter(|&value| value < u64::MAX / 2);
        let (Some(above), Some(below)) = (size(&above), size(&below)) else {
            return Err(Obstacle::TooLarge);
        };
        if below > MOST_FACTORIAL {
            return Err(Obstacle::TooLarge);
        }
        self.field.divide(&self.rising(above - below + 1, above)?, &self.rising(1, below)?)
    }

    fn call(&self, function: Function, of: &[Term]) -> Evaluated<F::Value> {
        if function.is_arithmetic() {
            if !F::ORDERED && !of.iter().all(|of| of.variables().is_empty()) {
                return Err(Obstacle::Unsupported);
            }
            let values: Evaluated<Vec<BigRational>> = of.iter().map(|of| self.exact(of)).collect();
            match values.and_then(|values| exact::arithmetic(function, &values)) {
                Ok(value) => return self.field.number(&value),
                Err(Obstacle::Unsupported) => {}
                Err(obstacle) => return Err(obstacle),
            }
        }
        self.charge(FUNCTION)?;
        let arguments: Evaluated<Vec<F::Value>> = of.iter().map(|of| self.term(of)).collect();
        self.field.call(function, &arguments?)
    }

    fn series(&self, series: &Series) -> Evaluated<F::Value> {
        let (from, to) = (self.whole(&series.from)?, self.whole(&series.to)?);
        let start = if series.product { BigRational::one() } else { BigRational::zero() };
        let mut all = self.field.number(&start)?;
        let count = (&to - &from + 1_u32).max(BigInt::zero());
        if count.to_u64().is_none_or(|count| count > MOST_ADDENDS) {
            return Err(Obstacle::TooLarge);
        }
        let mut point = self.point.clone();
        let mut index = from;
        while index <= to {
            self.charge(INDEX)?;
            point.insert(series.index.clone(), BigRational::from_integer(index.clone()));
            let inner = Evaluation { field: self.field, point: &point, work: self.work };
            let body = inner.term(&series.body)?;
            all = if series.product {
                self.field.multiply(&all, &body)?
            } else {
                self.field.add(&all, &body)?
            };
            index += 1_u32;
        }
        Ok(all)
    }
}

impl Function {
    /// Whether it takes fractions to fractions, but is not made of sums and products.
    fn is_arithmetic(self) -> bool {
        matches!(
            self,
            Function::Abs
                | Function::Floor
                | Function::Ceiling
                | Function::Gcd
                | Function::Lcm
                | Function::Max
                | Function::Min
        )
    }
}
