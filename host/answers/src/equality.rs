//! Whether two scalars are equal: exactly where they are rational functions, and otherwise to
//! many digits at random points.

use std::cmp::Ordering;

use num_rational::BigRational;
use num_traits::One;

use crate::evaluation::{
    Complex, Evaluated, Modular, Numeric, Obstacle, PRIMES, Roots, evaluate, exactly,
};
use crate::point::{Letters, Point, Spread};
use crate::term::{Constant, Function, Term};
use crate::verdict::Reason;
use crate::work::Work;

/// Bits of the values that are compared; more, if that many do not tell.
const PRECISIONS: [usize; 3] = [256, 1024, 4096];
/// More digits in a numeral call for more bits, up to here.
const MOST_EXTRA_BITS: usize = 8_192;

/// What comparing two things says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// They are the same.
    Same,
    /// They are not.
    Different,
    /// It is unknown.
    Unknown(Reason),
}

impl Comparison {
    /// The same if `same`.
    pub fn of(same: bool) -> Comparison {
        if same { Comparison::Same } else { Comparison::Different }
    }

    /// Whether all parts are the same: one that differs decides.
    pub fn all(parts: impl IntoIterator<Item = Comparison>) -> Comparison {
        let mut all = Comparison::Same;
        for part in parts {
            match part {
                Comparison::Same => {}
                Comparison::Different => return part,
                Comparison::Unknown(_) => all = part,
            }
        }
        all
    }

    /// This, or what `other` says if it is not `Same`: where either reading will do.
    #[must_use]
    pub fn or(self, other: impl FnOnce() -> Comparison) -> Comparison {
        if self == Comparison::Same {
            return self;
        }
        match other() {
            Comparison::Different => self,
            decided => decided,
        }
    }
}

/// Whether two scalars are equal.
pub fn equal(gold: &Term, answer: &Term, work: &Work) -> Comparison {
    if let Some(same) = infinities(gold, answer) {
        return Comparison::of(same);
    }
    let (gold, answer) = (opaque(gold), opaque(answer));
    let pair = Pair { letters: Letters::of(&[&gold, &answer]), gold, answer, work };
    pair.modulo_primes().unwrap_or_else(|| pair.compare_logarithms())
}

/// The order of two real constants, if they have one.
pub fn order(left: &Term, right: &Term, work: &Work) -> Option<Ordering> {
    let none = Point::new();
    if let (Ok(left), Ok(right)) = (exactly(left, &none, work), exactly(right, &none, work)) {
        return Some(left.cmp(&right));
    }
    match equal(left, right, work) {
        Comparison::Same => Some(Ordering::Equal),
        Comparison::Unknown(_) => None,
        Comparison::Different => {
            let field = Numeric::new(PRECISIONS[0], Roots::Real, BigRational::one());
            let difference =
                evaluate(&field, &left.clone().less(right.clone()), &none, work).ok()?;
            let sign = if difference.is_positive() { Ordering::Greater } else { Ordering::Less };
            difference.is_real().then_some(sign)
        }
    }
}

/// Whether two constants lie no further apart than `tolerance`.
pub fn within(gold: &Term, answer: &Term, tolerance: &BigRational, work: &Work) -> Comparison {
    use num_traits::Signed;
    let none = Point::new();
    if let (Ok(gold), Ok(answer)) = (exactly(gold, &none, work), exactly(answer, &none, work)) {
        return Comparison::of((gold - answer).abs() <= *tolerance);
    }
    let field = Numeric::new(PRECISIONS[0], Roots::Real, BigRational::one());
    let values = (evaluate(&field, gold, &none, work), evaluate(&field, answer, &none, work));
    match values {
        (Ok(gold), Ok(answer)) => Comparison::of(field.within(&gold, &answer, tolerance)),
        (Err(obstacle), _) | (_, Err(obstacle)) => unknown(obstacle),
    }
}

fn unknown(obstacle: Obstacle) -> Comparison {
    match obstacle {
        Obstacle::Undefined => Comparison::Different,
        Obstacle::Unsupported => Comparison::Unknown(Reason::AnswerUnreadable),
        Obstacle::TooLarge => Comparison::Unknown(Reason::TooLarge),
        Obstacle::Spent => Comparison::Unknown(Reason::TooMuchWork),
    }
}

/// Whether two terms are the same infinity; nothing if none of them is one.
fn infinities(gold: &Term, answer: &Term) -> Option<bool> {
    let infinite = |term: &Term| term.any(&|part| *part == Term::Constant(Constant::Infinity));
    if !infinite(gold) && !infinite(answer) {
        return None;
    }
    let sign = |mut term: &Term| {
        let mut positive = true;
        while let Term::Negative(inner) = term {
            (positive, term) = (!positive, inner);
        }
        (*term == Term::Constant(Constant::Infinity)).then_some(positive)
    };
    Some(sign(gold).is_some() && sign(gold) == sign(answer))
}

/// The term, with each unknown function as a letter of its own.
fn opaque(term: &Term) -> Term {
    term.clone().rebuilt(&|part| match part {
        Term::Applied(name, arguments) => Term::Variable(format!("{name}{arguments:?}")),
        other => other,
    })
}

/// Two scalars that are compared.
struct Pair<'w> {
    gold: Term,
    answer: Term,
    letters: Letters,
    work: &'w Work,
}

/// What one point says.
enum AtPoint {
    Decided(Comparison),
    /// It would be decided so, but a root or logarithm was ambiguous there.
    Branched(Comparison),
    /// The gold is undefined there, or both are.
    Skipped,
    /// Only the answer is undefined there.
    AnswerUndefined,
}

impl Pair<'_> {
    /// What rational functions say modulo primes; nothing if one of them is none.
    fn modulo_primes(&self) -> Option<Comparison> {
        let mut seen = false;
        for prime in PRIMES {
            let field = Modular::new(prime, self.work);
            for index in 0..if self.letters.are_none() { 1 } else { 4 } {
                let point = self.letters.point(Spread::Wide, index, self.work);
                let gold = evaluate(&field, &self.gold, &point, self.work);
                let answer = evaluate(&field, &self.answer, &point, self.work);
                match (gold, answer) {
                    (Err(Obstacle::Unsupported), _) | (_, Err(Obstacle::Unsupported)) => {
                        return None;
                    }
                    (Ok(gold), Ok(answer)) if gold != answer => return Some(Comparison::Different),
                    (Ok(_), Ok(_)) => seen = true,
                    (Ok(_), Err(Obstacle::Undefined)) if self.letters.are_none() => {
                        return Some(Comparison::Different);
                    }
                    (Err(Obstacle::Undefined), _) | (_, Err(Obstacle::Undefined)) => {}
                    (Err(obstacle), _) | (_, Err(obstacle)) => return Some(unknown(obstacle)),
                }
            }
        }
        Some(Comparison::of(seen))
    }

    /// Compares values to many digits. A logarithm without a base has no value: two terms are
    /// equal only if they are for every base.
    fn compare_logarithms(&self) -> Comparison {
        let comparison = self.compare_roots();
        let undecided = |term: &Term| matches!(term, Term::Call(Function::Log, _));
        if comparison == Comparison::Same
            || !(self.gold.any(&undecided) || self.answer.any(&undecided))
        {
            return comparison;
        }
        let with = |base: &dyn Fn(Vec<Term>) -> Term| {
            let rewritten = |term: &Term| {
                term.clone().rebuilt(&|part| match part {
                    Term::Call(Function::Log, of) => base(of),
                    other => other,
                })
            };
            equal(&rewritten(&self.gold), &rewritten(&self.answer), self.work)
        };
        let natural = with(&|of| Term::Call(Function::Ln, of));
        let common = with(&|mut of| {
            of.insert(0, Term::whole(10));
            Term::Call(Function::LogBase, of)
        });
        match (natural, common) {
            (Comparison::Different, Comparison::Different) => comparison,
            _ => Comparison::Unknown(Reason::Ambiguous),
        }
    }

    fn compare_roots(&self) -> Comparison {
        let real = self.at_points(Roots::Real);
        let negative_roots = self.letters.are_none()
            && (self.gold.any(&is_fractional_power) || self.answer.any(&is_fractional_power));
        if real == Comparison::Different
            && negative_roots
            && self.at_points(Roots::Principal) == Comparison::Same
        {
            return Comparison::Unknown(Reason::Ambiguous);
        }
        real
    }

    fn at_points(&self, roots: Roots) -> Comparison {
        if self.letters.are_none() {
            return match self.at(&Point::new(), roots) {
                AtPoint::Decided(comparison) | AtPoint::Branched(comparison) => comparison,
                AtPoint::Skipped => Comparison::Unknown(Reason::GoldUnreadable),
                AtPoint::AnswerUndefined => Comparison::Different,
            };
        }
        let (mut decided, mut branched, mut undefined) = (None, None, false);
        let spreads = [(Spread::Positive, 2), (Spread::Signed, 3)];
        for (spread, count) in spreads {
            for index in 0..count {
                let point = self.letters.point(spread, index, self.work);
                match self.at(&point, roots) {
                    AtPoint::Decided(Comparison::Same) => decided = Some(Comparison::Same),
                    AtPoint::Decided(comparison) => return comparison,
                    AtPoint::Branched(comparison) => branched = branched.or(Some(comparison)),
                    AtPoint::Skipped => {}
                    AtPoint::AnswerUndefined => undefined = true,
                }
            }
        }
        match decided.or(branched) {
            Some(comparison) => comparison,
            None if undefined => Comparison::Different,
            None => Comparison::Unknown(Reason::GoldUnreadable),
        }
    }

    fn at(&self, point: &Point, roots: Roots) -> AtPoint {
        let extra = literal_bits(&self.gold).max(literal_bits(&self.answer)) * 4;
        if extra > MOST_EXTRA_BITS {
            return AtPoint::Decided(Comparison::Unknown(Reason::TooLarge));
        }
        // An arbitrary base for logarithms that have none.
        let log = BigRational::new(
            (self.work.random("log", 1) >> 40).into(),
            (1 + (self.work.random("log", 2) >> 40)).into(),
        );
        for precision in PRECISIONS {
            let field = Numeric::new(precision + extra, roots, log.clone());
            let gold = evaluate(&field, &self.gold, point, self.work);
            let answer = evaluate(&field, &self.answer, point, self.work);
            if let Some(outcome) = Self::judged(&field, gold, answer) {
                return outcome;
            }
        }
        AtPoint::Decided(Comparison::Unknown(Reason::TooMuchWork))
    }

    /// Compares two values, if their precision suffices.
    fn judged(
        field: &Numeric,
        gold: Evaluated<Complex>,
        answer: Evaluated<Complex>,
    ) -> Option<AtPoint> {
        let comparison = match (gold, answer) {
            (Err(Obstacle::Undefined), _) => return Some(AtPoint::Skipped),
            (Ok(_), Err(Obstacle::Undefined)) => return Some(AtPoint::AnswerUndefined),
            (Err(obstacle), _) | (_, Err(obstacle)) => unknown(obstacle),
            (Ok(gold), Ok(answer)) => {
                let agree = field.agree(&gold, &answer);
                if field.needs_more() && (agree || field.is_blurred()) {
                    return None;
                }
                Comparison::of(agree)
            }
        };
        Some(if field.branched() {
            AtPoint::Branched(comparison)
        } else {
            AtPoint::Decided(comparison)
        })
    }
}

fn is_fractional_power(term: &Term) -> bool {
    matches!(term, Term::Power(_, exponent) if !matches!(**exponent, Term::Number(ref n) if n.value.is_integer()))
}

/// The length of the longest numeral in a term.
fn literal_bits(term: &Term) -> usize {
    let bits = match term {
        Term::Number(number) => number.value.numer().bits().max(number.value.denom().bits()),
        _ => 0,
    };
    // Numerals are no longer than MOST_DIGITS.
    let parts = term.parts().into_iter().map(literal_bits).max().unwrap_or(0);
    parts.max(bits as usize).saturating_sub(32)
}
