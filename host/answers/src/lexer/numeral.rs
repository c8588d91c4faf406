//! Numbers, as they are written.

use super::{Commas, Lexer};
use crate::number::{MOST_SHIFT, Number};
use crate::token::Token;
use crate::verdict::Reason;

impl Lexer {
    pub(super) fn digits(&mut self) -> String {
        let start = self.at;
        while self.peek(0).is_some_and(|next| next.is_ascii_digit()) {
            self.at += 1;
        }
        self.text[start..self.at].iter().collect()
    }

    /// Whether three digits, and no fourth, stand `ahead`.
    pub(super) fn three_digits(&self, ahead: usize) -> bool {
        let digit = |index| self.peek(ahead + index).is_some_and(|next| next.is_ascii_digit());
        digit(0) && digit(1) && digit(2) && !digit(3)
    }

    /// The length of what separates a group of three digits from the digits before it.
    pub(super) fn group_separator(&self) -> Option<(usize, bool)> {
        const SURE: [&str; 9] =
            ["{,}", "\\,", ",\\!", ",\\! ", "\\!,\\!", "\u{202f}", "\u{2009}", "\\;", "{,\\!}"];
        for separator in SURE {
            let length = separator.chars().count();
            if self.follows(separator) && self.three_digits(length) {
                return Some((length, false));
            }
        }
        let comma = self.commas == Commas::Group && self.brackets == 0 && self.peek(0) == Some(',');
        (comma && self.three_digits(1)).then_some((1, true))
    }

    pub(super) fn number(&mut self) -> Result<(), Reason> {
        let mut whole = self.digits();
        if (1..=3).contains(&whole.len()) {
            while let Some((length, ambiguous)) = self.group_separator() {
                self.at += length;
                self.grouped |= ambiguous;
                whole.push_str(&self.digits());
            }
        }
        let mut fraction = None;
        if self.peek(0) == Some('.') && self.point_belongs() {
            self.at += 1;
            fraction = Some(self.digits());
        }
        let period = if fraction.is_some() { self.period() } else { String::new() };
        let number =
            Number::from_digits(&whole, fraction.as_deref(), &period).ok_or(Reason::TooLarge)?;
        match self.exponent()? {
            None => self.tokens.push(Token::Number(number)),
            Some(power) => self.scaled(number, power)?,
        }
        Ok(())
    }

    /// Whether the point here is a decimal point, and no full stop.
    pub(super) fn point_belongs(&self) -> bool {
        match self.peek(1) {
            Some(next) if next.is_ascii_digit() => true,
            Some('\\') => ["\\overline", "\\bar", "\\dot"].iter().any(|over| {
                over.chars().enumerate().all(|(index, wanted)| self.peek(1 + index) == Some(wanted))
                    && !self.peek(1 + over.len()).is_some_and(|next| next.is_ascii_alphabetic())
            }),
            _ => false,
        }
    }

    /// The digits under a bar that end a decimal.
    pub(super) fn period(&mut self) -> String {
        for over in ["\\overline{", "\\bar{", "\\dot{"] {
            if !self.follows(over) {
                continue;
            }
            let start = self.at;
            self.at += over.len();
            let digits = self.digits();
            if self.peek(0) == Some('}') && !digits.is_empty() {
                self.at += 1;
                return digits;
            }
            self.at = start;
        }
        String::new()
    }

    pub(super) fn exponent(&mut self) -> Result<Option<String>, Reason> {
        if !matches!(self.peek(0), Some('e' | 'E')) {
            return Ok(None);
        }
        let signed = matches!(self.peek(1), Some('+' | '-' | '−'));
        if !self.peek(1 + usize::from(signed)).is_some_and(|next| next.is_ascii_digit()) {
            return Ok(None);
        }
        let minus = signed && self.peek(1) != Some('+');
        self.at += 1 + usize::from(signed);
        let digits = self.digits();
        Ok(Some(if minus { format!("-{digits}") } else { digits }))
    }

    /// A number times a power of ten, as one number where that is not too long, and else as
    /// the product that it is.
    pub(super) fn scaled(&mut self, number: Number, power: String) -> Result<(), Reason> {
        let digits = power.trim_start_matches('-');
        if let Some(exponent) =
            power.parse::<i64>().ok().filter(|power| power.unsigned_abs() <= u64::from(MOST_SHIFT))
        {
            self.tokens.extend(number.shifted(exponent).map(|number| {
                // A text is no longer than MOST_BYTES.
                let written = number.written + digits.len() as u32;
                Token::Number(Number { written, ..number })
            }));
            return Ok(());
        }
        let exponent = Number::from_digits(digits, None, "").ok_or(Reason::TooLarge)?;
        let ten = Token::Number(Number::whole(10));
        self.tokens.extend([Token::Sign('('), Token::Number(number), Token::Sign('*'), ten]);
        self.tokens.extend([Token::Sign('^'), Token::Sign('(')]);
        if power.starts_with('-') {
            self.sign('-');
        }
        self.tokens.extend([Token::Number(exponent), Token::Sign(')'), Token::Sign(')')]);
        Ok(())
    }
}
