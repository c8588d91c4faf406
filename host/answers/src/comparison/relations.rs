//! Equations and inequalities.

use num_rational::BigRational;
use num_traits::One;

use super::Comparer;
use crate::answer::{Answer, Chain, Relation};
use crate::equality::{Comparison, equal};
use crate::evaluation::{Numeric, Roots, evaluate};
use crate::point::{Letters, Point, Spread};
use crate::region::at_point;
use crate::term::Term;

impl Comparer<'_> {
    /// Compares two answers of which at least one is a relation. None if neither is, or if they
    /// can only be compared as sets.
    pub(super) fn relations(
        &self,
        gold: &Answer,
        answer: &Answer,
        index: usize,
    ) -> Option<Comparison> {
        match (gold, answer) {
            (Answer::Relations(gold_chain), Answer::Relations(answer_chain)) => {
                Some(self.both(gold, gold_chain, answer, answer_chain, index))
            }
            (Answer::Relations(_), Answer::List(..)) | (Answer::List(..), Answer::Relations(_)) => {
                self.element_sets(gold, answer, index)
            }
            (Answer::Relations(_), _) => match gold.assignment() {
                Some((_, values)) => {
                    let value = *values.last()?;
                    Some(self.at(value, answer, index))
                }
                None => self.element_sets(gold, answer, index),
            },
            (_, Answer::Relations(chain)) => match self.final_value(answer, chain) {
                Some(value) => Some(self.at(gold, value, index)),
                None => self.element_sets(gold, answer, index),
            },
            _ => None,
        }
    }

    /// Compares `x ∈ S` as `S`.
    fn element_sets(&self, gold: &Answer, answer: &Answer, index: usize) -> Option<Comparison> {
        let (gold_set, answer_set) = (element_of(gold), element_of(answer));
        if gold_set.is_none() && answer_set.is_none() {
            return None;
        }
        Some(self.at(gold_set.unwrap_or(gold), answer_set.unwrap_or(answer), index))
    }

    /// What an answer such as `x = 2 + 3 = 5` or `2 + 3 = 5` ends with, if its steps hold.
    fn final_value<'a>(&self, answer: &'a Answer, chain: &'a Chain) -> Option<&'a Answer> {
        let steps = match answer.assignment() {
            Some((_, values)) => values,
            None => {
                let constant = |side: &Answer| {
                    side.as_term().is_some_and(|term| term.variables().is_empty())
                        || matches!(side, Answer::Value(value) if value.unit.is_some())
                };
                let equal = chain.rest.iter().all(|(relation, _)| *relation == Relation::Equal);
                let sides: Vec<&Answer> = std::iter::once(&*chain.first)
                    .chain(chain.rest.iter().map(|(_, side)| side))
                    .collect();
                if !equal || !sides.iter().all(|side| constant(side)) {
                    return None;
                }
                sides
            }
        };
        let last = *steps.last()?;
        let holds = steps.windows(2).all(|pair| self.at(pair[1], pair[0], 0) == Comparison::Same);
        holds.then_some(last)
    }

    fn both(
        &self,
        gold: &Answer,
        gold_chain: &Chain,
        answer: &Answer,
        answer_chain: &Chain,
        index: usize,
    ) -> Comparison {
        if let (Some((name, values)), Some((other, _))) = (gold.assignment(), answer.assignment())
            && self.compare(name, other) == Comparison::Same
            && let (Some(value), Some(answer)) =
                (values.last(), self.final_value(answer, answer_chain))
        {
            return self.at(value, answer, index);
        }
        let (Some(gold), Some(answer)) = (single(gold_chain), single(answer_chain)) else {
            return self.chains(gold_chain, answer_chain);
        };
        self.proportional(gold, answer)
    }

    /// Chains that are the same relation by relation, read from either end.
    fn chains(&self, gold: &Chain, answer: &Chain) -> Comparison {
        let sides = |chain: &Chain| -> Vec<Answer> {
            let rest = chain.rest.iter().map(|(_, side)| side.clone());
            std::iter::once((*chain.first).clone()).chain(rest).collect()
        };
        let relations = |chain: &Chain| -> Vec<Relation> {
            chain.rest.iter().map(|(relation, _)| *relation).collect()
        };
        let straight = if relations(gold) == relations(answer) {
            self.in_order(&sides(gold), &sides(answer))
        } else {
            Comparison::Different
        };
        straight.or(|| {
            let turned: Vec<Relation> =
                relations(answer).into_iter().rev().map(Relation::turned).collect();
            if relations(gold) != turned {
                return Comparison::Different;
            }
            let sides_back: Vec<Answer> = sides(answer).into_iter().rev().collect();
            self.in_order(&sides(gold), &sides_back)
        })
    }

    /// Whether two relations are the same but for a factor, which turns an inequality if it
    /// is negative.
    fn proportional(&self, gold: Single<'_>, answer: Single<'_>) -> Comparison {
        if let (Relation::Other(_) | Relation::Element, _) = (gold.relation, answer.relation) {
            let sides =
                [self.compare(gold.left, answer.left), self.compare(gold.right, answer.right)];
            let same = gold.relation == answer.relation;
            return if same { Comparison::all(sides) } else { Comparison::Different };
        }
        let (Some(gold_difference), Some(answer_difference)) =
            (gold.difference(), answer.difference())
        else {
            return self.sides(gold, answer);
        };
        let ratio = gold_difference.clone().over(answer_difference.clone());
        let point = Letters::of(&[&gold_difference, &answer_difference]).point(
            Spread::Positive,
            11,
            self.work,
        );
        let factor = at_point(&ratio, &point);
        let Some(positive) = self.sign(&factor) else { return Comparison::Different };
        let relation = if positive { answer.relation } else { answer.relation.turned() };
        if relation != gold.relation {
            return Comparison::Different;
        }
        equal(&ratio, &factor, self.work)
    }

    /// Relations between what is no scalar.
    fn sides(&self, gold: Single<'_>, answer: Single<'_>) -> Comparison {
        let straight = if gold.relation == answer.relation {
            Comparison::all([
                self.compare(gold.left, answer.left),
                self.compare(gold.right, answer.right),
            ])
        } else {
            Comparison::Different
        };
        straight.or(|| {
            if gold.relation != answer.relation.turned() {
                return Comparison::Different;
            }
            Comparison::all([
                self.compare(gold.left, answer.right),
                self.compare(gold.right, answer.left),
            ])
        })
    }

    /// Whether a constant that is not zero is positive.
    fn sign(&self, constant: &Term) -> Option<bool> {
        let field = Numeric::new(256, Roots::Real, BigRational::one());
        let value = evaluate(&field, constant, &Point::new(), self.work).ok()?;
        (!value.is_zero()).then(|| value.is_positive())
    }
}

/// One relation between two sides.
#[derive(Clone, Copy)]
struct Single<'a> {
    left: &'a Answer,
    relation: Relation,
    right: &'a Answer,
}

impl Single<'_> {
    fn difference(&self) -> Option<Term> {
        Some(self.left.as_term()?.clone().less(self.right.as_term()?.clone()))
    }
}

fn single(chain: &Chain) -> Option<Single<'_>> {
    match chain.rest.as_slice() {
        [(relation, right)] => Some(Single { left: &chain.first, relation: *relation, right }),
        _ => None,
    }
}

/// The set that something is said to be in.
fn element_of(answer: &Answer) -> Option<&Answer> {
    let Answer::Relations(chain) = answer else { return None };
    match chain.rest.as_slice() {
        [(Relation::Element, set)] if chain.first.is_name() => Some(set),
        _ => None,
    }
}
