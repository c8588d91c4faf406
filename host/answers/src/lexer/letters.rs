//! Letters: names, functions and words.

use super::{Lexer, Mode, is_word};
use crate::lexicon;
use crate::term::Function;
use crate::token::{CLOSE_SET, Token};
use crate::verdict::Reason;

impl Lexer {
    pub(super) fn letters(&mut self) -> Result<(), Reason> {
        let start = self.at;
        while self.peek(0).is_some_and(|next| next.is_ascii_alphabetic()) || self.abbreviates(start)
        {
            self.at += 1;
        }
        let run: String = self.text[start..self.at].iter().collect();
        match self.mode {
            Mode::Text => self.tokens.push(Token::Word(run)),
            Mode::Upright if run.len() == 1 && !self.after_number_unit(&run) => {
                self.tokens.push(Token::Name(run));
            }
            Mode::Upright => self.upright(run),
            Mode::Math => self.math_letters(&run, start),
        }
        Ok(())
    }

    pub(super) fn upright(&mut self, run: String) {
        match Function::named(&run).filter(|_| run != "min") {
            Some(function) => self.tokens.push(Token::Function(function)),
            None => self.tokens.push(Token::Word(run)),
        }
    }

    /// Whether a single upright letter is a unit: `5\mathrm{m}`, but not `3\mathrm{i}`.
    pub(super) fn after_number_unit(&self, letter: &str) -> bool {
        self.nested > 0 && !matches!(letter, "i" | "e" | "d") && lexicon::unit(letter).is_some()
    }

    /// Whether the point here belongs to an abbreviation such as `p.m.`.
    pub(super) fn abbreviates(&self, start: usize) -> bool {
        let length = self.at - start;
        if self.peek(0) != Some('.') || self.mode == Mode::Upright {
            return false;
        }
        let run: String = self.text[start..self.at].iter().collect::<String>().to_lowercase();
        (length == 1 && matches!(run.as_str(), "a" | "p") && self.peek(1) == Some('m'))
            || matches!(run.as_str(), "a.m" | "p.m")
    }

    /// Letters outside of text: names, unless they are a function or a word.
    pub(super) fn math_letters(&mut self, run: &str, start: usize) {
        if run.len() == 1 {
            return self.letter(run, start);
        }
        match run {
            "pi" => return self.tokens.push(Token::Name("pi".into())),
            "sqrt" => return self.tokens.push(Token::Command("√".into())),
            "inf" | "infinity" | "Infinity" | "oo" => return self.sign('∞'),
            "union" => return self.sign('∪'),
            _ => {}
        }
        let open = self.peek(0) == Some('(');
        if let Some(function) = Function::named(run).filter(|_| open || run != "min") {
            return self.tokens.push(Token::Function(function));
        }
        let behind_value = matches!(self.tokens.last(), Some(Token::Number(_)))
            || (self.spaced && matches!(self.tokens.last(), Some(Token::Sign(')' | '}'))));
        let is_unit = behind_value && lexicon::symbol(run).is_some();
        let in_phrase = matches!(self.tokens.last(), Some(Token::Word(_)));
        if is_unit || in_phrase || lexicon::is_short_word(run) || run.contains('.') {
            return self.tokens.push(Token::Word(run.into()));
        }
        for name in ["sin", "cos", "tan", "log", "ln"] {
            let rest = run.strip_prefix(name).filter(|rest| rest.len() <= 2);
            if let (Some(rest), Some(function)) = (rest, Function::named(name)) {
                self.tokens.push(Token::Function(function));
                return self.names(rest);
            }
        }
        let after_number = self.spaced && matches!(self.tokens.last(), Some(Token::Number(_)));
        let product = run.len() <= if after_number { 2 } else { 3 } || !is_word(run);
        if product { self.names(run) } else { self.tokens.push(Token::Word(run.into())) }
    }

    pub(super) fn names(&mut self, run: &str) {
        self.tokens.extend(run.chars().map(|letter| Token::Name(letter.to_string())));
    }

    pub(super) fn letter(&mut self, letter: &str, start: usize) {
        let after_number = self.spaced && matches!(self.tokens.last(), Some(Token::Number(_)));
        let rest: String =
            self.text[self.at..].iter().filter(|next| !next.is_whitespace()).take(4).collect();
        if letter == "x" && after_number && (rest.starts_with("10^") || rest.starts_with("10**")) {
            return self.sign('*');
        }
        if letter == "U" && self.between_brackets() {
            return self.sign('∪');
        }
        // At the end, or with nothing but its power behind it.
        let last = matches!(rest.as_str(), "" | "^2" | "^3" | "²" | "³" | "^{2}" | "^{3}");
        // What follows a number and a space at the end, as in `35 m`.
        if after_number && last && start > 0 && lexicon::unit(letter).is_some() {
            return self.tokens.push(Token::Word(letter.into()));
        }
        self.tokens.push(Token::Name(letter.into()));
    }

    pub(super) fn between_brackets(&self) -> bool {
        let closed = matches!(self.tokens.last(), Some(Token::Sign(')' | ']' | CLOSE_SET)));
        let next = self.text[self.at..].iter().find(|next| !next.is_whitespace());
        closed && matches!(next, Some('(' | '[' | '{' | '\\'))
    }
}
