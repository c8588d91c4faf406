//! Brackets with several things in them: tuples, intervals, sets, matrices.

use super::{ParseError, Parsed, Parser};
use crate::answer::Answer;
use crate::token::{CLOSE_SET, NEW_ROW, OPEN_SET, Token};

impl Parser<'_> {
    /// Whether what begins here is no scalar.
    pub(super) fn at_structure(&self) -> bool {
        let Some(token) = self.peek() else { return false };
        match token {
            Token::Sign(OPEN_SET | '⟨' | 'ℝ' | 'ℤ' | 'ℕ' | 'ℚ' | 'ℂ' | '∅') => true,
            Token::Sign(open @ ('(' | '[')) => {
                self.encloses_matrix()
                    || self
                        .bracket()
                        .is_some_and(|bracket| bracket.separated || bracket.close != closing(*open))
            }
            Token::Sign('{') => self.bracket().is_some_and(|bracket| bracket.separated),
            Token::Command(name) => name.starts_with("begin "),
            _ => false,
        }
    }

    fn encloses_matrix(&self) -> bool {
        matches!(self.tokens.get(self.at + 1), Some(Token::Command(name)) if name.starts_with("begin "))
    }

    pub(super) fn structure(&mut self) -> Parsed<Answer> {
        match self.peek() {
            Some(Token::Command(_)) => self.matrix(),
            Some(&Token::Sign(known @ ('ℝ' | 'ℤ' | 'ℕ' | 'ℚ' | 'ℂ' | '∅'))) => {
                self.at += 1;
                self.known(known)
            }
            Some(&Token::Sign(OPEN_SET | '{')) => {
                self.at += 1;
                self.set()
            }
            Some(&Token::Sign(open)) if self.encloses_matrix() => {
                self.at += 1;
                let matrix = self.matrix()?;
                self.expect(closing(open))?;
                Ok(matrix)
            }
            Some(&Token::Sign(open)) => {
                self.at += 1;
                self.tuple(open)
            }
            _ => Err(ParseError::Unreadable),
        }
    }

    /// A set by its letter: with a sign or a power it is another one.
    fn known(&mut self, letter: char) -> Parsed<Answer> {
        if self.next_is('^') || self.next_is('_') {
            return Err(ParseError::Unreadable);
        }
        Ok(Answer::Known(letter))
    }

    fn tuple(&mut self, open: char) -> Parsed<Answer> {
        let (in_set, bars) = (std::mem::take(&mut self.in_set), std::mem::take(&mut self.bars));
        let mut items = vec![self.piece()?];
        while self.takes(',') || self.takes(';') {
            items.push(self.piece()?);
        }
        (self.in_set, self.bars) = (in_set, bars);
        let Some(&Token::Sign(close @ (')' | ']' | '⟩'))) = self.peek() else {
            return Err(ParseError::Unreadable);
        };
        self.at += 1;
        if (open == '⟨') != (close == '⟩') {
            return Err(ParseError::Unreadable);
        }
        Ok(Answer::Tuple { open, items, close })
    }

    fn set(&mut self) -> Parsed<Answer> {
        let closes = |parser: &mut Self| parser.takes(CLOSE_SET) || parser.takes('}');
        if closes(self) {
            return Ok(Answer::Known('∅'));
        }
        let (in_set, bars) = (std::mem::replace(&mut self.in_set, true), self.bars);
        self.bars = 0;
        let mut items = vec![self.piece()?];
        let condition = if self.takes('|') || self.takes(':') {
            self.in_set = false;
            Some(self.list()?)
        } else {
            while self.joiner().is_some() {
                items.push(self.piece()?);
            }
            None
        };
        (self.in_set, self.bars) = (in_set, bars);
        if !closes(self) {
            return Err(ParseError::Unreadable);
        }
        match (condition, items.as_slice()) {
            (None, _) => Ok(Answer::Set(items)),
            (Some(condition), [element]) => {
                Ok(Answer::Builder(Box::new(element.clone()), Box::new(condition)))
            }
            _ => Err(ParseError::Unreadable),
        }
    }

    fn matrix(&mut self) -> Parsed<Answer> {
        let Some(Token::Command(name)) = self.peek() else { return Err(ParseError::Unreadable) };
        let bars = match name.as_str() {
            "begin pmatrix" | "begin bmatrix" | "begin matrix" | "begin Bmatrix"
            | "begin smallmatrix" | "begin array" => false,
            "begin vmatrix" => true,
            _ => return Err(ParseError::Unreadable),
        };
        self.at += 1;
        let mut rows = vec![Vec::new()];
        loop {
            if matches!(self.peek(), Some(Token::Command(name)) if name.starts_with("end ")) {
                self.at += 1;
                break;
            }
            // There is always a last row.
            let Some(row) = rows.last_mut() else { return Err(ParseError::Unreadable) };
            let cell = self.set_or_value()?;
            row.push(cell);
            if self.takes(NEW_ROW) {
                rows.push(Vec::new());
            } else if !self.takes('&')
                && !matches!(self.peek(), Some(Token::Command(name)) if name.starts_with("end "))
            {
                return Err(ParseError::Unreadable);
            }
        }
        rows.retain(|row| !row.is_empty());
        let even = rows.windows(2).all(|pair| pair[0].len() == pair[1].len());
        if rows.is_empty() || !even {
            return Err(ParseError::Unreadable);
        }
        Ok(Answer::Matrix { bars, rows })
    }
}

/// The bracket that closes `open` where it only groups.
pub(super) fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        '⟨' => '⟩',
        OPEN_SET => CLOSE_SET,
        _ => '}',
    }
}
