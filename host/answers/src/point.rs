//! A value for every letter.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::BigRational;

use crate::term::{Function, Term};
use crate::work::Work;

/// Values for letters.
pub type Point = BTreeMap<String, BigRational>;

/// Which values letters get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Large whole numbers: two polynomials that agree there are equal.
    Wide,
    /// Positive fractions of moderate size.
    Positive,
    /// Fractions of moderate size, some of them negative.
    Signed,
}

/// The letters of two terms.
#[derive(Debug)]
pub struct Letters {
    all: Vec<String>,
    /// Those that stand where only whole numbers make sense, as in `2^n` or `n!`.
    whole: Vec<String>,
}

impl Letters {
    /// The letters of these terms.
    pub fn of(terms: &[&Term]) -> Letters {
        let (mut all, mut whole) = (Vec::new(), Vec::new());
        for term in terms {
            all.extend(term.variables());
            collect_whole(term, &mut whole);
        }
        all.sort();
        all.dedup();
        Letters { all, whole }
    }

    /// Whether there are none.
    pub fn are_none(&self) -> bool {
        self.all.is_empty()
    }

    /// The point number `index`.
    pub fn point(&self, spread: Spread, index: u64, work: &Work) -> Point {
        let value = |(place, name): (usize, &String)| {
            let random = work.random(name, index);
            let value = if self.whole.contains(name) {
                // Small, and in falling order of the letters about as often as in rising.
                let largest = 4 + 6 * work.random("order", index).rotate_left(place as u32) % 5;
                BigRational::from_integer(BigInt::from(2 + random % (largest + 14)))
            } else {
                spread.value(random, index)
            };
            (name.clone(), value)
        };
        self.all.iter().enumerate().map(value).collect()
    }
}

impl Spread {
    fn value(self, random: u64, index: u64) -> BigRational {
        let fraction = || BigRational::new(BigInt::from(7 + random % 499), BigInt::from(101));
        match self {
            Spread::Wide => BigRational::from_integer(BigInt::from(random >> 2)),
            Spread::Positive => fraction(),
            // At the first point all of them are below zero.
            Spread::Signed if index == 0 || random >> 63 == 0 => -fraction(),
            Spread::Signed => fraction(),
        }
    }
}

fn collect_whole(term: &Term, whole: &mut Vec<String>) {
    match term {
        Term::Power(_, exponent) => whole.extend(exponent.variables()),
        Term::Call(
            Function::Factorial | Function::Binomial | Function::Gcd | Function::Lcm,
            of,
        ) => {
            whole.extend(of.iter().flat_map(Term::variables));
        }
        Term::Series(series) => {
            whole.extend(series.from.variables());
            whole.extend(series.to.variables());
        }
        _ => {}
    }
    for part in term.parts() {
        collect_whole(part, whole);
    }
}
