//! Letters: variables with their indices, numbers with a name, unknown functions.

use crate::parser::{ParseError, Parsed, Parser};
use crate::term::{Constant, Term};
use crate::token::{CLOSE_SET, OPEN_SET, Token};

impl Parser<'_> {
    /// A letter and what belongs to it.
    pub(super) fn name(&mut self) -> Parsed<Term> {
        let start = self.at;
        let Some(Token::Name(letter)) = self.peek().cloned() else {
            return Err(ParseError::Unreadable);
        };
        self.at += 1;
        let mut name = letter;
        if self.takes('_') {
            name = format!("{name}_{}", self.label()?);
        }
        while self.takes('\'') {
            name.push('\'');
        }
        if let Some(
            [
                Token::Sign('^'),
                Token::Sign('{'),
                Token::Sign('-'),
                Token::Number(number),
                Token::Sign('}'),
                Token::Sign('('),
                ..,
            ],
        ) = self.tokens.get(self.at..)
            && matches!(name.as_str(), "f" | "g" | "h")
            && number.small() == Some(1)
        {
            name.push_str("^-1");
            self.at += 6;
            return Ok(Term::Applied(name, self.several(')')?));
        }
        if let Some(constant) = constant(&name)
            && !self.bound.contains(&name)
        {
            return Ok(Term::Constant(constant));
        }
        if self.next_is('(') && self.is_function(&name, start) {
            self.at += 1;
            let arguments = self.several(')')?;
            return Ok(Term::Applied(name, arguments));
        }
        Ok(Term::Variable(name))
    }

    /// Whether the bracket here holds the arguments of `name`, rather than a factor.
    fn is_function(&self, name: &str, start: usize) -> bool {
        let Some(end) = self.tokens[self.at..].iter().position(|token| token.is(')')) else {
            return false;
        };
        let inside = &self.tokens[self.at + 1..self.at + end];
        let itself = |token: &Token| matches!(token, Token::Name(letter) if letter == name);
        let usual = matches!(name, "f" | "g" | "h" | "F" | "G" | "H");
        let simple = inside.iter().all(|token| {
            matches!(token, Token::Name(_) | Token::Number(_) | Token::Sign(',' | '_'))
        });
        let defined = self.tokens.get(self.at + end + 1).is_some_and(|token| token.is('='));
        let leads =
            start == 0 || matches!(self.tokens[start - 1], Token::Sign(',' | ';') | Token::Word(_));
        // In `mg(…)` it is a factor.
        let factor = start > 0 && matches!(self.tokens[start - 1], Token::Name(_));
        !inside.is_empty()
            && !factor
            && !inside.iter().any(itself)
            && (usual || (simple && defined && leads && start < self.at))
    }

    /// An index or what an accent stands over, as one label.
    pub(super) fn label(&mut self) -> Parsed<String> {
        let Some(token) = self.peek() else { return Err(ParseError::Unreadable) };
        if !token.is('{') {
            let label = spelled(token);
            self.at += 1;
            return Ok(label);
        }
        let (mut depth, mut label) = (0_usize, String::new());
        while let Some(token) = self.peek() {
            self.at += 1;
            match token {
                Token::Sign('{') => depth += 1,
                Token::Sign('}') => depth -= 1,
                other => label.push_str(&spelled(other)),
            }
            if depth == 0 {
                return Ok(label);
            }
        }
        Err(ParseError::Unreadable)
    }
}

fn constant(name: &str) -> Option<Constant> {
    Some(match name {
        "pi" => Constant::Pi,
        "e" => Constant::E,
        "i" => Constant::I,
        _ => return None,
    })
}

/// A token as it stands in a label.
fn spelled(token: &Token) -> String {
    match token {
        Token::Number(number) => number.value.to_string(),
        Token::Name(text) | Token::Word(text) | Token::Command(text) => text.clone(),
        Token::Function(function) => format!("{function:?}"),
        Token::Sign(OPEN_SET) => "{".into(),
        Token::Sign(CLOSE_SET) => "}".into(),
        Token::Sign(sign) => sign.to_string(),
    }
}
