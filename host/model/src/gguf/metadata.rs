//! What a file says of itself: names and values.

use std::collections::BTreeMap;

use super::reader::Reader;

/// Entries of a file; ten times what the largest have.
const MOST_ENTRIES: u64 = 1 << 12;
/// The type of texts, and that of lists.
const TEXT: u32 = 8;
const LIST: u32 = 9;

/// Names and values.
#[derive(Debug)]
pub(super) struct Metadata<'f> {
    entries: BTreeMap<&'f str, Value<'f>>,
}

#[derive(Clone, Debug)]
enum Value<'f> {
    Whole(i128),
    Number(f64),
    Flag(bool),
    Text(&'f str),
    List(List<'f>),
}

/// A list as it lies in the file: what it costs is paid when it is read.
#[derive(Clone, Debug)]
struct List<'f> {
    kind: u32,
    count: usize,
    items: Reader<'f>,
}

impl<'f> Metadata<'f> {
    pub(super) fn read(reader: &mut Reader<'f>, count: u64) -> Result<Self, String> {
        if count > MOST_ENTRIES {
            return Err(format!("it has {count} entries, but at most {MOST_ENTRIES} are read"));
        }
        let mut entries = BTreeMap::new();
        for _ in 0..count {
            let name = reader.text()?;
            let kind = reader.u32()?;
            let value =
                Value::read(reader, kind).map_err(|reason| format!("`{name}`: {reason}"))?;
            if entries.insert(name, value).is_some() {
                return Err(format!("it is damaged: `{name}` is there twice"));
            }
        }
        Ok(Metadata { entries })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'f str> {
        self.entries.keys().copied()
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'f str>, String> {
        self.get(name, "a text", |value| match value {
            Value::Text(text) => Some(*text),
            _ => None,
        })
    }

    pub(super) fn whole(&self, name: &str) -> Result<Option<u64>, String> {
        self.get(name, "a whole number", |value| match value {
            Value::Whole(whole) => u64::try_from(*whole).ok(),
            _ => None,
        })
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<f64>, String> {
        self.get(name, "a number", |value| match value {
            Value::Number(number) => Some(*number),
            Value::Whole(whole) => Some(*whole as f64),
            _ => None,
        })
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, String> {
        self.get(name, "true or false", |value| match value {
            Value::Flag(flag) => Some(*flag),
            _ => None,
        })
    }

    /// A list of texts; at most `most` of them.
    pub(super) fn texts(&self, name: &str, most: usize) -> Result<Vec<&'f str>, String> {
        let mut list = self.list(name, most)?;
        if list.kind != TEXT && list.count > 0 {
            return Err(format!("`{name}` must be a list of texts"));
        }
        (0..list.count).map(|_| list.items.text()).collect()
    }

    /// A list of whole numbers; at most `most` of them.
    pub(super) fn wholes(&self, name: &str, most: usize) -> Result<Vec<i64>, String> {
        let mut list = self.list(name, most)?;
        let wholes = (0..list.count).map(|_| match Value::read(&mut list.items, list.kind)? {
            Value::Whole(whole) => i64::try_from(whole).map_err(|error| error.to_string()),
            _ => Err(format!("`{name}` must be a list of whole numbers")),
        });
        wholes.collect()
    }

    /// What must be there.
    pub(super) fn required<T>(&self, name: &str, value: Option<T>) -> Result<T, String> {
        value.ok_or_else(|| format!("it does not say `{name}`; is the file a language model?"))
    }

    fn list(&self, name: &str, most: usize) -> Result<List<'f>, String> {
        let list = self.get(name, "a list", |value| match value {
            Value::List(list) => Some(list.clone()),
            _ => None,
        })?;
        let list = self.required(name, list)?;
        if list.count > most {
            let count = list.count;
            return Err(format!("`{name}` has {count} items, but at most {most} are possible"));
        }
        Ok(list)
    }

    fn get<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Value<'f>) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let Some(value) = self.entries.get(name) else { return Ok(None) };
        match read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(format!("`{name}` is {}, but must be {expected}", value.shown())),
        }
    }
}

impl<'f> Value<'f> {
    fn read(reader: &mut Reader<'f>, kind: u32) -> Result<Self, String> {
        Ok(match kind {
            0 => Value::Whole(u8::from_le_bytes(reader.array()?).into()),
            1 => Value::Whole(i8::from_le_bytes(reader.array()?).into()),
            2 => Value::Whole(u16::from_le_bytes(reader.array()?).into()),
            3 => Value::Whole(i16::from_le_bytes(reader.array()?).into()),
            4 => Value::Whole(reader.u32()?.into()),
            5 => Value::Whole(i32::from_le_bytes(reader.array()?).into()),
            6 => Value::Number(f32::from_le_bytes(reader.array()?).into()),
            7 => Value::Flag(reader.array::<1>()? != [0]),
            TEXT => Value::Text(reader.text()?),
            LIST => Value::List(List::read(reader)?),
            10 => Value::Whole(reader.u64()?.into()),
            11 => Value::Whole(i64::from_le_bytes(reader.array()?).into()),
            12 => Value::Number(f64::from_le_bytes(reader.array()?)),
            kind => return Err(format!("values of type {kind} are unknown")),
        })
    }

    fn shown(&self) -> String {
        match self {
            Value::Whole(whole) => format!("`{whole}`"),
            Value::Number(number) => format!("`{number}`"),
            Value::Flag(flag) => format!("`{flag}`"),
            Value::Text(_) => "a text".to_owned(),
            Value::List(list) => format!("a list of {}", list.count),
        }
    }
}

impl<'f> List<'f> {
    /// Note where a list is, and go past it.
    fn read(reader: &mut Reader<'f>) -> Result<Self, String> {
        let kind = reader.u32()?;
        let count = usize::try_from(reader.u64()?).unwrap_or(usize::MAX);
        let items = reader.clone();
        let size = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            TEXT => {
                for _ in 0..count {
                    reader.text()?;
                }
                0
            }
            LIST => return Err("lists of lists are not read".to_owned()),
            kind => return Err(format!("values of type {kind} are unknown")),
        };
        reader.take(count.saturating_mul(size))?;
        Ok(List { kind, count, items })
    }
}
