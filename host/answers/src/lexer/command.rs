//! Commands of LaTeX, and what stands in their braces.

use super::{Lexer, MOST_NESTED, Mode, is_structure};
use crate::term::Function;
use crate::token::{CLOSE_SET, OPEN_SET, Token, sign_of};
use crate::verdict::Reason;

impl Lexer {
    pub(super) fn command(&mut self) -> Result<(), Reason> {
        self.at += 1;
        let start = self.at;
        while self.peek(0).is_some_and(|next| next.is_ascii_alphabetic()) {
            self.at += 1;
        }
        if self.at == start {
            let Some(escaped) = self.peek(0) else { return Ok(()) };
            self.at += 1;
            return self.escaped(escaped);
        }
        let name: String = self.text[start..self.at].iter().collect();
        self.named_command(&name)
    }

    pub(super) fn escaped(&mut self, character: char) -> Result<(), Reason> {
        match character {
            ',' | ';' | ':' | '!' | ' ' | '>' | '\n' | '/' => self.spaced = true,
            '(' | ')' | '[' | ']' => {}
            _ => match sign_of(&character.to_string()) {
                Some(sign) => self.bracketed_sign(sign),
                None => self.sign(character),
            },
        }
        Ok(())
    }

    pub(super) fn bracketed_sign(&mut self, sign: char) {
        match sign {
            OPEN_SET | '⟨' => self.brackets += 1,
            CLOSE_SET | '⟩' => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
        self.sign(sign);
    }

    pub(super) fn named_command(&mut self, name: &str) -> Result<(), Reason> {
        if let Some(sign) = sign_of(name) {
            self.bracketed_sign(sign);
            return Ok(());
        }
        if let Some(function) = Function::named(name) {
            self.tokens.push(Token::Function(function));
            return Ok(());
        }
        match name {
            "left" | "right" | "middle" => {
                if self.peek(0) == Some('.') {
                    self.at += 1;
                }
            }
            "angle" | "measuredangle" => {}
            "big" | "Big" | "bigg" | "Bigg" | "bigl" | "bigr" | "Bigl" | "Bigr" | "biggl"
            | "biggr" | "Biggl" | "Biggr" | "displaystyle" | "textstyle" | "limits"
            | "nolimits" | "rm" | "bf" | "it" | "quad" | "qquad" | "thinspace" | "enspace"
            | "space" | "scriptstyle" | "hfill" | "nonumber" | "newline" | "par" | "noindent" => {
                self.spaced = true;
            }
            "dfrac" | "tfrac" | "cfrac" | "frac" => self.push_command("frac"),
            "dbinom" | "tbinom" | "binom" => self.push_command("binom"),
            "dot" | "bar" | "vec" | "hat" | "tilde" | "overrightarrow" | "widehat" | "overline" => {
                self.push_command(if name == "overline" { "bar" } else { name });
            }
            "text" | "textrm" | "textnormal" | "mbox" | "textbf" | "textit" | "texttt"
            | "textsf" | "emph" | "hbox" => self.group(Mode::Text)?,
            "mathrm" | "operatorname" | "mathsf" | "mathtt" => self.group(Mode::Upright)?,
            "mathbf" | "boldsymbol" | "bm" | "mathit" | "mathcal" | "mathnormal" | "boxed"
            | "fbox" | "underline" | "mathord" => self.group(Mode::Math)?,
            "mathbb" => self.blackboard(),
            "begin" | "end" => self.environment(name),
            _ if is_structure(name) => self.push_command(name),
            _ => self.tokens.push(Token::Name(name.into())),
        }
        Ok(())
    }

    pub(super) fn push_command(&mut self, name: &str) {
        self.tokens.push(Token::Command(name.into()));
    }

    /// The text of the braces that open here, if they close.
    pub(super) fn braces(&mut self) -> Option<String> {
        while self.peek(0).is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        if self.peek(0) != Some('{') {
            return None;
        }
        let (mut depth, mut end) = (0_usize, self.at);
        loop {
            match self.text.get(end)? {
                '\\' => end += 1,
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            end += 1;
            if depth == 0 {
                break;
            }
        }
        let inside = self.text.get(self.at + 1..end - 1)?.iter().collect();
        self.at = end;
        Some(inside)
    }

    /// What a font is applied to, read for itself.
    pub(super) fn group(&mut self, mode: Mode) -> Result<(), Reason> {
        let Some(inside) = self.braces() else { return Ok(()) };
        if self.nested >= MOST_NESTED {
            return Err(Reason::TooLarge);
        }
        // Text around a formula, as `\text{(E)}` or `\textbf{5.5}`, reads as the formula.
        let mut inner = Lexer::new(&inside, self.commas, mode, self.nested + 1);
        inner.brackets = self.brackets;
        let after_value =
            matches!(self.tokens.last(), Some(Token::Number(_) | Token::Sign('}' | ')' | '°')));
        let letter = |c: &char| c.is_ascii_alphabetic();
        let inside: Vec<char> = inside.chars().collect();
        let words = inside.windows(2).any(|pair| pair.iter().all(letter));
        if mode == Mode::Text && !words && !after_value {
            inner.mode = Mode::Math;
        }
        inner.run()?;
        self.grouped |= inner.grouped;
        // Upright letters that are no words belong together as one name only in an index.
        self.tokens.append(&mut inner.tokens);
        Ok(())
    }

    pub(super) fn blackboard(&mut self) {
        let letter = self.braces().or_else(|| {
            let letter = self.text[self.at..].iter().find(|next| !next.is_whitespace())?;
            self.at = self.text.len().min(self.at + 1 + usize::from(self.peek(0) == Some(' ')));
            Some(letter.to_string())
        });
        let letter = letter.unwrap_or_default();
        match sign_of(letter.trim()) {
            Some(sign) => self.sign(sign),
            None => self.tokens.push(Token::Name(letter.trim().into())),
        }
    }

    pub(super) fn environment(&mut self, name: &str) {
        let kind = self.braces().unwrap_or_default();
        if kind.starts_with("array") && name == "begin" {
            // What the columns look like.
            self.braces();
        }
        let kind = kind.trim_end_matches('*');
        self.push_command(&format!("{name} {kind}"));
    }
}
