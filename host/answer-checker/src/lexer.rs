//! From text to tokens.

use crate::lexicon;
use crate::number::{MOST_SHIFT, Number};
use crate::term::Function;
use crate::token::{CLOSE_SET, IMPLIES, OPEN_SET, Token, plain_sign, sign_of};
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
    let mut lexer = Lexer::new(text, commas, Place::Math, 0);
    lexer.run()?;
    Ok(Lexed { tokens: lexer.tokens, grouped: lexer.grouped })
}

/// Where text stands: what letters mean depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
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
    place: Place,
    nested: usize,
    grouped: bool,
    /// Whether white space came before what is read now.
    spaced: bool,
    dollars_delimit: bool,
}

impl Lexer {
    fn new(text: &str, commas: Commas, place: Place, nested: usize) -> Lexer {
        let text: Vec<char> = text.chars().collect();
        let dollars_delimit = dollars_delimit(&text);
        Lexer {
            text,
            at: 0,
            tokens: Vec::new(),
            brackets: 0,
            commas,
            place,
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
            '~' if self.place != Place::Text => self.spaced = true,
            '²' | '³' | '¹' => self.superscript(character),
            '√' => self.tokens.push(Token::Command("√".into())),
            'π' => self.tokens.push(Token::Name("pi".into())),
            'θ' => self.tokens.push(Token::Name("theta".into())),
            'α'..='ω' | 'Α'..='Ω' => self.tokens.push(Token::Name(character.to_string())),
            _ => self.other(character),
        }
        Ok(())
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

    fn digits(&mut self) -> String {
        let start = self.at;
        while self.peek(0).is_some_and(|next| next.is_ascii_digit()) {
            self.at += 1;
        }
        self.text[start..self.at].iter().collect()
    }

    /// Whether three digits, and no fourth, stand `ahead`.
    fn three_digits(&self, ahead: usize) -> bool {
        let digit = |index| self.peek(ahead + index).is_some_and(|next| next.is_ascii_digit());
        digit(0) && digit(1) && digit(2) && !digit(3)
    }

    /// The length of what separates a group of three digits from the digits before it.
    fn group_separator(&self) -> Option<(usize, bool)> {
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

    fn number(&mut self) -> Result<(), Reason> {
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
    fn point_belongs(&self) -> bool {
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
    fn period(&mut self) -> String {
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

    fn exponent(&mut self) -> Result<Option<String>, Reason> {
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
    fn scaled(&mut self, number: Number, power: String) -> Result<(), Reason> {
        if let Some(exponent) =
            power.parse::<i64>().ok().filter(|power| power.unsigned_abs() <= u64::from(MOST_SHIFT))
        {
            self.tokens.extend(number.shifted(exponent).map(Token::Number));
            return Ok(());
        }
        let digits = power.trim_start_matches('-');
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

    fn letters(&mut self) -> Result<(), Reason> {
        let start = self.at;
        while self.peek(0).is_some_and(|next| next.is_ascii_alphabetic()) || self.abbreviates(start)
        {
            self.at += 1;
        }
        let run: String = self.text[start..self.at].iter().collect();
        match self.place {
            Place::Text => self.tokens.push(Token::Word(run)),
            Place::Upright if run.len() == 1 && !self.after_number_unit(&run) => {
                self.tokens.push(Token::Name(run));
            }
            Place::Upright => self.upright(run),
            Place::Math => self.math_letters(&run, start),
        }
        Ok(())
    }

    fn upright(&mut self, run: String) {
        match Function::named(&run).filter(|_| run != "min") {
            Some(function) => self.tokens.push(Token::Function(function)),
            None => self.tokens.push(Token::Word(run)),
        }
    }

    /// Whether a single upright letter is a unit: `5\mathrm{m}`, but not `3\mathrm{i}`.
    fn after_number_unit(&self, letter: &str) -> bool {
        self.nested > 0 && !matches!(letter, "i" | "e" | "d") && lexicon::unit(letter).is_some()
    }

    /// Whether the point here belongs to an abbreviation such as `p.m.`.
    fn abbreviates(&self, start: usize) -> bool {
        let length = self.at - start;
        if self.peek(0) != Some('.') || self.place == Place::Upright {
            return false;
        }
        let run: String = self.text[start..self.at].iter().collect::<String>().to_lowercase();
        (length == 1 && matches!(run.as_str(), "a" | "p") && self.peek(1) == Some('m'))
            || matches!(run.as_str(), "a.m" | "p.m")
    }

    /// Letters outside of text: names, unless they are a function or a word.
    fn math_letters(&mut self, run: &str, start: usize) {
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

    fn names(&mut self, run: &str) {
        self.tokens.extend(run.chars().map(|letter| Token::Name(letter.to_string())));
    }

    fn letter(&mut self, letter: &str, start: usize) {
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

    fn between_brackets(&self) -> bool {
        let closed = matches!(self.tokens.last(), Some(Token::Sign(')' | ']' | CLOSE_SET)));
        let next = self.text[self.at..].iter().find(|next| !next.is_whitespace());
        closed && matches!(next, Some('(' | '[' | '{' | '\\'))
    }

    fn command(&mut self) -> Result<(), Reason> {
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

    fn escaped(&mut self, character: char) -> Result<(), Reason> {
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

    fn bracketed_sign(&mut self, sign: char) {
        match sign {
            OPEN_SET | '⟨' => self.brackets += 1,
            CLOSE_SET | '⟩' => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
        self.sign(sign);
    }

    fn named_command(&mut self, name: &str) -> Result<(), Reason> {
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
            | "textsf" | "emph" | "hbox" => self.group(Place::Text)?,
            "mathrm" | "operatorname" | "mathsf" | "mathtt" => self.group(Place::Upright)?,
            "mathbf" | "boldsymbol" | "bm" | "mathit" | "mathcal" | "mathnormal" | "boxed"
            | "fbox" | "underline" | "mathord" => self.group(Place::Math)?,
            "mathbb" => self.blackboard(),
            "begin" | "end" => self.environment(name),
            _ if is_structure(name) => self.push_command(name),
            _ => self.tokens.push(Token::Name(name.into())),
        }
        Ok(())
    }

    fn push_command(&mut self, name: &str) {
        self.tokens.push(Token::Command(name.into()));
    }

    /// The text of the braces that open here, if they close.
    fn braces(&mut self) -> Option<String> {
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
    fn group(&mut self, place: Place) -> Result<(), Reason> {
        let Some(inside) = self.braces() else { return Ok(()) };
        if self.nested >= MOST_NESTED {
            return Err(Reason::TooLarge);
        }
        // Text around a formula, as `\text{(E)}` or `\textbf{5.5}`, reads as the formula.
        let mut inner = Lexer::new(&inside, self.commas, place, self.nested + 1);
        inner.brackets = self.brackets;
        let after_value =
            matches!(self.tokens.last(), Some(Token::Number(_) | Token::Sign('}' | ')' | '°')));
        let letter = |c: &char| c.is_ascii_alphabetic();
        let inside: Vec<char> = inside.chars().collect();
        let words = inside.windows(2).any(|pair| pair.iter().all(letter));
        if place == Place::Text && !words && !after_value {
            inner.place = Place::Math;
        }
        inner.run()?;
        self.grouped |= inner.grouped;
        // Upright letters that are no words belong together as one name only in an index.
        self.tokens.append(&mut inner.tokens);
        Ok(())
    }

    fn blackboard(&mut self) {
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

    fn environment(&mut self, name: &str) {
        let kind = self.braces().unwrap_or_default();
        if kind.starts_with("array") && name == "begin" {
            // What the columns look like.
            self.braces();
        }
        let kind = kind.trim_end_matches('*');
        self.push_command(&format!("{name} {kind}"));
    }
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
