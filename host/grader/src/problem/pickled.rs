//! One string out of a Python pickle.
//!
//! A pickle is a program that can call anything. This reads just the opcodes
//! that `pickle.dumps` of a single `str` writes, in protocols 0 to 5, and
//! refuses all others by name.

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

/// Why a pickle is not one text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PickleError {
    /// It would do something else than hold a text.
    #[error(
        "the pickle holds more than a text: its opcode {name} ({opcode:#04x}) is refused, and \
         nothing of it was run"
    )]
    Opcode {
        /// Python's name of it.
        name: &'static str,
        /// The byte.
        opcode: u8,
    },
    /// It holds another number of texts.
    #[error("the pickle holds {0} texts, where one is expected")]
    Texts(usize),
    /// It is damaged.
    #[error("the pickle is damaged: {0}")]
    Damaged(String),
}

fn damaged(reason: impl ToString) -> PickleError {
    PickleError::Damaged(reason.to_string())
}

/// The string; the error says what there is instead.
pub(super) fn read_string(pickle: &[u8]) -> Result<String, PickleError> {
    let mut rest = pickle;
    let mut content: Option<String> = None;
    let mut texts = 0;
    loop {
        let opcode = take(&mut rest, 1)?[0];
        match opcode {
            PROTO | PUT => _ = take(&mut rest, 1)?,
            FRAME => _ = take(&mut rest, 8)?,
            LONG_PUT => _ = take(&mut rest, 4)?,
            TEXT_PUT => _ = take_line(&mut rest)?,
            MEMOIZE => {}
            TEXT_UNICODE | SHORT_UNICODE | UNICODE | LONG_UNICODE => {
                let text = match opcode {
                    TEXT_UNICODE => take_line(&mut rest)?,
                    _ => counted(&mut rest, opcode)?,
                };
                texts += 1;
                // A second one is only counted: what comes after it has the better name.
                if texts == 1 {
                    content = Some(decoded(text, opcode)?);
                }
            }
            STOP if !rest.is_empty() => {
                return Err(damaged(format!("{} bytes follow its end", rest.len())));
            }
            STOP => break,
            other => return Err(PickleError::Opcode { name: name_of(other), opcode: other }),
        }
    }
    content.filter(|_| texts == 1).ok_or(PickleError::Texts(texts))
}

/// What Python calls an opcode that is not read here.
fn name_of(opcode: u8) -> &'static str {
    const NAMES: [(u8, &str); 57] = [
        (b'(', "MARK"),
        (b'0', "POP"),
        (b'1', "POP_MARK"),
        (b'2', "DUP"),
        (b'F', "FLOAT"),
        (b'I', "INT"),
        (b'J', "BININT"),
        (b'K', "BININT1"),
        (b'L', "LONG"),
        (b'M', "BININT2"),
        (b'N', "NONE"),
        (b'P', "PERSID"),
        (b'Q', "BINPERSID"),
        (b'R', "REDUCE"),
        (b'S', "STRING"),
        (b'T', "BINSTRING"),
        (b'U', "SHORT_BINSTRING"),
        (b'a', "APPEND"),
        (b'b', "BUILD"),
        (b'c', "GLOBAL"),
        (b'd', "DICT"),
        (b'}', "EMPTY_DICT"),
        (b'e', "APPENDS"),
        (b'g', "GET"),
        (b'h', "BINGET"),
        (b'i', "INST"),
        (b'j', "LONG_BINGET"),
        (b'l', "LIST"),
        (b']', "EMPTY_LIST"),
        (b'o', "OBJ"),
        (b's', "SETITEM"),
        (b't', "TUPLE"),
        (b')', "EMPTY_TUPLE"),
        (b'u', "SETITEMS"),
        (b'G', "BINFLOAT"),
        (b'B', "BINBYTES"),
        (b'C', "SHORT_BINBYTES"),
        (0x81, "NEWOBJ"),
        (0x82, "EXT1"),
        (0x83, "EXT2"),
        (0x84, "EXT4"),
        (0x85, "TUPLE1"),
        (0x86, "TUPLE2"),
        (0x87, "TUPLE3"),
        (0x88, "NEWTRUE"),
        (0x89, "NEWFALSE"),
        (0x8a, "LONG1"),
        (0x8b, "LONG4"),
        (0x8e, "BINBYTES8"),
        (0x8f, "EMPTY_SET"),
        (0x90, "ADDITEMS"),
        (0x91, "FROZENSET"),
        (0x92, "NEWOBJ_EX"),
        (0x93, "STACK_GLOBAL"),
        (0x96, "BYTEARRAY8"),
        (0x97, "NEXT_BUFFER"),
        (0x98, "READONLY_BUFFER"),
    ];
    NAMES.iter().find(|(byte, _)| *byte == opcode).map_or("of no name", |(_, name)| name)
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], PickleError> {
    if rest.len() < count {
        return Err(damaged("it breaks off"));
    }
    let (head, tail) = rest.split_at(count);
    *rest = tail;
    Ok(head)
}

/// Up to the next line end, which is taken as well.
fn take_line<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], PickleError> {
    let end =
        rest.iter().position(|&byte| byte == b'\n').ok_or_else(|| damaged("it breaks off"))?;
    let line = take(rest, end)?;
    take(rest, 1)?;
    Ok(line)
}

/// The bytes after their count.
fn counted<'a>(rest: &mut &'a [u8], opcode: u8) -> Result<&'a [u8], PickleError> {
    let width = match opcode {
        SHORT_UNICODE => 1,
        UNICODE => 4,
        _ => 8,
    };
    let bytes = take(rest, width)?;
    let length = bytes.iter().rev().fold(0_u64, |length, &byte| length << 8 | u64::from(byte));
    take(rest, usize::try_from(length).map_err(damaged)?)
}

fn decoded(text: &[u8], opcode: u8) -> Result<String, PickleError> {
    match opcode {
        TEXT_UNICODE => unescaped(text),
        _ => std::str::from_utf8(text).map(str::to_owned).map_err(damaged),
    }
}

/// Python's `raw-unicode-escape`: Latin-1 with `\uXXXX` and `\UXXXXXXXX`.
fn unescaped(line: &[u8]) -> Result<String, PickleError> {
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
        text.push(code.and_then(char::from_u32).ok_or_else(|| damaged("an escape is broken"))?);
        rest = &tail[width + 1..];
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn a_pickle_that_does_more_is_refused_by_the_name_of_what_it_does() {
        let refused = |pickle: &[u8]| read_string(pickle).unwrap_err().to_string();
        let calls_something =
            b"\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R\x94.";
        assert!(refused(calls_something).contains("STACK_GLOBAL (0x93)"));
        assert!(refused(b"cposix\nsystem\n(S'true'\ntR.").contains("GLOBAL (0x63)"));
        assert!(refused(b"Vtrue\nR.").contains("REDUCE (0x52)"));
        assert!(refused(b"\x80\x04K\x01.").contains("BININT1 (0x4b)"));
        assert!(refused(b"\xff").contains("of no name (0xff)"));
    }

    #[test]
    fn a_pickle_that_is_damaged_or_not_one_text_is_refused() {
        let refused = |pickle: &[u8]| read_string(pickle).unwrap_err();
        assert_eq!(refused(b"\x80\x04."), PickleError::Texts(0));
        assert_eq!(refused(b"Va\nVb\n."), PickleError::Texts(2));
        assert_eq!(refused(b"X\xff\xff\xff\x7fabc."), damaged("it breaks off"));
        assert_eq!(refused(b"X\0\0\0\0.."), damaged("1 bytes follow its end"));
        assert_eq!(refused(b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff."), damaged("it breaks off"));
        assert_eq!(refused(b""), damaged("it breaks off"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(pickle in prop::collection::vec(any::<u8>(), 0..64)) {
            _ = read_string(&pickle);
        }
    }
}
