//! From text to tokens.

mod command;
mod letters;
mod numeral;

use crate::number::Number;
use crate::token::{IMPLIES, Token, plain_sign};
use crate::verdict::Reason;

/// Longer answers are not read.
pub const MOST_BYTES: usize = 8_192;
/// How deep text may lie in text.
const MOST_NESTED: usize = 16;

/// What the comma in `1,234` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commas {
    /// It groups digits, outside of brackets.
    Group,
    /// It separates two numbers.
    Separate,
}

/// Text as tokens.
#[derive(Debug)]
pub struct Lexed {
    /// The tokens.
    pub tokens: Vec<Token>,
    /// Whether a comma was taken to group digits that could separate numbers as well.
    pub grouped: bool,
}

/// Read `text`.
///
/// # Errors
/// If it is too long, or nested too deeply.
pub fn lex(text: &str, commas: Commas) -> Result<Lexed, Reason> {
    if text.len() > MOST_BYTES {
        return Err(Reason::TooLarge);
    }
    let mut lexer = Lexer::new(text, commas, Mode::Math, 0);
    lexer.run()?;
    Ok(Lexed { tokens: lexer.tokens, grouped: lexer.grouped })
}

/// TeX's mode: what letters mean depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Letters are names, unless they are words.
    Math,
    /// Letters are words.
    Text,
    /// Letters are words, but a single one is a name (`\mathrm{i}`).
    Upright,
}

struct Lexer {
    text: Vec<char>,
    at: usize,
    tokens: Vec<Token>,
    /// How many brackets are open in which a comma separates.
    brackets: usize,
    commas: Commas,
    mode: Mode,
    nested: usize,
    grouped: bool,
    /// Whether white space came before what is read now.
    spaced: bool,
    dollars_delimit: bool,
}

impl Lexer {
    fn new(text: &str, commas: Commas, mode: Mode, nested: usize) -> Lexer {
        let text: Vec<char> = text.chars().collect();
        let dollars_delimit = dollars_delimit(&text);
        Lexer {
            text,
            at: 0,
            tokens: Vec::new(),
            brackets: 0,
            commas,
            mode,
            nested,
            grouped: false,
            spaced: false,
            dollars_delimit,
        }
    }

    fn run(&mut self) -> Result<(), Reason> {
        while let Some(character) = self.peek(0) {
            if character.is_whitespace() || is_invisible(character) {
                self.at += 1;
                self.spaced = true;
                continue;
            }
            self.token(character)?;
            self.spaced = false;
        }
        Ok(())
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn sign(&mut self, sign: char) {
        self.tokens.push(Token::Sign(sign));
    }

    fn token(&mut self, character: char) -> Result<(), Reason> {
        if character.is_ascii_digit()
            || (character == '.' && self.peek(1).is_some_and(|next| next.is_ascii_digit()))
        {
            return self.number();
        }
        if character.is_ascii_alphabetic() {
            return self.letters();
        }
        if character == '\\' {
            return self.command();
        }
        self.at += 1;
        match character {
            '$' if self.dollars_delimit => {}
            '$' => self.sign('$'),
            '~' if self.mode != Mode::Text => self.spaced = true,
            '²' | '³' | '¹' => self.superscript(character),
            '√' => self.tokens.push(Token::Command("√".into())),
            'π' => self.tokens.push(Token::Name("pi".into())),
            'θ' => self.tokens.push(Token::Name("theta".into())),
            'α'..='ω' | 'Α'..='Ω' => self.tokens.push(Token::Name(character.to_string())),
            _ => match vulgar(character) {
                Some((above, below)) => self.fraction(above, below),
                None => self.other(character),
            },
        }
        Ok(())
    }

    /// A fraction that is one character.
    fn fraction(&mut self, above: u32, below: u32) {
        self.push_command("frac");
        for part in [above, below] {
            self.sign('{');
            self.tokens.push(Token::Number(Number::whole(part)));
            self.sign('}');
        }
    }

    fn superscript(&mut self, character: char) {
        let power = match character {
            '²' => 2,
            '³' => 3,
            _ => 1,
        };
        self.sign('^');
        self.tokens.push(Token::Number(Number::whole(power)));
    }

    fn other(&mut self, character: char) {
        let next = self.peek(0);
        let doubled = match (character, next) {
            ('<', Some('=')) => Some('≤'),
            ('>', Some('=')) => Some('≥'),
            ('!', Some('=')) => Some('≠'),
            ('*', Some('*')) => Some('^'),
            ('=', Some('>')) => Some(IMPLIES),
            ('-', Some('>')) => Some('→'),
            ('=', Some('=')) => Some('='),
            _ => None,
        };
        if let Some(sign) = doubled {
            self.at += 1;
            return self.sign(sign);
        }
        if character == '+' && self.follows("/-") {
            self.at += 2;
            return self.sign('±');
        }
        if character == '.' && self.follows("..") {
            self.at += 2;
            return self.sign('…');
        }
        // A dash between digits is a range, a dash before a number its sign.
        let after_digit = matches!(self.tokens.last(), Some(Token::Number(_)));
        if character == '–' && after_digit && !self.spaced {
            return self.sign('…');
        }
        let sign = plain_sign(character).unwrap_or(character);
        match sign {
            '(' | '[' => self.brackets += 1,
            ')' | ']' => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
        self.sign(sign);
    }

    fn follows(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(index, wanted)| self.peek(index) == Some(wanted))
    }
}

/// What a fraction of one character has above and below its line.
pub fn vulgar(character: char) -> Option<(u32, u32)> {
    Some(match character {
        '½' => (1, 2),
        '⅓' => (1, 3),
        '⅔' => (2, 3),
        '¼' => (1, 4),
        '¾' => (3, 4),
        '⅕' => (1, 5),
        '⅖' => (2, 5),
        '⅗' => (3, 5),
        '⅘' => (4, 5),
        '⅙' => (1, 6),
        '⅚' => (5, 6),
        '⅐' => (1, 7),
        '⅛' => (1, 8),
        '⅜' => (3, 8),
        '⅝' => (5, 8),
        '⅞' => (7, 8),
        '⅑' => (1, 9),
        '⅒' => (1, 10),
        _ => return None,
    })
}

fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{feff}' | '\u{2061}' | '\u{2062}')
}

/// Commands that the parser must know, or must not take for a letter.
fn is_structure(name: &str) -> bool {
    matches!(
        name,
        "sqrt"
            | "over"
            | "sum"
            | "prod"
            | "int"
            | "iint"
            | "oint"
            | "lim"
            | "limsup"
            | "liminf"
            | "choose"
            | "pmod"
            | "bmod"
            | "mod"
            | "partial"
            | "nabla"
            | "stackrel"
            | "overset"
            | "underset"
            | "underbrace"
            | "overbrace"
            | "cancel"
            | "ref"
            | "frac"
            | "tag"
            | "not"
            | "forall"
            | "exists"
            | "color"
            | "textcolor"
            | "hline"
            | "substack"
    )
}

/// Whether letters may be a word: `abcd`, `GMmr` and `mgt` are none.
fn is_word(run: &str) -> bool {
    let bytes = run.as_bytes();
    let alphabetic = bytes.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    let capitals = bytes.iter().skip(1).filter(|byte| byte.is_ascii_uppercase()).count();
    let mixed = capitals > 0 && capitals < bytes.len() - 1;
    !alphabetic && !mixed && run.to_lowercase().contains(['a', 'e', 'i', 'o', 'u', 'y'])
}

/// Whether dollar signs enclose formulas here; otherwise they are money.
fn dollars_delimit(text: &[char]) -> bool {
    let unescaped =
        |index: &usize| text[*index] == '$' && (*index == 0 || text[*index - 1] != '\\');
    let dollars: Vec<usize> = (0..text.len()).filter(unescaped).collect();
    dollars.len().is_multiple_of(2)
        || !dollars.iter().any(|&index| {
            let next = text[index + 1..].iter().find(|next| !next.is_whitespace());
            next.is_some_and(|next| next.is_ascii_digit() || *next == '.')
        })
}
