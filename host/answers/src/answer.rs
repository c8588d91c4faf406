//! Answers as trees: what is around the scalars.

use crate::term::Term;

/// What an answer says.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A scalar, perhaps of a unit.
    Value(Value),
    /// Several answers next to each other.
    List(Vec<Answer>, Joiner),
    /// Answers in brackets: a point, a vector or an interval.
    Tuple {
        /// The opening bracket.
        open: char,
        /// What is between them.
        items: Vec<Answer>,
        /// The closing bracket.
        close: char,
    },
    /// A set by its elements.
    Set(Vec<Answer>),
    /// A set by a condition on its elements.
    Builder(Box<Answer>, Box<Answer>),
    /// A set by its usual letter, or the empty set.
    Known(char),
    /// Two sets, and what becomes of them.
    Combined(Box<Answer>, SetOperation, Box<Answer>),
    /// A matrix or, between bars, its determinant.
    Matrix {
        /// Whether it stands between bars.
        bars: bool,
        /// Its rows.
        rows: Vec<Vec<Answer>>,
    },
    /// An equation, an inequality, or several in a chain.
    Relations(Chain),
    /// Numbers with colons between them, which may be a time of day.
    Ratio(Vec<Term>, Option<String>),
    /// Digits of a number in a base that is not ten.
    Digits(String, u32),
    /// Words.
    Words(String),
}

/// A scalar and what it counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The scalar.
    pub term: Term,
    /// The unit, in the spelling that all spellings become.
    pub unit: Option<String>,
}

/// `first`, and what it is related to in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The leftmost side.
    pub first: Box<Answer>,
    /// The relations and their right-hand sides.
    pub rest: Vec<(Relation, Answer)>,
}

/// What holds between two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Element,
    /// About equal, no element, congruent: never what `=` says.
    Other(char),
}

/// What stands between the parts of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joiner {
    Comma,
    And,
    Or,
}

/// What becomes of two sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperation {
    Union,
    Intersection,
    Difference,
}

impl Relation {
    /// The relation of this sign.
    pub fn of(sign: char) -> Option<Relation> {
        Some(match sign {
            '=' => Relation::Equal,
            '≠' => Relation::Unequal,
            '<' => Relation::Less,
            '≤' => Relation::AtMost,
            '>' => Relation::Greater,
            '≥' => Relation::AtLeast,
            '∈' => Relation::Element,
            '≈' | '≡' | '∉' | '⊂' | '→' => Relation::Other(sign),
            _ => return None,
        })
    }

    /// What holds when the sides change places, or both change their sign.
    #[must_use]
    pub fn turned(self) -> Relation {
        match self {
            Relation::Less => Relation::Greater,
            Relation::AtMost => Relation::AtLeast,
            Relation::Greater => Relation::Less,
            Relation::AtLeast => Relation::AtMost,
            same => same,
        }
    }
}

impl Answer {
    /// A scalar without unit.
    pub fn scalar(term: Term) -> Answer {
        Answer::Value(Value { term, unit: None })
    }

    /// The scalar, if it is one without unit.
    pub fn as_term(&self) -> Option<&Term> {
        match self {
            Answer::Value(Value { term, unit: None }) => Some(term),
            _ => None,
        }
    }

    /// Whether it is a name that something can be given: `x`, `a_n`, `f(x)`.
    pub fn is_name(&self) -> bool {
        match self.as_term() {
            Some(Term::Variable(_) | Term::Applied(..)) => true,
            // Names of more than one letter, such as `AB`.
            Some(Term::Product(letters)) => letters.iter().all(|letter| {
                matches!(letter, Term::Variable(name) if name.len() == 1
                    && name.chars().all(|c| c.is_ascii_uppercase()))
            }),
            _ => false,
        }
    }

    /// The name and what it is said to equal, whichever side it stands on. In a chain it is
    /// the last thing that counts, so what stands between is returned, too.
    pub fn assignment(&self) -> Option<(&Answer, Vec<&Answer>)> {
        let Answer::Relations(chain) = self else { return None };
        if chain.rest.iter().any(|(relation, _)| *relation != Relation::Equal) {
            return None;
        }
        let values: Vec<&Answer> = chain.rest.iter().map(|(_, value)| value).collect();
        let names_tuple = |answer: &Answer| match answer {
            Answer::Tuple { items, .. } => items.iter().all(Answer::is_name),
            _ => answer.is_name(),
        };
        if names_tuple(&chain.first) {
            return Some((&chain.first, values));
        }
        match values.as_slice() {
            [only] if only.is_name() => Some((only, vec![&chain.first])),
            _ => None,
        }
    }
}
