//! What follows a number: percent signs, magnitudes, units.

use super::{ParseError, Parsed, Parser};
use crate::lexicon;
use crate::number::{Number, ten_to};
use crate::term::Term;
use crate::token::Token;

/// Longer phrases are prose.
const MOST_WORDS: usize = 5;

impl Parser<'_> {
    /// A percent sign, spelled out.
    pub(super) fn takes_percent(&mut self) -> bool {
        let percent = self.peek().is_some_and(|token| token.says("percent"));
        self.at += usize::from(percent);
        percent
    }

    /// "million" and the like, multiplied into the term.
    pub(super) fn magnitudes(&mut self, mut term: Term) -> Parsed<Term> {
        while let Some(Token::Word(word)) = self.peek()
            && let Some(power) = lexicon::magnitude(word)
        {
            self.at += 1;
            let factor = Number::whole(ten_to(power as usize));
            term = Term::Product(vec![term, Term::Number(factor)]);
        }
        Ok(term)
    }

    /// The unit here, if there is one, in the spelling that all spellings become.
    pub(super) fn unit(&mut self) -> Parsed<Option<String>> {
        let mut unit = String::new();
        let (mut words, mut squared) = (0, None);
        while let Some(word) = self.unit_word() {
            if lexicon::qualifies(&word) || words == MOST_WORDS {
                return Err(ParseError::Unreadable);
            }
            words += 1;
            match lexicon::unit(&word) {
                Some("square") => squared = Some('2'),
                Some("cubic") => squared = Some('3'),
                Some(known) => self.append(&mut unit, known),
                None => self.append(&mut unit, &singular(&word)),
            }
            if !unit.is_empty()
                && let Some(power) = self.unit_power().or(squared.take())
            {
                unit.push('^');
                unit.push(power);
            }
        }
        if squared.is_some() || unit.ends_with('/') {
            return Err(ParseError::Unreadable);
        }
        // Counting in units, as it says so often, is counting in nothing.
        let unit = unit.trim_start_matches(' ').to_owned();
        Ok((!unit.is_empty()).then_some(unit))
    }

    fn append(&self, unit: &mut String, word: &str) {
        if !unit.is_empty() && !unit.ends_with('/') && word != "/" {
            unit.push(' ');
        }
        unit.push_str(word);
    }

    /// The next word of a unit; a slash between two of them is a word, too.
    fn unit_word(&mut self) -> Option<String> {
        let word = match self.tokens.get(self.at..)? {
            [Token::Word(word), ..]
                if word.eq_ignore_ascii_case("percent")
                    || ((word == "and" || word == "or") && self.separates(self.at)) =>
            {
                return None;
            }
            [Token::Word(word), ..] => word.clone(),
            [Token::Sign('/'), Token::Word(_), ..] if self.at > 0 => "per".to_owned(),
            [Token::Name(name), ..] if self.after_degrees() && (name == "C" || name == "F") => {
                name.clone()
            }
            _ => return None,
        };
        self.at += 1;
        Some(word)
    }

    /// Whether the word here stands between two answers, and is no end of a phrase.
    fn separates(&self, at: usize) -> bool {
        self.tokens.get(at + 1).is_some_and(|next| {
            !matches!(next, Token::Word(word)
            if lexicon::qualifies(word))
        })
    }

    fn after_degrees(&self) -> bool {
        self.at > 0 && matches!(self.tokens[self.at - 1], Token::Sign('°' | '}'))
    }

    fn unit_power(&mut self) -> Option<char> {
        let (number, length) = match self.tokens.get(self.at..)? {
            [Token::Sign('^'), Token::Number(number), ..] => (number, 2),
            [Token::Sign('^'), Token::Sign('{'), Token::Number(number), Token::Sign('}'), ..] => {
                (number, 4)
            }
            _ => return None,
        };
        let power = char::from_digit(number.small()?, 10)?;
        self.at += length;
        Some(power)
    }
}

/// One of what the word counts.
fn singular(word: &str) -> String {
    let lower = word.to_lowercase();
    match lower.as_str() {
        "people" | "persons" => "person".into(),
        "men" => "man".into(),
        "women" => "woman".into(),
        "children" => "child".into(),
        _ if lower.ends_with("ies") && lower.len() > 4 => format!("{}y", &lower[..lower.len() - 3]),
        _ if lower.ends_with("sses") || lower.ends_with("xes") || lower.ends_with("ches") => {
            lower[..lower.len() - 2].into()
        }
        _ if lower.ends_with('s') && !lower.ends_with("ss") && lower.len() > 2 => {
            lower[..lower.len() - 1].into()
        }
        _ => lower,
    }
}
