//! From tokens to answers: lists, relations, sets, brackets. What is in them is in `scalar`.

mod scalar;
mod structure;
mod unit;

use crate::answer::{Answer, Chain, Joiner, Relation, SetOperation, Value};
use crate::lexicon;
use crate::term::Term;
use crate::token::{CLOSE_SET, IMPLIES, OPEN_SET, Token};
use crate::verdict::Reason;

/// Deeper nesting is not read.
const MOST_DEPTH: usize = 40;

/// What tokens say.
///
/// # Errors
/// If they are in no notation that is known.
pub fn parse(tokens: &[Token]) -> Result<Answer, ParseError> {
    let tokens = last_step(trimmed(tokens));
    if tokens.is_empty() {
        return Err(ParseError::Unreadable);
    }
    if let Some(answer) = words(tokens) {
        return Ok(answer);
    }
    let mut parser = Parser { tokens, at: 0, depth: 0, bars: 0, in_set: false, bound: Vec::new() };
    let answer = parser.list()?;
    if parser.at == tokens.len() { Ok(answer) } else { Err(ParseError::Unreadable) }
}

/// Why tokens are no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// They are in no notation that is known.
    Unreadable,
    /// They are nested too deeply, or hold too large a number.
    TooLarge,
}

impl ParseError {
    /// The reason there is no verdict, if the text that cannot be read is `whose`.
    pub fn reason(self, whose: Reason) -> Reason {
        match self {
            ParseError::Unreadable => whose,
            ParseError::TooLarge => Reason::TooLarge,
        }
    }
}

type Parsed<T> = Result<T, ParseError>;

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
    depth: usize,
    /// How many `|` are open.
    bars: usize,
    /// Whether `|` and `:` lead to a condition.
    in_set: bool,
    /// The indices of the sums around what is read.
    bound: Vec<String>,
}

/// Without the punctuation at its ends.
fn trimmed(mut tokens: &[Token]) -> &[Token] {
    let noise =
        |token: &Token| matches!(token, Token::Sign('.' | ',' | ';' | ':' | '"' | '⏎' | '\''));
    while let [rest @ .., last] = tokens
        && noise(last)
        && (!last.is('\'') || rest.is_empty())
    {
        tokens = rest;
    }
    // "D)" names a choice.
    if let [letter @ Token::Name(_), Token::Sign(')')] = tokens {
        return std::slice::from_ref(letter);
    }
    while let [first, rest @ ..] = tokens
        && (noise(first) || first.is('=') || first.is(IMPLIES))
    {
        tokens = rest;
    }
    tokens
}

/// What a derivation ends with.
fn last_step(tokens: &[Token]) -> &[Token] {
    let arrow = tokens.iter().rposition(|token| token.is(IMPLIES) || token.is('⇔'));
    arrow.map_or(tokens, |arrow| trimmed(&tokens[arrow + 1..]))
}

/// The answer that is nothing but words.
fn words(tokens: &[Token]) -> Option<Answer> {
    let mut text = Vec::new();
    for token in tokens {
        match token {
            Token::Word(word) => text.push(word.to_lowercase()),
            // A letter among words, as in "a circle".
            Token::Name(name) if tokens.len() > 1 => text.push(name.to_lowercase()),
            // A number among words, as in "June 20".
            Token::Number(number) if leads_as_word(tokens) => text.push(number.value.to_string()),
            Token::Sign('-' | '\'' | ',' | '.' | '"' | '/') => {}
            _ => return None,
        }
    }
    if !tokens.iter().any(|token| matches!(token, Token::Word(_))) {
        return None;
    }
    let names = tokens.iter().filter(|token| matches!(token, Token::Name(_))).count();
    if names > 1 || (names == 1 && has_connective(tokens)) {
        return None;
    }
    if let [Token::Word(first), rest @ ..] = tokens
        && !rest.is_empty()
        && lexicon::number(first).is_some()
        && rest
            .iter()
            .all(|token| matches!(token, Token::Word(word) if lexicon::magnitude(word).is_some()))
    {
        // "one million" is a number.
        return None;
    }
    if let [Token::Word(word)] = tokens
        && let Some(number) = lexicon::number(word)
    {
        return Some(Answer::scalar(Term::whole(i64::from(number))));
    }
    let text = text.join(" ");
    Some(lexicon::phrase(&text).map_or(Answer::Words(text), Answer::Known))
}

fn leads_as_word(tokens: &[Token]) -> bool {
    matches!(tokens.first(), Some(Token::Word(word))
        if lexicon::unit(word).is_none() && lexicon::number(word).is_none())
}

fn has_connective(tokens: &[Token]) -> bool {
    tokens.iter().any(|token| token.says("and") || token.says("or"))
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at)
    }

    fn next_is(&self, sign: char) -> bool {
        self.peek().is_some_and(|token| token.is(sign))
    }

    fn takes(&mut self, sign: char) -> bool {
        let taken = self.next_is(sign);
        self.at += usize::from(taken);
        taken
    }

    fn expect(&mut self, sign: char) -> Parsed<()> {
        if self.takes(sign) { Ok(()) } else { Err(ParseError::Unreadable) }
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MOST_DEPTH {
            return Err(ParseError::TooLarge);
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Pieces with commas, "and" or "or" between them.
    fn list(&mut self) -> Parsed<Answer> {
        let mut items = vec![self.piece()?];
        let mut joiner = Joiner::Comma;
        while let Some(next) = self.joiner() {
            if next != Joiner::Comma {
                joiner = next;
            }
            items.push(self.piece()?);
        }
        match items.pop() {
            Some(only) if items.is_empty() => Ok(only),
            last => {
                items.extend(last);
                Ok(Answer::List(items, joiner))
            }
        }
    }

    /// What separates two pieces, if something does: one of a comma and a word, or both.
    fn joiner(&mut self) -> Option<Joiner> {
        let comma = self.takes(',') || self.takes(';');
        let joiner = match self.peek() {
            Some(token) if token.says("and") || token.is('∧') => Joiner::And,
            Some(token) if token.is('&') && self.depth == 0 => Joiner::And,
            Some(token) if token.says("or") || token.is('∨') => Joiner::Or,
            _ => return comma.then_some(Joiner::Comma),
        };
        self.at += 1;
        Some(joiner)
    }

    /// Sides with relations between them, or one side.
    fn piece(&mut self) -> Parsed<Answer> {
        if let Some(digits) = self.digits_in_base() {
            return Ok(digits);
        }
        // "> 5" says something of nothing, and is no value.
        let headless =
            matches!(self.peek(), Some(&Token::Sign(sign)) if Relation::of(sign).is_some());
        let first = if headless { Answer::Words(String::new()) } else { self.side()? };
        let mut rest = Vec::new();
        while let Some(&Token::Sign(sign)) = self.peek() {
            let Some(relation) = Relation::of(sign) else { break };
            self.at += 1;
            rest.push((relation, self.side()?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(Answer::Relations(Chain { first: Box::new(first), rest }))
    }

    /// Sets with operations between them, a ratio, or a scalar with its unit.
    fn side(&mut self) -> Parsed<Answer> {
        let mut left = self.set_or_value()?;
        while let Some(operation) = self.set_operation(&left) {
            self.at += 1;
            let right = self.set_or_value()?;
            left = Answer::Combined(Box::new(left), operation, Box::new(right));
        }
        Ok(left)
    }

    fn set_operation(&self, left: &Answer) -> Option<SetOperation> {
        match self.peek()? {
            Token::Sign('∪') => Some(SetOperation::Union),
            Token::Sign('∩') => Some(SetOperation::Intersection),
            Token::Sign('∖') => Some(SetOperation::Difference),
            Token::Sign('-') if !matches!(left, Answer::Value(_)) => Some(SetOperation::Difference),
            _ => None,
        }
    }

    fn set_or_value(&mut self) -> Parsed<Answer> {
        if self.at_structure() {
            return self.deeper(Self::structure);
        }
        let owed = matches!(self.tokens.get(self.at..), Some([Token::Sign('-'), Token::Sign(sign), ..])
            if lexicon::currency(*sign).is_some());
        self.at += usize::from(owed);
        let prefix = self.currency();
        let term = self.deeper(Self::sum)?;
        let term = if owed { term.negative() } else { term };
        if self.next_is(':') && !self.in_set && prefix.is_none() {
            return self.ratio(term);
        }
        self.counted(term, prefix)
    }

    fn ratio(&mut self, first: Term) -> Parsed<Answer> {
        let mut parts = vec![first];
        while self.takes(':') {
            parts.push(self.deeper(Self::sum)?);
        }
        let unit = self.unit()?;
        Ok(Answer::Ratio(parts, unit))
    }

    /// A sign for money, with the minus that may stand before it left in place.
    fn currency(&mut self) -> Option<&'static str> {
        let Some(&Token::Sign(sign)) = self.peek() else { return None };
        let unit = lexicon::currency(sign)?;
        self.at += 1;
        Some(unit)
    }

    /// A term with what it counts; several of them, if they follow each other.
    fn counted(&mut self, term: Term, prefix: Option<&'static str>) -> Parsed<Answer> {
        let first = self.with_unit(term, prefix)?;
        let mut amounts = vec![first];
        while amounts.iter().all(|amount| amount.unit.is_some())
            && matches!(self.peek(), Some(Token::Number(_)))
        {
            let term = self.deeper(Self::sum)?;
            amounts.push(self.with_unit(term, None)?);
        }
        match amounts.pop() {
            Some(only) if amounts.is_empty() => Ok(Answer::Value(only)),
            last => {
                amounts.extend(last);
                let amounts = amounts.into_iter().map(Answer::Value).collect();
                Ok(Answer::List(amounts, Joiner::And))
            }
        }
    }

    fn with_unit(&mut self, term: Term, prefix: Option<&'static str>) -> Parsed<Value> {
        let (term, unit) = self.magnitudes(term).and_then(|term| Ok((term, self.unit()?)))?;
        let term = if self.takes_percent() { Term::Percent(Box::new(term)) } else { term };
        let (term, unit) = in_degrees(term, unit);
        let unit = match (prefix, unit) {
            (Some(prefix), None) => Some(prefix.to_owned()),
            (Some(prefix), Some(unit)) if unit == prefix => Some(unit),
            (Some(_), Some(_)) => return Err(ParseError::Unreadable),
            (None, unit) => unit,
        };
        Ok(Value { term, unit })
    }

    /// `1011_2`, if the piece here is such a number.
    fn digits_in_base(&mut self) -> Option<Answer> {
        let rest = &self.tokens[self.at..];
        let length =
            rest.iter().position(|token| !matches!(token, Token::Number(_) | Token::Name(_)))?;
        if length == 0 || !rest[length].is('_') || !matches!(rest[0], Token::Number(_)) {
            return None;
        }
        let mut digits = String::new();
        for token in &rest[..length] {
            match token {
                Token::Number(number) if number.value.is_integer() && number.decimals.is_none() => {
                    // Behind a letter, zeros in front are digits: `1A05`.
                    let (value, written) = (number.value.to_integer().to_string(), number.written);
                    digits.push_str(&format!("{value:0>width$}", width = written as usize));
                }
                Token::Name(name) if name.len() == 1 => digits.push_str(&name.to_uppercase()),
                _ => return None,
            }
        }
        let inside = match &rest[length + 1..] {
            [Token::Sign('{'), inside, Token::Sign('}'), ..] => (inside, 3),
            [
                Token::Sign('{'),
                Token::Sign('('),
                inside,
                Token::Sign(')'),
                Token::Sign('}'),
                ..,
            ] => (inside, 5),
            [inside, ..] => (inside, 1),
            [] => return None,
        };
        let base = match inside.0 {
            Token::Number(number) => number.small()?,
            Token::Word(word) => lexicon::number(word)?,
            _ => return None,
        };
        self.at += length + 1 + inside.1;
        if base == 10 {
            let number = crate::number::Number::from_digits(&digits, None, "")?;
            return Some(Answer::scalar(Term::Number(number)));
        }
        Some(Answer::Digits(digits, base))
    }

    /// How far it is to the bracket that closes the one here, and what is between them at the
    /// same level: a comma, a condition.
    fn bracket(&self) -> Option<Bracket> {
        let mut depth = 0_usize;
        let mut bracket = Bracket { close: ' ', separated: false };
        for token in &self.tokens[self.at..] {
            match token {
                Token::Sign('(' | '[' | '{' | OPEN_SET | '⟨' | '⌊' | '⌈') => depth += 1,
                Token::Sign(close @ (')' | ']' | '}' | CLOSE_SET | '⟩' | '⌋' | '⌉')) => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        bracket.close = *close;
                        return Some(bracket);
                    }
                }
                Token::Sign(',' | ';') if depth == 1 => bracket.separated = true,
                token if depth == 1 && (token.says("and") || token.says("or")) => {
                    bracket.separated = true;
                }
                _ => {}
            }
        }
        None
    }
}

/// `15^\circ` as so many degrees, and `15^\circ\text{C}` as so many of Celsius.
fn in_degrees(term: Term, unit: Option<String>) -> (Term, Option<String>) {
    let scale = match unit.as_deref() {
        None => "degree",
        Some("C" | "c") => "degree C",
        Some("F" | "f") => "degree F",
        Some(_) => return (term, unit),
    };
    match term {
        Term::Degrees(angle) => (*angle, Some(scale.to_owned())),
        Term::Negative(negated) => match *negated {
            Term::Degrees(angle) => (angle.negative(), Some(scale.to_owned())),
            other => (other.negative(), unit),
        },
        other => (other, unit),
    }
}

/// What is known of a bracket before what is in it is read.
struct Bracket {
    close: char,
    separated: bool,
}
