//! Scalars as trees.

use num_rational::BigRational;
use num_traits::Signed;

use crate::number::Number;

/// What an expression without brackets around lists, relations and sets is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A numeral.
    Number(Number),
    /// A number with a name.
    Constant(Constant),
    /// A letter that stands for any number; with its index, if it has one.
    Variable(String),
    /// Terms added up.
    Sum(Vec<Term>),
    /// Terms multiplied.
    Product(Vec<Term>),
    /// One term divided by another.
    Quotient(Box<Term>, Box<Term>),
    /// One term to the power of another.
    Power(Box<Term>, Box<Term>),
    /// A term times minus one.
    Negative(Box<Term>),
    /// `±` or, if not `upper`, `∓` before a term: two values at once.
    PlusMinus {
        /// Whether it is `±`.
        upper: bool,
        /// What the sign stands before.
        term: Box<Term>,
    },
    /// A function of its arguments.
    Call(Function, Vec<Term>),
    /// A function that is known by its name only.
    Applied(String, Vec<Term>),
    /// So many hundredths.
    Percent(Box<Term>),
    /// So many degrees of an angle.
    Degrees(Box<Term>),
    /// A sum or product over an index.
    Series(Box<Series>),
}

/// `body` for all values of `index`, added up or multiplied.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Whether it is a product.
    pub product: bool,
    /// The index.
    pub index: String,
    /// Its first value.
    pub from: Term,
    /// Its last value.
    pub to: Term,
    /// What is added up.
    pub body: Term,
}

/// Numbers with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Constant {
    /// π.
    Pi,
    /// Euler's number.
    E,
    /// The imaginary unit.
    I,
    /// ∞, which no arithmetic is done with.
    Infinity,
}

/// Functions that can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    Sin,
    Cos,
    Tan,
    Cot,
    Sec,
    Csc,
    Arcsin,
    Arccos,
    Arctan,
    Sinh,
    Cosh,
    Tanh,
    Exp,
    Ln,
    /// A logarithm that does not say its base.
    Log,
    /// Base, then what the logarithm is of.
    LogBase,
    Sqrt,
    /// Which root, then of what.
    Root,
    Abs,
    Factorial,
    Binomial,
    Floor,
    Ceiling,
    Gcd,
    Lcm,
    Max,
    Min,
}

impl Function {
    /// The function of this name, without backslash.
    pub fn named(name: &str) -> Option<Function> {
        Some(match name {
            "sin" => Function::Sin,
            "cos" => Function::Cos,
            "tan" | "tg" => Function::Tan,
            "cot" | "ctg" => Function::Cot,
            "sec" => Function::Sec,
            "csc" | "cosec" => Function::Csc,
            "arcsin" | "asin" => Function::Arcsin,
            "arccos" | "acos" => Function::Arccos,
            "arctan" | "atan" => Function::Arctan,
            "sinh" => Function::Sinh,
            "cosh" => Function::Cosh,
            "tanh" => Function::Tanh,
            "exp" => Function::Exp,
            "ln" => Function::Ln,
            "log" => Function::Log,
            "lg" => Function::Log,
            "gcd" => Function::Gcd,
            "lcm" => Function::Lcm,
            "max" => Function::Max,
            "min" => Function::Min,
            _ => return None,
        })
    }

    /// The function that undoes it, which `^{-1}` after its name stands for.
    pub fn inverse(self) -> Option<Function> {
        Some(match self {
            Function::Sin => Function::Arcsin,
            Function::Cos => Function::Arccos,
            Function::Tan => Function::Arctan,
            _ => return None,
        })
    }
}

impl Term {
    /// A whole number.
    pub fn whole(value: i64) -> Term {
        Term::Number(Number::whole(value))
    }

    /// This term times minus one.
    #[must_use]
    pub fn negative(self) -> Term {
        Term::Negative(Box::new(self))
    }

    /// This term divided by another.
    #[must_use]
    pub fn over(self, divisor: Term) -> Term {
        Term::Quotient(Box::new(self), Box::new(divisor))
    }

    /// This term less another.
    #[must_use]
    pub fn less(self, other: Term) -> Term {
        Term::Sum(vec![self, other.negative()])
    }

    /// The numeral that this term is, with its sign.
    pub fn numeral(&self) -> Option<(Number, bool)> {
        match self {
            Term::Number(number) => Some((number.clone(), number.value.is_negative())),
            Term::Negative(term) => {
                let (mut number, negative) = term.numeral()?;
                number.value = -number.value;
                Some((number, !negative))
            }
            _ => None,
        }
    }

    /// Its value, if it is a numeral.
    pub fn literal(&self) -> Option<BigRational> {
        self.numeral().map(|(number, _)| number.value)
    }

    /// The terms that this one is made of.
    pub fn parts(&self) -> Vec<&Term> {
        match self {
            Term::Number(_) | Term::Constant(_) | Term::Variable(_) => Vec::new(),
            Term::Sum(parts) | Term::Product(parts) => parts.iter().collect(),
            Term::Call(_, parts) | Term::Applied(_, parts) => parts.iter().collect(),
            Term::Quotient(left, right) | Term::Power(left, right) => vec![left, right],
            Term::Negative(term) | Term::Percent(term) | Term::Degrees(term) => vec![term],
            Term::PlusMinus { term, .. } => vec![term],
            Term::Series(series) => vec![&series.from, &series.to, &series.body],
        }
    }

    /// Whether this term or a part of it is as asked for.
    pub fn any(&self, wanted: &dyn Fn(&Term) -> bool) -> bool {
        wanted(self) || self.parts().into_iter().any(|part| part.any(wanted))
    }

    /// The letters in it, in order of the alphabet.
    pub fn variables(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.collect_variables(&mut names);
        names.sort();
        names.dedup();
        names
    }

    fn collect_variables(&self, names: &mut Vec<String>) {
        if let Term::Variable(name) = self {
            names.push(name.clone());
        }
        let bound = |name: &String| matches!(self, Term::Series(series) if series.index == *name);
        let before = names.len();
        for part in self.parts() {
            part.collect_variables(names);
        }
        let mut at = 0;
        names.retain(|name| {
            at += 1;
            at <= before || !bound(name)
        });
    }

    /// This term with every part replaced from the leaves up.
    #[must_use]
    pub fn rebuilt(self, replace: &dyn Fn(Term) -> Term) -> Term {
        let each = |terms: Vec<Term>| terms.into_iter().map(|term| term.rebuilt(replace)).collect();
        let boxed = |term: Box<Term>| Box::new(term.rebuilt(replace));
        let whole = match self {
            leaf @ (Term::Number(_) | Term::Constant(_) | Term::Variable(_)) => leaf,
            Term::Sum(terms) => Term::Sum(each(terms)),
            Term::Product(terms) => Term::Product(each(terms)),
            Term::Call(function, terms) => Term::Call(function, each(terms)),
            Term::Applied(name, terms) => Term::Applied(name, each(terms)),
            Term::Quotient(left, right) => Term::Quotient(boxed(left), boxed(right)),
            Term::Power(left, right) => Term::Power(boxed(left), boxed(right)),
            Term::Negative(term) => Term::Negative(boxed(term)),
            Term::Percent(term) => Term::Percent(boxed(term)),
            Term::Degrees(term) => Term::Degrees(boxed(term)),
            Term::PlusMinus { upper, term } => Term::PlusMinus { upper, term: boxed(term) },
            Term::Series(series) => Term::Series(Box::new(Series {
                product: series.product,
                index: series.index,
                from: series.from.rebuilt(replace),
                to: series.to.rebuilt(replace),
                body: series.body.rebuilt(replace),
            })),
        };
        replace(whole)
    }
}
