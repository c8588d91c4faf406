//! Rows of a text: JSON lines, a JSON list, or objects one after the other.
//!
//! Each is read up to its end, never further, and what is longer than a row may be is
//! skipped and not held. A broken line does not take the next one with it; in a list what
//! follows is lost where brackets or quotes do not close. Rows are read as Python's `json`
//! wrote them, with `NaN` and integers of any size, which `serde_json` refuses.

use std::io::{self, BufRead, Cursor, Read};

use super::bounds::Bounds;
use super::refusal::Refusal;
use troupe_grading::Value;

/// What is done with a row or with what there is in its place, and its line.
pub(super) type Sink<'a, E> = dyn FnMut(usize, Result<Value, Refusal>) -> Result<(), E> + 'a;

/// Read all rows of a text.
pub(super) fn read_rows<E>(
    reader: impl BufRead,
    bounds: &Bounds,
    sink: &mut Sink<'_, E>,
) -> Result<(), E> {
    let mut text = Text { reader, line: 1 };
    let mut rows = Rows { bounds, sink };
    let result = match text.begin() {
        Ok(None) => return Ok(()),
        Ok(Some(b'[')) => read_elements(&mut text, true, &mut rows),
        Ok(Some(_)) => read_lines(&mut text, &mut rows),
        Err(reason) => Err(Stop::Io(reason)),
    };
    match result {
        Ok(()) => Ok(()),
        Err(Stop::Sink(error)) => Err(error),
        Err(Stop::Io(reason)) => (rows.sink)(
            text.line,
            Err(Refusal::new("the rest of the file cannot be read", reason.to_string())),
        ),
    }
}

enum Stop<E> {
    Sink(E),
    Io(io::Error),
}

impl<E> From<io::Error> for Stop<E> {
    fn from(reason: io::Error) -> Self {
        Stop::Io(reason)
    }
}

/// Where rows go.
struct Rows<'a, 's, E> {
    bounds: &'a Bounds,
    sink: &'a mut Sink<'s, E>,
}

impl<E> Rows<'_, '_, E> {
    fn hand_over(&mut self, line: usize, held: &Held) -> Result<(), Stop<E>> {
        let row = match held.overflown {
            true => Err(self.bounds.too_long()),
            false => parse(&held.bytes, self.bounds),
        };
        (self.sink)(line, row).map_err(Stop::Sink)
    }

    fn refuse(&mut self, line: usize, reason: &str, detail: &str) -> Result<(), Stop<E>> {
        (self.sink)(line, Err(Refusal::new(reason, detail))).map_err(Stop::Sink)
    }
}

fn parse(bytes: &[u8], bounds: &Bounds) -> Result<Value, Refusal> {
    bounds.check(bytes)?;
    let text =
        std::str::from_utf8(bytes).map_err(|error| Refusal::new("not UTF-8", error.to_string()))?;
    Value::parse(text).map_err(|reason| Refusal::new("not JSON", reason))
}

/// The bytes of a row as far as they are held.
#[derive(Default)]
struct Held {
    bytes: Vec<u8>,
    overflown: bool,
}

impl Held {
    fn extend(&mut self, bytes: &[u8], most: usize) {
        if self.overflown || self.bytes.len() + bytes.len() > most {
            *self = Held { bytes: Vec::new(), overflown: true };
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }
}

/// A text and where in it we are.
struct Text<R> {
    reader: R,
    /// From 1.
    line: usize,
}

impl<R: BufRead> Text<R> {
    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.reader.fill_buf()?.first().copied())
    }

    fn next(&mut self, byte: u8) {
        self.reader.consume(1);
        self.line += usize::from(byte == b'\n');
    }

    /// The first byte that is none of these; it is not taken.
    fn skip(&mut self, skipped: impl Fn(u8) -> bool) -> io::Result<Option<u8>> {
        loop {
            match self.peek()? {
                Some(byte) if skipped(byte) => self.next(byte),
                other => return Ok(other),
            }
        }
    }

    /// The first byte that is neither white space nor a byte-order mark.
    fn begin(&mut self) -> io::Result<Option<u8>> {
        self.skip(|byte| byte.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(&byte))
    }

    /// The rest of the line; false at the end of the text.
    fn take_line(&mut self, held: &mut Held, most: usize) -> io::Result<bool> {
        *held = Held::default();
        let mut any = false;
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(any);
            }
            any = true;
            let end = buffer.iter().position(|&byte| byte == b'\n');
            held.extend(&buffer[..end.unwrap_or(buffer.len())], most);
            let taken = end.map_or(buffer.len(), |end| end + 1);
            self.reader.consume(taken);
            if end.is_some() {
                self.line += 1;
                return Ok(true);
            }
        }
    }

    /// One element of a list: up to where its brackets close, or, outside all, to what ends it.
    fn take_element(&mut self, most: usize) -> io::Result<Held> {
        let (mut held, mut depth, mut quote) = (Held::default(), 0_usize, Quote::Outside);
        let mut has_begun = false;
        while let Some(byte) = self.peek()? {
            let is_outside = depth == 0 && quote == Quote::Outside;
            if has_begun && is_outside && (b",]".contains(&byte) || byte.is_ascii_whitespace()) {
                break;
            }
            self.next(byte);
            held.extend(&[byte], most);
            has_begun = true;
            quote = quote.after(byte);
            match byte {
                _ if quote != Quote::Outside => {}
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth <= 1 => break,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
        }
        Ok(held)
    }
}

fn read_lines<R: BufRead, E>(
    text: &mut Text<R>,
    rows: &mut Rows<'_, '_, E>,
) -> Result<(), Stop<E>> {
    let mut held = Held::default();
    let mut is_first = true;
    loop {
        let line = text.line;
        if !text.take_line(&mut held, rows.bounds.bytes)? {
            return Ok(());
        }
        let row = held.bytes.trim_ascii();
        if is_first && goes_on_below(row) && text.peek()? != Some(b'{') {
            // An object over several lines; before another one it is a line that broke off.
            let reader = Cursor::new([row, b"\n"].concat()).chain(&mut text.reader);
            return read_elements(&mut Text { reader, line }, false, rows);
        }
        is_first = false;
        if held.overflown || !row.is_empty() {
            rows.hand_over(line, &held)?;
        }
    }
}

/// Whether a line is the beginning of an object that is laid out over several.
fn goes_on_below(line: &[u8]) -> bool {
    line.starts_with(b"{") && [b"{", b"[", b","].iter().any(|end| line.ends_with(*end))
}

fn read_elements<R: BufRead, E>(
    text: &mut Text<R>,
    in_list: bool,
    rows: &mut Rows<'_, '_, E>,
) -> Result<(), Stop<E>> {
    if in_list {
        text.next(b'[');
    }
    loop {
        match text.skip(|byte| byte.is_ascii_whitespace() || byte == b',')? {
            None if in_list => {
                return rows.refuse(text.line, "the list breaks off", "`]` is missing at its end");
            }
            None => return Ok(()),
            Some(b']') if in_list => break,
            Some(_) => {
                let line = text.line;
                let held = text.take_element(rows.bounds.bytes)?;
                rows.hand_over(line, &held)?;
            }
        }
    }
    text.next(b']');
    match text.begin()? {
        None => Ok(()),
        Some(_) => rows.refuse(text.line, "something follows the end of the list", ""),
    }
}

/// Whether a byte is within a string.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    Outside,
    Inside,
    Escaped,
}

impl Quote {
    fn after(self, byte: u8) -> Quote {
        match (self, byte) {
            // No string goes on over a line's end: this one was never closed.
            (_, b'\n') => Quote::Outside,
            (Quote::Outside, b'"') | (Quote::Escaped, _) => Quote::Inside,
            (Quote::Inside, b'"') => Quote::Outside,
            (Quote::Inside, b'\\') => Quote::Escaped,
            (same, _) => same,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    /// Line and value or reason of every row.
    fn rows_within(text: &[u8], bounds: &Bounds) -> Vec<(usize, String)> {
        let mut seen = Vec::new();
        read_rows::<Infallible>(text, bounds, &mut |line, row| {
            seen.push((line, row.map_or_else(|refusal| refusal.reason, |value| value.to_string())));
            Ok(())
        })
        .unwrap();
        seen
    }

    fn rows(text: &str) -> Vec<(usize, String)> {
        rows_within(text.as_bytes(), &Bounds::default())
    }

    fn told(rows: &[(usize, &str)]) -> Vec<(usize, String)> {
        rows.iter().map(|(line, row)| (*line, (*row).to_owned())).collect()
    }

    #[test]
    fn lines_lists_and_objects_over_several_lines_are_read_alike() {
        let (a, b) = (r#"{"a": "],\"{"}"#, r#"{"b": [1, {}]}"#);
        let both = |first, second| told(&[(first, a), (second, b)]);
        assert_eq!(rows(&format!("\u{feff}{a}\r\n\n{b}")), both(1, 3));
        assert_eq!(rows(&format!("[{a},{b}]")), both(1, 1));
        assert_eq!(rows(&format!(" [\n  {a},\n  {b}\n]\n")), both(2, 3));
        let pretty = "{\n  \"b\": [\n    1,\n    {}\n  ]\n}";
        assert_eq!(rows(pretty), told(&[(1, b)]));
        assert_eq!(rows(&format!("{pretty}\n{pretty}\n")), told(&[(1, b), (7, b)]));
        assert_eq!(rows(&format!("[{pretty}, {pretty}]")), told(&[(1, b), (6, b)]));
        let flat = pretty.replace("  ", "");
        assert_eq!(rows(&format!("[\n{flat},\n{flat}\n]")), told(&[(2, b), (8, b)]));
        assert_eq!(rows("[]"), told(&[]));
        assert_eq!(rows(" \n"), told(&[]));
    }

    #[test]
    fn a_broken_row_does_not_take_the_next_one_with_it() {
        let broken = "not JSON";
        let one = "{\"a\": 1}";
        for (text, expected) in [
            (
                "{\"a\": 1\n{\"a\": 1}\nx\n{\"a\": 1}",
                vec![(1, broken), (2, one), (3, broken), (4, one)],
            ),
            ("[\n{\"a\": \"x},\n{\"a\": 1}\n]", vec![(2, broken), (4, "the list breaks off")]),
            ("[\n{\"a\": 1,\n{\"a\": 1}\n]", vec![(2, broken), (4, "the list breaks off")]),
            ("[{\"a\": }, {\"a\": 1}]", vec![(1, broken), (1, one)]),
            ("[{\"a\": 1}, 5, {\"a\": 1}]", vec![(1, one), (1, "5"), (1, one)]),
            ("[{\"a\": 1}", vec![(1, one), (1, "the list breaks off")]),
            ("[{\"a\": 1}] x", vec![(1, one), (1, "something follows the end of the list")]),
            ("[{\"a\": 1", vec![(1, broken), (1, "the list breaks off")]),
        ] {
            assert_eq!(rows(text), told(&expected), "{text}");
        }
    }

    #[test]
    fn what_is_too_long_too_deep_or_no_text_is_refused_and_the_rest_read() {
        let bounds = Bounds { bytes: 100, commas: 5 };
        let long = "7".repeat(1000);
        let reasons = |text: &[u8]| -> Vec<String> {
            rows_within(text, &bounds).into_iter().map(|(_, row)| row).collect()
        };
        let expected = ["too long", "{\"a\": 1}"];
        assert_eq!(reasons(format!("{{\"a\": {long}}}\n{{\"a\": 1}}").as_bytes()), expected);
        assert_eq!(reasons(format!("[{{\"a\": {long}}}, {{\"a\": 1}}]").as_bytes()), expected);
        assert_eq!(reasons(format!("[{long}, {{\"a\": 1}}]").as_bytes()), expected);
        assert_eq!(reasons(b"[1,2,3,4,5,6,7]\n")[0], "1");
        assert_eq!(reasons(b"{\"a\": [1,2,3,4,5,6,7]}"), ["too many values in it"]);
        assert_eq!(reasons(b"{\"a\": \"\xff\"}\n{\"a\": 1}"), ["not UTF-8", "{\"a\": 1}"]);
        let deep = format!("{{\"a\": {}", "[".repeat(100_000));
        assert_eq!(rows(&format!("{deep}\n{{\"a\": 1}}"))[1].1, "{\"a\": 1}");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_or_run_on(text in "[\\[\\]{}\",:\\\\ a1\n]{0,40}") {
            let rows = rows(&text);
            prop_assert!(rows.len() <= text.len() + 1);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            rows_within(&bytes, &Bounds::default());
        }
    }
}
