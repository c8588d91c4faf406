//! Functions and what they are applied to.

use crate::parser::{ParseError, Parsed, Parser};
use crate::term::{Function, Term};
use crate::token::Token;

impl Parser<'_> {
    /// A function whose name was just read.
    pub(super) fn call(&mut self, function: Function) -> Parsed<Term> {
        let (mut function, mut base, mut power) = (function, None, None);
        loop {
            if power.is_none() && self.takes('^') {
                power = Some(self.deeper(Self::exponent)?);
            } else if base.is_none() && function == Function::Log && self.takes('_') {
                base = Some(self.argument()?);
            } else {
                break;
            }
        }
        if power.as_ref().is_some_and(is_minus_one) {
            function = function.inverse().ok_or(ParseError::Unreadable)?;
            power = None;
        }
        let mut arguments = self.arguments()?;
        if let Some(base) = base {
            function = Function::LogBase;
            arguments.insert(0, base);
        }
        if !fits(function, arguments.len()) {
            return Err(ParseError::Unreadable);
        }
        let call = Term::Call(function, arguments);
        Ok(match power {
            Some(power) => Term::Power(Box::new(call), Box::new(power)),
            None => call,
        })
    }

    /// What is in brackets here, or else the factors up to the next sign or function.
    fn arguments(&mut self) -> Parsed<Vec<Term>> {
        match self.peek() {
            Some(&Token::Sign(open @ ('(' | '[' | '{'))) => {
                self.at += 1;
                self.several(super::super::structure::closing(open))
            }
            Some(&Token::Sign(sign @ ('-' | '+'))) => {
                self.at += 1;
                let argument = self.implied()?;
                Ok(vec![super::signed(sign, argument)])
            }
            _ => Ok(vec![self.implied()?]),
        }
    }

    /// Terms with commas between them, up to `close`.
    pub(super) fn several(&mut self, close: char) -> Parsed<Vec<Term>> {
        let (in_set, bars) = (std::mem::take(&mut self.in_set), std::mem::take(&mut self.bars));
        let mut terms = vec![self.deeper(Self::sum)?];
        while self.takes(',') {
            terms.push(self.deeper(Self::sum)?);
        }
        (self.in_set, self.bars) = (in_set, bars);
        self.expect(close)?;
        Ok(terms)
    }

    fn implied(&mut self) -> Parsed<Term> {
        let mut factors = vec![self.factor()?];
        while self.juxtaposed(factors.last())
            && !matches!(self.peek(), Some(Token::Function(_) | Token::Sign('(' | '[')))
        {
            factors.push(self.factor()?);
        }
        Ok(super::only_or(factors, Term::Product))
    }
}

fn is_minus_one(term: &Term) -> bool {
    term.literal()
        .is_some_and(|value| value == num_rational::BigRational::from_integer((-1).into()))
}

/// Whether a function takes that many arguments.
fn fits(function: Function, arguments: usize) -> bool {
    match function {
        Function::LogBase | Function::Root | Function::Binomial => arguments == 2,
        Function::Gcd | Function::Lcm | Function::Max | Function::Min => arguments >= 1,
        _ => arguments == 1,
    }
}
