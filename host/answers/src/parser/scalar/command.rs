//! LaTeX commands with arguments: fractions, roots, binomials, sums.

use crate::number::Number;
use crate::parser::{ParseError, Parsed, Parser};
use crate::term::{Function, Series, Term};
use crate::token::Token;

impl Parser<'_> {
    /// A command whose name was just read.
    pub(super) fn command(&mut self, name: &str) -> Parsed<Term> {
        match name {
            "frac" => self.fraction(),
            "binom" => {
                let (above, below, rest) = self.two_arguments()?;
                Ok(times_rest(Term::Call(Function::Binomial, vec![above, below]), rest))
            }
            "sqrt" | "√" => self.root(name == "√"),
            "sum" | "prod" => self.series(name == "prod"),
            "bar" | "vec" | "hat" | "tilde" | "dot" | "overrightarrow" | "widehat" => {
                self.accented(name)
            }
            _ => Err(ParseError::Unreadable),
        }
    }

    /// What follows `\frac`.
    pub(super) fn fraction(&mut self) -> Parsed<Term> {
        let (above, below, rest) = self.two_arguments()?;
        Ok(times_rest(above.over(below), rest))
    }

    /// Two arguments, and the digits that are left of the last numeral: `\frac123` is ½ times 3.
    fn two_arguments(&mut self) -> Parsed<(Term, Term, Option<Term>)> {
        let (first, left) = self.digit_or_argument()?;
        let Some(left) = left else {
            let (second, left) = self.digit_or_argument()?;
            return Ok((first, second, left.and_then(|left| numeral(&left))));
        };
        let (second, rest) = left.split_at(1);
        let second = numeral(second).ok_or(ParseError::Unreadable)?;
        Ok((first, second, numeral(rest)))
    }

    /// One argument; of a numeral that is its first digit, and the others are left over.
    fn digit_or_argument(&mut self) -> Parsed<(Term, Option<String>)> {
        let Some(Token::Number(number)) = self.peek() else { return Ok((self.argument()?, None)) };
        if number.decimals.is_some() || !number.value.is_integer() {
            return Err(ParseError::Unreadable);
        }
        let digits = number.value.to_integer().to_string();
        self.at += 1;
        let (first, left) = digits.split_at(1);
        let first = numeral(first).ok_or(ParseError::Unreadable)?;
        Ok((first, (!left.is_empty()).then(|| left.to_owned())))
    }

    /// A group, or the one thing that stands here.
    pub(super) fn argument(&mut self) -> Parsed<Term> {
        self.deeper(Self::primary)
    }

    fn root(&mut self, plain: bool) -> Parsed<Term> {
        let degree = if self.takes('[') { Some(self.group(']')?) } else { None };
        let (under, rest) = if plain {
            (self.argument()?, None)
        } else {
            let (under, left) = self.digit_or_argument()?;
            (under, left.and_then(|left| numeral(&left)))
        };
        let root = match degree {
            Some(degree) => Term::Call(Function::Root, vec![degree, under]),
            None => Term::Call(Function::Sqrt, vec![under]),
        };
        Ok(times_rest(root, rest))
    }

    fn series(&mut self, product: bool) -> Parsed<Term> {
        self.expect('_')?;
        self.expect('{')?;
        let Some(Token::Name(index)) = self.peek().cloned() else {
            return Err(ParseError::Unreadable);
        };
        self.at += 1;
        self.expect('=')?;
        let from = self.sum()?;
        self.expect('}')?;
        self.expect('^')?;
        let to = self.argument()?;
        self.bound.push(index.clone());
        let body = self.deeper(Self::product);
        self.bound.pop();
        Ok(Term::Series(Box::new(Series { product, index, from, to, body: body? })))
    }

    /// A letter with something above it is a name of its own.
    fn accented(&mut self, accent: &str) -> Parsed<Term> {
        let letter = self.label()?;
        Ok(Term::Variable(format!("{accent} {letter}")))
    }
}

fn numeral(digits: &str) -> Option<Term> {
    if digits.is_empty() {
        return None;
    }
    Number::from_digits(digits, None, "").map(Term::Number)
}

fn times_rest(term: Term, rest: Option<Term>) -> Term {
    match rest {
        Some(rest) => Term::Product(vec![term, rest]),
        None => term,
    }
}
