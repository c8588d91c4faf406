//! Arithmetic expressions: reading them, and what they come to.
//!
//! What counts is what the scorer of reasoning-gym takes for arithmetic: `+`,
//! `-`, `*`, `/`, `**` and parentheses over whole numbers.

use crate::fraction::Fraction;

/// Parentheses and signs that may be open at the same time.
const DEPTH: usize = 64;
/// Bytes of an expression.
const LENGTH: usize = 1024;

/// What was written: its value, if it has one, and its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// Nothing where something is divided by 0, or is too large.
    pub value: Option<Fraction>,
    /// The numbers in it, in their order.
    pub numbers: Vec<i64>,
}

impl Expression {
    /// The expression of a text that holds nothing else.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.len() > LENGTH {
            return Err("The expression is too long.".to_owned());
        }
        let mut reader = Reader { tokens: tokens(text)?, next: 0, depth: 0, numbers: Vec::new() };
        let value = reader.sum()?;
        match reader.peek() {
            None => Ok(Expression { value, numbers: reader.numbers }),
            Some(token) => Err(format!("{} is not expected there.", token.quoted())),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    Number(i64),
    Sign(char),
    Power,
}

impl Token {
    fn quoted(self) -> String {
        match self {
            Token::Number(number) => format!("`{number}`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::Power => "`**`".to_owned(),
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '0'..='9' => rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()),
            '*' if rest.starts_with("**") => 2,
            _ => first.len_utf8(),
        };
        let (word, behind) = rest.split_at(length);
        tokens.push(match first {
            '0'..='9' => Token::Number(number(word)?),
            '*' if word == "**" => Token::Power,
            '+' | '-' | '*' | '/' | '(' | ')' => Token::Sign(first),
            '×' | '·' => Token::Sign('*'),
            '÷' => Token::Sign('/'),
            '−' | '–' => Token::Sign('-'),
            _ => return Err(format!("`{first}` has no place in the expression.")),
        });
        rest = behind.trim_start();
    }
    Ok(tokens)
}

fn number(digits: &str) -> Result<i64, String> {
    let leads = digits.len() > 1 && digits.starts_with('0');
    let number = digits.parse().ok().filter(|_| !leads);
    number.ok_or_else(|| "A number in the expression is too long.".to_owned())
}

type Value = Option<Fraction>;

/// Reads by descent, the lowest precedence first.
struct Reader {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    numbers: Vec<i64>,
}

impl Reader {
    fn peek(&self) -> Option<Token> {
        self.tokens.get(self.next).copied()
    }

    /// Go on behind the token if it is next.
    fn takes(&mut self, token: Token) -> bool {
        let is_next = self.peek() == Some(token);
        self.next += usize::from(is_next);
        is_next
    }

    fn sum(&mut self) -> Result<Value, String> {
        let mut value = self.product()?;
        loop {
            let sign = if self.takes(Token::Sign('+')) {
                Fraction::plus
            } else if self.takes(Token::Sign('-')) {
                |one: Fraction, other: Fraction| one.plus(other.negated())
            } else {
                return Ok(value);
            };
            value = both(value, self.product()?, sign);
        }
    }

    fn product(&mut self) -> Result<Value, String> {
        let mut value = self.signed()?;
        loop {
            let sign = if self.takes(Token::Sign('*')) {
                Fraction::times
            } else if self.takes(Token::Sign('/')) {
                Fraction::over
            } else {
                return Ok(value);
            };
            value = both(value, self.signed()?, sign);
        }
    }

    /// A power, perhaps with signs before it, which bind less.
    fn signed(&mut self) -> Result<Value, String> {
        if self.takes(Token::Sign('-')) {
            return Ok(self.deeper(Reader::signed)?.map(Fraction::negated));
        }
        if self.takes(Token::Sign('+')) {
            return self.deeper(Reader::signed);
        }
        let base = self.operand()?;
        if self.takes(Token::Power) {
            let exponent = self.deeper(Reader::signed)?;
            return Ok(both(base, exponent, Fraction::to_the));
        }
        Ok(base)
    }

    fn operand(&mut self) -> Result<Value, String> {
        if let Some(Token::Number(number)) = self.peek() {
            self.next += 1;
            self.numbers.push(number);
            return Ok(Some(Fraction::whole(number)));
        }
        if !self.takes(Token::Sign('(')) {
            let found = self.peek().map_or_else(|| "the end".to_owned(), Token::quoted);
            return Err(format!("A number is missing before {found}."));
        }
        let value = self.deeper(Reader::sum)?;
        match self.takes(Token::Sign(')')) {
            true => Ok(value),
            false => Err("A parenthesis is not closed.".to_owned()),
        }
    }

    fn deeper(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<Value, String>,
    ) -> Result<Value, String> {
        if self.depth == DEPTH {
            return Err("The expression is nested too deeply.".to_owned());
        }
        self.depth += 1;
        let value = inner(self);
        self.depth -= 1;
        value
    }
}

fn both(one: Value, other: Value, sign: fn(Fraction, Fraction) -> Value) -> Value {
    sign(one?, other?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> String {
        match Expression::read(text) {
            Ok(Expression { value: Some(value), .. }) => value.to_string(),
            Ok(_) => "none".to_owned(),
            Err(why) => why,
        }
    }

    #[test]
    fn expressions_come_to_what_arithmetic_says() {
        for (text, wanted) in [
            ("1 + 2 * 3", "7"),
            ("(1+2)*3", "9"),
            ("7 - 2 - 1", "4"),
            ("8 / 4 / 2", "1"),
            ("1 / 3 * 3", "1"),
            ("-2 * -3", "6"),
            ("2 ** 3 ** 2", "512"),
            ("-2 ** 2", "-4"),
            ("2 ** -1", "1/2"),
            ("3 × 4 ÷ 6 − 1", "1"),
            ("5 / (3 - 3)", "none"),
        ] {
            assert_eq!(value(text), wanted, "{text}");
        }
        assert_eq!(Expression::read("(10+2)*10").map(|read| read.numbers), Ok(vec![10, 2, 10]));
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in [
            "",
            "1 +",
            "1 2",
            "2(3)",
            "(1",
            "1)",
            "1.5",
            "0x10",
            "1 = 1",
            "a",
            "5!",
            "7 // 2",
            "007",
            "1_000",
            "99999999999999999999",
            "7 % 2",
            "2 ^ 3",
        ] {
            assert!(Expression::read(text).is_err(), "{text}");
        }
        let deep = format!("{}1{}", "(".repeat(400), ")".repeat(400));
        assert_eq!(value(&deep), "The expression is nested too deeply.");
        assert_eq!(value(&"-".repeat(900)), "The expression is nested too deeply.");
        assert_eq!(value(&"1+".repeat(600)), "The expression is too long.");
    }
}
