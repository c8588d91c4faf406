//! One string out of a Python pickle.
//!
//! A pickle is a program that can call anything. This reads just the opcodes
//! that `pickle.dumps` of a single `str` writes, in protocols 0 to 5, and
//! refuses all others.

const PROTO: u8 = 0x80;
const FRAME: u8 = 0x95;
const TEXT_UNICODE: u8 = b'V';
const SHORT_UNICODE: u8 = 0x8c;
const UNICODE: u8 = b'X';
const LONG_UNICODE: u8 = 0x8d;
const TEXT_PUT: u8 = b'p';
const PUT: u8 = b'q';
const LONG_PUT: u8 = b'r';
const MEMOIZE: u8 = 0x94;
const STOP: u8 = b'.';

/// The string; the error says what there is instead.
pub(super) fn read_string(pickle: &[u8]) -> Result<String, String> {
    let mut rest = pickle;
    let mut content: Option<String> = None;
    loop {
        let opcode = take(&mut rest, 1)?[0];
        match opcode {
            PROTO | PUT => _ = take(&mut rest, 1)?,
            FRAME => _ = take(&mut rest, 8)?,
            LONG_PUT => _ = take(&mut rest, 4)?,
            TEXT_PUT => _ = take_line(&mut rest)?,
            MEMOIZE => {}
            TEXT_UNICODE if content.is_none() => {
                content = Some(unescaped(take_line(&mut rest)?)?);
            }
            SHORT_UNICODE | UNICODE | LONG_UNICODE if content.is_none() => {
                content = Some(counted(&mut rest, opcode)?);
            }
            STOP if rest.is_empty() => break,
            STOP => return Err(format!("{} bytes follow the pickle", rest.len())),
            other => {
                return Err(format!("the pickle holds more than one string (opcode {other:#04x})"));
            }
        }
    }
    content.ok_or_else(|| "the pickle holds no string".to_owned())
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], String> {
    if rest.len() < count {
        return Err("the pickle breaks off".to_owned());
    }
    let (head, tail) = rest.split_at(count);
    *rest = tail;
    Ok(head)
}

/// Up to the next line end, which is taken as well.
fn take_line<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], String> {
    let end = rest.iter().position(|&byte| byte == b'\n').ok_or("the pickle breaks off")?;
    let line = take(rest, end)?;
    take(rest, 1)?;
    Ok(line)
}

/// UTF-8 after its length.
fn counted(rest: &mut &[u8], opcode: u8) -> Result<String, String> {
    let width = match opcode {
        SHORT_UNICODE => 1,
        UNICODE => 4,
        _ => 8,
    };
    let bytes = take(rest, width)?;
    let length = bytes.iter().rev().fold(0_u64, |length, &byte| length << 8 | u64::from(byte));
    let length = usize::try_from(length).map_err(|error| error.to_string())?;
    String::from_utf8(take(rest, length)?.to_vec()).map_err(|error| error.to_string())
}

/// Python's `raw-unicode-escape`: Latin-1 with `\uXXXX` and `\UXXXXXXXX`.
fn unescaped(line: &[u8]) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = line;
    while let Some((&byte, tail)) = rest.split_first() {
        let width = match (byte, tail.first()) {
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            _ => 0,
        };
        if width == 0 {
            text.push(char::from(byte));
            rest = tail;
            continue;
        }
        let digits = tail.get(1..=width).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        text.push(code.and_then(char::from_u32).ok_or("the pickle holds a broken escape")?);
        rest = &tail[width + 1..];
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `pickle.dumps("a\né\\", protocol)` for protocols 0 to 5.
    const PICKLES: [&[u8]; 6] = [
        b"Va\\u000a\xe9\\u005c\np0\n.",
        b"X\x05\0\0\0a\n\xc3\xa9\\q\0.",
        b"\x80\x02X\x05\0\0\0a\n\xc3\xa9\\q\0.",
        b"\x80\x03X\x05\0\0\0a\n\xc3\xa9\\q\0.",
        b"\x80\x04\x95\x09\0\0\0\0\0\0\0\x8c\x05a\n\xc3\xa9\\\x94.",
        b"\x80\x05\x95\x09\0\0\0\0\0\0\0\x8c\x05a\n\xc3\xa9\\\x94.",
    ];

    #[test]
    fn a_string_is_read_in_every_protocol() {
        for pickle in PICKLES {
            assert_eq!(read_string(pickle).unwrap(), "a\né\\");
        }
    }

    #[test]
    fn a_pickle_that_does_more_is_refused() {
        let calls_something =
            b"\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R\x94.";
        assert!(read_string(calls_something).unwrap_err().contains("opcode 0x8c"));
        assert!(read_string(b"cposix\nsystem\n.").unwrap_err().contains("opcode 0x63"));
        assert!(read_string(b"\x80\x04K\x01.").unwrap_err().contains("opcode 0x4b"));
        assert!(read_string(b"\x80\x04.").unwrap_err().contains("no string"));
        assert!(read_string(b"X\xff\xff\xff\x7fabc.").unwrap_err().contains("breaks off"));
        assert!(read_string(b"X\0\0\0\0..").unwrap_err().contains("1 bytes follow"));
        assert!(read_string(b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff.").is_err());
        assert!(read_string(b"").is_err());
    }
}
