//! Python's dialect of JSON, read.

use std::collections::HashMap;

use super::Value;

/// Deeper nesting is refused: the text may come from the program under test.
const DEPTH: usize = 400;

/// Read a text that is one value and white space around it.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    parser.end()?;
    Ok(value)
}

/// Whether there is such a value, which is not kept.
pub(super) fn check(text: &str) -> Result<(), String> {
    let mut parser = Parser { text, at: 0 };
    parser.skip_value(0)?;
    parser.end()
}

struct Parser<'a> {
    text: &'a str,
    /// Byte position; always at a character's beginning.
    at: usize,
}

impl Parser<'_> {
    fn fail<T>(&self, what: &str) -> Result<T, String> {
        let next = match self.text[self.at..].chars().next() {
            Some(character) => format!("{character:?}"),
            None => "the end".to_owned(),
        };
        Err(format!("{what}, but at byte {} there is {next}", self.at))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, word: &str) -> bool {
        let there = self.text[self.at..].starts_with(word);
        if there {
            self.at += word.len();
        }
        there
    }

    fn end(&mut self) -> Result<(), String> {
        self.skip_space();
        match self.at < self.text.len() {
            true => self.fail("nothing more is expected"),
            false => Ok(()),
        }
    }

    fn bounded(&self, depth: usize) -> Result<(), String> {
        match depth > DEPTH {
            true => self.fail(&format!("at most {DEPTH} levels may be nested")),
            false => Ok(()),
        }
    }

    fn skip_value(&mut self, depth: usize) -> Result<(), String> {
        self.bounded(depth)?;
        self.skip_space();
        let (is_dict, last) = match self.peek() {
            Some(b'{') => (true, "}"),
            Some(b'[') => (false, "]"),
            _ => return self.value(depth).map(drop),
        };
        self.at += 1;
        self.skip_space();
        if self.take(last) {
            return Ok(());
        }
        loop {
            if is_dict {
                self.key()?;
            }
            self.skip_value(depth + 1)?;
            self.skip_space();
            if self.take(last) {
                return Ok(());
            }
            if !self.take(",") {
                return self.fail(&format!("`,` or `{last}` is expected"));
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        self.bounded(depth)?;
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.dict(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Value::Str),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ if self.take("null") => Ok(Value::Null),
            _ if self.take("true") => Ok(Value::Bool(true)),
            _ if self.take("false") => Ok(Value::Bool(false)),
            _ if self.take("NaN") => Ok(Value::Float(f64::NAN)),
            _ if self.take("Infinity") => Ok(Value::Float(f64::INFINITY)),
            _ => self.fail("a value is expected"),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.take("]") {
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.take("]") {
                return Ok(Value::List(items));
            }
            if !self.take(",") {
                return self.fail("`,` or `]` is expected");
            }
        }
    }

    fn dict(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut pairs: Vec<(Value, Value)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        self.skip_space();
        if self.take("}") {
            return Ok(Value::Dict(pairs));
        }
        loop {
            let key = self.key()?;
            let value = self.value(depth + 1)?;
            match places.get(&key) {
                Some(&place) => pairs[place].1 = value,
                None => {
                    places.insert(key.clone(), pairs.len());
                    pairs.push((Value::Str(key), value));
                }
            }
            self.skip_space();
            if self.take("}") {
                return Ok(Value::Dict(pairs));
            }
            if !self.take(",") {
                return self.fail("`,` or `}` is expected");
            }
        }
    }

    /// A key and the colon behind it.
    fn key(&mut self) -> Result<String, String> {
        self.skip_space();
        if self.peek() != Some(b'"') {
            return self.fail("a key in double quotes is expected");
        }
        let key = self.string()?;
        self.skip_space();
        match self.take(":") {
            true => Ok(key),
            false => self.fail("`:` is expected"),
        }
    }

    fn string(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut content = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(plain) = rest.find(|c| c == '"' || c == '\\' || c < ' ') else {
                self.at = self.text.len();
                return self.fail("`\"` is expected");
            };
            content.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(content);
                }
                Some(b'\\') => content.push(self.escape()?),
                _ => return self.fail("a string has no bare control characters"),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        self.at += 1;
        let character = match self.peek() {
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(plain @ (b'"' | b'\\' | b'/')) => char::from(plain),
            _ => return self.fail("an escape such as `\\n` is expected"),
        };
        self.at += 1;
        Ok(character)
    }

    fn unicode(&mut self) -> Result<char, String> {
        let first = self.four_digits()?;
        if !(0xd800..0xdc00).contains(&first) {
            return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let after_first = self.at;
        if self.take("\\u") {
            let second = self.four_digits()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = after_first;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn four_digits(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4);
        match digits.filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit())) {
            Some(digits) => {
                self.at += 4;
                u32::from_str_radix(digits, 16).map_err(|error| error.to_string())
            }
            None => self.fail("four hexadecimal digits are expected"),
        }
    }

    fn number(&mut self) -> Result<Value, String> {
        let start = self.at;
        let negative = self.take("-");
        if negative && self.take("Infinity") {
            return Ok(Value::Float(f64::NEG_INFINITY));
        }
        if !self.take("0") && self.digits() == 0 {
            return self.fail("a digit is expected");
        }
        let mut whole = true;
        if self.peek() == Some(b'.') && self.digit_at(1) {
            self.at += 1;
            self.digits();
            whole = false;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.byte_at(1), Some(b'+' | b'-')));
            if self.digit_at(1 + sign) {
                self.at += 1 + sign;
                self.digits();
                whole = false;
            }
        }
        let text = &self.text[start..self.at];
        if whole {
            return Ok(Value::Int(if text == "-0" { "0" } else { text }.to_owned()));
        }
        text.parse().map(Value::Float).map_err(|_| format!("`{text}` is not a number"))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.digit_at(0) {
            self.at += 1;
        }
        self.at - start
    }

    fn byte_at(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn digit_at(&self, ahead: usize) -> bool {
        self.byte_at(ahead).is_some_and(|byte| byte.is_ascii_digit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_surrogate_pairs_are_read() {
        let read = parse(r#""\ud83d\ude00 \n\/ \ud83d!""#).unwrap();
        assert!(matches!(read, Value::Str(text) if text == "\u{1f600} \n/ \u{fffd}!"));
    }

    #[test]
    fn a_mistake_is_reported_with_its_place() {
        for (text, place) in [
            ("[1,]", "byte 3"),
            ("{1: 2}", "byte 1"),
            ("\"open", "byte 5"),
            ("01", "byte 1"),
            ("1 2", "byte 2"),
            ("", "byte 0"),
            ("\"\\x\"", "byte 2"),
            ("\"\\u12é4\"", "byte 3"),
            ("{\"a\": [1, {\"b\" 2}]}", "byte 15"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(place), "{text}: {error}");
            assert_eq!(check(text), Err(error), "{text}");
        }
    }

    #[test]
    fn what_is_a_value_is_known_without_making_it() {
        let nested = "[1, [2, {\"a\": [], \"b\": {\"c\": NaN}}], \"x\"] ";
        for text in ["[]", " { } ", nested, "-0.5e3"] {
            assert!(parse(text).is_ok(), "{text}");
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn bottomless_nesting_is_refused() {
        type Reader = fn(&str) -> Result<(), String>;
        let readers: [Reader; 2] = [check, |text| parse(text).map(drop)];
        for read in readers {
            assert!(read(&"[".repeat(100_000)).unwrap_err().contains("nested"));
            assert!(read(&"{\"a\":".repeat(100_000)).unwrap_err().contains("nested"));
            assert!(read(&format!("{}{}", "[".repeat(300), "]".repeat(300))).is_ok());
        }
    }
}
