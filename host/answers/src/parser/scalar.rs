//! Scalars: sums, products, powers, functions.

mod call;
mod command;
mod name;

use super::{ParseError, Parsed, Parser};
use crate::lexicon;
use crate::number::Number;
use crate::term::{Constant, Term};
use crate::token::Token;

impl Parser<'_> {
    /// Products added up.
    pub(super) fn sum(&mut self) -> Parsed<Term> {
        let mut terms = vec![self.product()?];
        while let Some(&Token::Sign(sign @ ('+' | '-' | '±' | '∓'))) = self.peek() {
            self.at += 1;
            let term = self.product()?;
            terms.push(signed(sign, term));
        }
        Ok(only_or(terms, Term::Sum))
    }

    /// Factors multiplied or divided, from left to right.
    fn product(&mut self) -> Parsed<Term> {
        let mut factors = vec![self.unary()?];
        loop {
            if self.takes('*') {
                factors.push(self.unary()?);
            } else if self.next_is('/') && !self.slash_of_unit() {
                self.at += 1;
                let divisor = self.unary()?;
                let dividend = only_or(std::mem::take(&mut factors), Term::Product);
                factors.push(dividend.over(divisor));
            } else if self.juxtaposed(factors.last()) {
                factors.push(self.factor()?);
            } else {
                return Ok(only_or(factors, Term::Product));
            }
        }
    }

    /// Whether the slash here is between two units, as in `72 km/h`.
    fn slash_of_unit(&self) -> bool {
        matches!(self.tokens.get(self.at + 1), Some(Token::Word(word))
            if lexicon::number(word).is_none())
    }

    /// Whether what comes next multiplies what came before without a sign.
    fn juxtaposed(&self, before: Option<&Term>) -> bool {
        let Some(next) = self.peek() else { return false };
        let previous = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        match next {
            // Two numbers in a row are no product, unless a brace or bracket parts them.
            Token::Number(_) => matches!(previous, Some(Token::Sign(')' | '}' | '!'))),
            Token::Name(name) => {
                let angle = match before {
                    Some(Term::Negative(angle)) => Some(&**angle),
                    before => before,
                };
                !(matches!(angle, Some(Term::Degrees(_))) && (name == "C" || name == "F"))
            }
            Token::Function(_) => true,
            Token::Command(name) => {
                !matches!(name.as_str(), "over" | "choose")
                    && !name.starts_with("end ")
                    && !name.starts_with("begin ")
            }
            Token::Sign('|') => self.bars == 0 && !self.in_set,
            Token::Sign(sign) => matches!(sign, '(' | '[' | '{' | '⌊' | '⌈' | '∞'),
            Token::Word(_) => false,
        }
    }

    fn unary(&mut self) -> Parsed<Term> {
        if let Some(&Token::Sign(sign @ ('+' | '-' | '±' | '∓'))) = self.peek() {
            self.at += 1;
            let term = self.deeper(Self::unary)?;
            return Ok(signed(sign, term));
        }
        self.factor()
    }

    /// A primary with its powers and what else stands behind it.
    pub(super) fn factor(&mut self) -> Parsed<Term> {
        let primary = self.deeper(Self::primary)?;
        self.postfix(primary)
    }

    fn postfix(&mut self, mut term: Term) -> Parsed<Term> {
        loop {
            if self.takes('°') {
                term = Term::Degrees(Box::new(term));
            } else if self.takes('%') {
                term = Term::Percent(Box::new(term));
            } else if self.takes('!') {
                if self.next_is('!') {
                    return Err(ParseError::Unreadable);
                }
                term = Term::Call(crate::term::Function::Factorial, vec![term]);
            } else if self.takes('^') {
                term = self.power_of(term)?;
            } else {
                return Ok(term);
            }
        }
    }

    fn power_of(&mut self, base: Term) -> Parsed<Term> {
        match self.tokens.get(self.at..) {
            Some([Token::Sign('°'), ..]) => {
                self.at += 1;
                Ok(Term::Degrees(Box::new(base)))
            }
            Some([Token::Sign('{'), Token::Sign('°'), Token::Sign('}'), ..]) => {
                self.at += 3;
                Ok(Term::Degrees(Box::new(base)))
            }
            _ => {
                let exponent = self.deeper(Self::exponent)?;
                Ok(Term::Power(Box::new(base), Box::new(exponent)))
            }
        }
    }

    /// What stands behind `^`; in `2^3^4` that is `3^4`.
    pub(super) fn exponent(&mut self) -> Parsed<Term> {
        if let Some(&Token::Sign(sign @ ('-' | '+'))) = self.peek() {
            self.at += 1;
            let exponent = self.deeper(Self::exponent)?;
            return Ok(signed(sign, exponent));
        }
        let base = self.primary()?;
        if self.takes('^') {
            let exponent = self.deeper(Self::exponent)?;
            return Ok(Term::Power(Box::new(base), Box::new(exponent)));
        }
        Ok(base)
    }

    fn primary(&mut self) -> Parsed<Term> {
        let Some(token) = self.peek() else { return Err(ParseError::Unreadable) };
        match token {
            Token::Number(number) => {
                let number = number.clone();
                self.at += 1;
                self.mixed(number)
            }
            Token::Name(_) => self.name(),
            Token::Word(word) => {
                let number = lexicon::number(word).ok_or(ParseError::Unreadable)?;
                self.at += 1;
                Ok(Term::whole(i64::from(number)))
            }
            Token::Function(function) => {
                let function = *function;
                self.at += 1;
                self.call(function)
            }
            Token::Command(name) => {
                let name = name.clone();
                self.at += 1;
                self.command(&name)
            }
            Token::Sign(sign) => {
                let sign = *sign;
                self.at += 1;
                self.enclosed(sign)
            }
        }
    }

    fn enclosed(&mut self, open: char) -> Parsed<Term> {
        use crate::term::Function;
        match open {
            '(' | '[' | '{' => self.group(super::structure::closing(open)),
            '|' => {
                self.bars += 1;
                let inside = self.sum()?;
                self.bars -= 1;
                self.expect('|')?;
                Ok(Term::Call(Function::Abs, vec![inside]))
            }
            '⌊' => self.group('⌋').map(|inside| Term::Call(Function::Floor, vec![inside])),
            '⌈' => self.group('⌉').map(|inside| Term::Call(Function::Ceiling, vec![inside])),
            '∞' => Ok(Term::Constant(Constant::Infinity)),
            _ => Err(ParseError::Unreadable),
        }
    }

    /// One scalar up to `close`.
    pub(super) fn group(&mut self, close: char) -> Parsed<Term> {
        let (in_set, bars) = (std::mem::take(&mut self.in_set), std::mem::take(&mut self.bars));
        let mut inside = self.sum()?;
        if matches!(self.peek(), Some(Token::Command(name)) if name == "over") {
            self.at += 1;
            inside = inside.over(self.sum()?);
        } else if matches!(self.peek(), Some(Token::Command(name)) if name == "choose") {
            self.at += 1;
            let below = self.sum()?;
            inside = Term::Call(crate::term::Function::Binomial, vec![inside, below]);
        }
        (self.in_set, self.bars) = (in_set, bars);
        self.expect(close)?;
        Ok(inside)
    }

    /// A number, and the proper fraction that may stand behind it: `2\frac{3}{4}`, `2 3/4`.
    fn mixed(&mut self, whole: Number) -> Parsed<Term> {
        let start = self.at;
        if whole.decimals.is_none() && whole.value.is_integer() {
            if let Some(fraction) = self.fraction_of_numerals() {
                return Ok(Term::Sum(vec![Term::Number(whole), fraction]));
            }
            self.at = start;
        }
        Ok(Term::Number(whole))
    }

    fn fraction_of_numerals(&mut self) -> Option<Term> {
        let (above, below) = match self.tokens.get(self.at..)? {
            [Token::Number(above), Token::Sign('/'), Token::Number(below), ..] => {
                self.at += 3;
                (Term::Number(above.clone()), Term::Number(below.clone()))
            }
            [Token::Command(name), ..] if name == "frac" => {
                self.at += 1;
                match self.fraction().ok()? {
                    Term::Quotient(above, below) => (*above, *below),
                    _ => return None,
                }
            }
            _ => return None,
        };
        let proper = match (&above, &below) {
            (Term::Number(above), Term::Number(below)) => {
                above.value < below.value
                    && above.value.is_integer()
                    && below.value.is_integer()
                    && above.decimals.is_none()
                    && below.decimals.is_none()
            }
            _ => false,
        };
        proper.then(|| above.over(below))
    }
}

/// The term with the sign that stands before it.
fn signed(sign: char, term: Term) -> Term {
    match sign {
        '-' => term.negative(),
        '±' => Term::PlusMinus { upper: true, term: Box::new(term) },
        '∓' => Term::PlusMinus { upper: false, term: Box::new(term) },
        _ => term,
    }
}

/// The only term, or what several make.
fn only_or(mut terms: Vec<Term>, make: fn(Vec<Term>) -> Term) -> Term {
    if terms.len() == 1 { terms.remove(0) } else { make(terms) }
}
