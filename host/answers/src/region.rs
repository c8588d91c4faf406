//! Sets of real numbers: intervals, their unions, inequalities.

use std::cmp::Ordering;

use num_rational::BigRational;

use crate::answer::{Answer, Chain, Joiner, Relation, SetOperation};
use crate::equality::{Comparison, equal, order};
use crate::term::{Constant, Term};
use crate::work::Work;

/// More ends than that are not sorted.
const MOST_CUTS: usize = 64;

/// A set of real numbers, as what it says at its ends and between them.
#[derive(Clone, Debug)]
pub struct Region {
    /// The ends, in rising order.
    cuts: Vec<Term>,
    /// Whether each end is in it.
    on: Vec<bool>,
    /// Whether what lies before the first end, between two, and after the last is in it.
    between: Vec<bool>,
}

/// A region, and the letter that it was a condition on.
pub struct Condition {
    /// The region.
    pub region: Region,
    /// The letter, if it was written as a condition.
    pub letter: Option<String>,
}

impl Region {
    fn uniform(inside: bool) -> Region {
        Region { cuts: Vec::new(), on: Vec::new(), between: vec![inside] }
    }

    fn cut(at: Term, below: bool, on: bool, above: bool) -> Region {
        Region { cuts: vec![at], on: vec![on], between: vec![below, above] }
    }

    /// Whether two regions are the same.
    pub fn same(&self, other: &Region, work: &Work) -> Comparison {
        if self.on != other.on || self.between != other.between {
            return Comparison::Different;
        }
        let pairs = self.cuts.iter().zip(&other.cuts);
        Comparison::all(pairs.map(|(gold, answer)| equal(gold, answer, work)))
    }

    fn is_empty(&self) -> bool {
        !self.on.iter().chain(&self.between).any(|inside| *inside)
    }

    /// What is in one, in the other, or in both, as `keep` says.
    fn joined(&self, other: &Region, keep: fn(bool, bool) -> bool, work: &Work) -> Option<Region> {
        if self.cuts.len() + other.cuts.len() > MOST_CUTS {
            return None;
        }
        let mut joined = Region {
            cuts: vec![],
            on: vec![],
            between: vec![keep(self.between[0], other.between[0])],
        };
        let (mut left, mut right) = (0, 0);
        while left < self.cuts.len() || right < other.cuts.len() {
            let first = match (self.cuts.get(left), other.cuts.get(right)) {
                (Some(left_cut), Some(right_cut)) => order(left_cut, right_cut, work)?,
                (Some(_), None) => Ordering::Less,
                _ => Ordering::Greater,
            };
            let (takes_left, takes_right) = (first.is_le(), first.is_ge());
            let cut = if takes_left { &self.cuts[left] } else { &other.cuts[right] };
            let on_left = if takes_left { self.on[left] } else { self.between[left] };
            let on_right = if takes_right { other.on[right] } else { other.between[right] };
            left += usize::from(takes_left);
            right += usize::from(takes_right);
            joined.push(
                cut.clone(),
                keep(on_left, on_right),
                keep(self.between[left], other.between[right]),
            );
        }
        Some(joined)
    }

    /// Add an end, unless nothing changes there.
    fn push(&mut self, cut: Term, on: bool, after: bool) {
        let before = self.between.last().copied().unwrap_or(false);
        if on == before && after == before {
            return;
        }
        self.cuts.push(cut);
        self.on.push(on);
        self.between.push(after);
    }
}

impl Condition {
    /// The set of real numbers that an answer describes, if it describes one whose ends are
    /// known numbers.
    pub fn of(answer: &Answer, work: &Work) -> Option<Condition> {
        let plain = |region| Some(Condition { region, letter: None });
        match answer {
            Answer::Known('ℝ') => plain(Region::uniform(true)),
            Answer::Known('∅') => plain(Region::uniform(false)),
            Answer::Tuple { open, items, close } => plain(interval(*open, items, *close, work)?),
            Answer::Set(elements) => plain(points(elements, work)?),
            Answer::Combined(left, operation, right) => {
                let keep = keeping(*operation);
                let (left, right) = (Condition::of(left, work)?, Condition::of(right, work)?);
                plain(left.region.joined(&right.region, keep, work)?)
            }
            Answer::Builder(element, condition) => Condition::builder(element, condition, work),
            Answer::Relations(chain) => Condition::chain(chain, work),
            Answer::List(items, joiner) => Condition::list(items, *joiner, work),
            _ => None,
        }
    }

    fn builder(element: &Answer, condition: &Answer, work: &Work) -> Option<Condition> {
        let element = match element {
            Answer::Relations(chain) => match chain.rest.as_slice() {
                [(Relation::Element, Answer::Known('ℝ'))] => &chain.first,
                _ => return None,
            },
            other => other,
        };
        let Some(Term::Variable(letter)) = element.as_term() else { return None };
        let condition = Condition::of(condition, work)?;
        let about = condition.letter.as_ref() == Some(letter);
        about.then_some(Condition { region: condition.region, letter: None })
    }

    fn chain(chain: &Chain, work: &Work) -> Option<Condition> {
        if let [(Relation::Element, set)] = chain.rest.as_slice()
            && let Some(Term::Variable(letter)) = chain.first.as_term()
        {
            let region = Condition::of(set, work)?.region;
            return Some(Condition { region, letter: Some(letter.clone()) });
        }
        let mut sides = vec![chain.first.as_term()?];
        for (_, side) in &chain.rest {
            sides.push(side.as_term()?);
        }
        let mut letters: Vec<String> = sides.iter().flat_map(|side| side.variables()).collect();
        letters.sort();
        letters.dedup();
        let [letter] = letters.as_slice() else { return None };
        let mut region = Region::uniform(true);
        for (pair, (relation, _)) in sides.windows(2).zip(&chain.rest) {
            let part = solved(pair[0], *relation, pair[1], letter, work)?;
            region = region.joined(&part, |left, right| left && right, work)?;
        }
        Some(Condition { region, letter: Some(letter.clone()) })
    }

    fn list(items: &[Answer], joiner: Joiner, work: &Work) -> Option<Condition> {
        let mut parts = Vec::new();
        for item in items {
            parts.push(Condition::of(item, work)?);
        }
        let letter = parts.first()?.letter.clone()?;
        if parts.iter().any(|part| part.letter.as_ref() != Some(&letter)) {
            return None;
        }
        let all = |keep: fn(bool, bool) -> bool| {
            let (first, rest) = parts.split_first()?;
            rest.iter()
                .try_fold(first.region.clone(), |all, part| all.joined(&part.region, keep, work))
        };
        let both = all(|left, right| left && right)?;
        let either = all(|left, right| left || right)?;
        let region = match joiner {
            Joiner::Or => either,
            Joiner::And => both,
            // `x < -1, x > 1` cannot be meant to hold at once.
            Joiner::Comma => {
                if both.is_empty() {
                    either
                } else {
                    both
                }
            }
        };
        Some(Condition { region, letter: Some(letter) })
    }
}

fn keeping(operation: SetOperation) -> fn(bool, bool) -> bool {
    match operation {
        SetOperation::Union => |left, right| left || right,
        SetOperation::Intersection => |left, right| left && right,
        SetOperation::Difference => |left, right| left && !right,
    }
}

/// The term, if it is a number.
fn constant(answer: &Answer) -> Option<&Term> {
    answer.as_term().filter(|term| term.variables().is_empty())
}

fn infinity(term: &Term) -> Option<Ordering> {
    match term {
        Term::Constant(Constant::Infinity) => Some(Ordering::Greater),
        Term::Negative(inner) if infinity(inner) == Some(Ordering::Greater) => Some(Ordering::Less),
        _ => None,
    }
}

fn interval(open: char, items: &[Answer], close: char, work: &Work) -> Option<Region> {
    let [low, high] = items else { return None };
    let (low, high) = (constant(low)?, constant(high)?);
    let (from, to) = (open == '[', close == ']');
    if !matches!((open, close), ('(' | '[', ')' | ']')) {
        return None;
    }
    let below = match infinity(low) {
        Some(Ordering::Less) if !from => Region::uniform(true),
        Some(_) => return None,
        None => Region::cut(low.clone(), false, from, true),
    };
    let above = match infinity(high) {
        Some(Ordering::Greater) if !to => Region::uniform(true),
        Some(_) => return None,
        None => Region::cut(high.clone(), true, to, false),
    };
    let ordered = infinity(low).is_some()
        || infinity(high).is_some()
        || order(low, high, work)? == Ordering::Less;
    ordered.then(|| below.joined(&above, |left, right| left && right, work))?
}

fn points(elements: &[Answer], work: &Work) -> Option<Region> {
    let mut region = Region::uniform(false);
    for element in elements {
        let point = constant(element).filter(|term| infinity(term).is_none())?;
        let point = Region::cut(point.clone(), false, true, false);
        region = region.joined(&point, |left, right| left || right, work)?;
    }
    Some(region)
}

/// For which values of `letter` the relation holds, if it is linear in it.
fn solved(
    left: &Term,
    relation: Relation,
    right: &Term,
    letter: &str,
    work: &Work,
) -> Option<Region> {
    let (at, relation) = if let Term::Variable(_) = left
        && right.variables().is_empty()
    {
        (right.clone(), relation)
    } else if let Term::Variable(_) = right
        && left.variables().is_empty()
    {
        (left.clone(), relation.turned())
    } else {
        linear(left, relation, right, letter, work)?
    };
    if let Some(end) = infinity(&at) {
        // `x < ∞` holds for all.
        let holds = match relation {
            Relation::Less => end == Ordering::Greater,
            Relation::Greater => end == Ordering::Less,
            _ => return None,
        };
        return Some(Region::uniform(holds));
    }
    Some(match relation {
        Relation::Less => Region::cut(at, true, false, false),
        Relation::AtMost => Region::cut(at, true, true, false),
        Relation::Greater => Region::cut(at, false, false, true),
        Relation::AtLeast => Region::cut(at, false, true, true),
        Relation::Equal => Region::cut(at, false, true, false),
        Relation::Unequal => Region::cut(at, true, false, true),
        Relation::Element | Relation::Other(_) => return None,
    })
}

fn linear(
    left: &Term,
    relation: Relation,
    right: &Term,
    letter: &str,
    work: &Work,
) -> Option<(Term, Relation)> {
    let difference = left.clone().less(right.clone());
    let at = |value: i64| substituted(&difference, letter, value);
    let slope = at(1).less(at(0));
    if equal(&at(7).less(at(2)), &Term::Product(vec![Term::whole(5), slope.clone()]), work)
        != Comparison::Same
    {
        return None;
    }
    let relation = match order(&slope, &Term::whole(0), work)? {
        Ordering::Less => relation.turned(),
        Ordering::Greater => relation,
        Ordering::Equal => return None,
    };
    Some((at(0).negative().over(slope), relation))
}

/// The term with a number for a letter.
pub fn substituted(term: &Term, letter: &str, value: i64) -> Term {
    term.clone().rebuilt(&|part| match part {
        Term::Variable(name) if name == letter => Term::whole(value),
        other => other,
    })
}

/// The term with numbers for all its letters.
pub fn at_point(term: &Term, point: &crate::point::Point) -> Term {
    term.clone().rebuilt(&|part| match part {
        Term::Variable(name) => match point.get(&name) {
            Some(value) => fraction(value),
            None => Term::Variable(name),
        },
        other => other,
    })
}

fn fraction(value: &BigRational) -> Term {
    let whole =
        |value: &num_bigint::BigInt| Term::Number(crate::number::Number::whole(value.clone()));
    whole(value.numer()).over(whole(value.denom()))
}
