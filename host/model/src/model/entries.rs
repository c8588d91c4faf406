//! A JSON object read key by key; what does not fit is refused by its key.

use serde_json::{Map, Value};

use crate::keys::Keys;

/// A JSON object and how errors call it. `null` counts as left out.
#[derive(Clone, Copy)]
pub struct Entries<'a> {
    /// Stands before keys in errors: empty, or `rope_scaling.` for what lies in there.
    prefix: &'a str,
    map: &'a Map<String, Value>,
}

impl<'a> Entries<'a> {
    /// The entries of a whole file.
    pub fn of(map: &'a Map<String, Value>) -> Self {
        Entries { prefix: "", map }
    }

    /// Whether the key is there, be it as `null`.
    pub(super) fn mentions(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    /// All keys, in the order of the file.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.map.keys().map(String::as_str)
    }

    /// Whether it says all that another object says.
    pub(super) fn repeats(&self, other: &Entries) -> bool {
        other.map.iter().all(|(key, value)| self.map.get(key) == Some(value))
    }

    /// Refuse what is said here and the code would ignore.
    pub(super) fn check(&self, keys: &Keys) -> Result<(), String> {
        let place = self.prefix.trim_end_matches('.');
        keys.check(self.map).map_err(|reason| format!("`{place}`: {reason}"))
    }

    /// The key as errors name it.
    pub(super) fn name(&self, key: &str) -> String {
        format!("`{}{key}`", self.prefix)
    }

    /// Anything but `null`.
    pub(super) fn value(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// A whole number; `8192.0` is one too.
    pub(super) fn integer(&self, key: &str) -> Result<Option<i64>, String> {
        let whole = |value: &Value| {
            let float = || value.as_f64().filter(|number| number.fract() == 0.0);
            value.as_i64().or_else(|| float().map(|number| number as i64))
        };
        self.read(key, "a whole number", whole)
    }

    /// A number.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, String> {
        self.read(key, "a number", Value::as_f64)
    }

    /// `true` or `false`.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, String> {
        self.read(key, "`true` or `false`", Value::as_bool)
    }

    /// A text.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, String> {
        self.read(key, "a text", Value::as_str)
    }

    /// A list of whole numbers.
    pub(super) fn integers(&self, key: &str) -> Result<Option<Vec<i64>>, String> {
        let list = |value: &Value| -> Option<Vec<i64>> {
            value.as_array()?.iter().map(Value::as_i64).collect()
        };
        self.read(key, "a list of whole numbers", list)
    }

    /// A list of texts; empty if left out.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, String> {
        let list = |value: &Value| -> Option<Vec<String>> {
            value.as_array()?.iter().map(|text| Some(text.as_str()?.to_owned())).collect()
        };
        Ok(self.read(key, "a list of texts", list)?.unwrap_or_default())
    }

    /// Token ids, written as one or as a list of them; `-1` stands for none.
    pub(super) fn token_ids(&self, key: &str) -> Result<Vec<u32>, String> {
        let id = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let ids = |value: &Value| match value {
            Value::Array(ids) => ids.iter().map(id).collect(),
            value if value.as_i64() == Some(-1) => Some(Vec::new()),
            value => Some(vec![id(value)?]),
        };
        Ok(self.read(key, "a token id or a list of them", ids)?.unwrap_or_default())
    }

    /// An object within the object.
    pub(super) fn object(&self, key: &str, prefix: &'a str) -> Result<Option<Entries<'a>>, String> {
        let map = self.read(key, "an object", Value::as_object)?;
        Ok(map.map(|map| Entries { prefix, map }))
    }

    /// What must be there.
    pub(super) fn required<T>(&self, key: &str, value: Option<T>) -> Result<T, String> {
        value.ok_or_else(|| format!("{} is missing; is the file complete?", self.name(key)))
    }

    fn read<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(format!("{} is `{value}`, but must be {expected}", self.name(key))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn null_counts_as_left_out_and_whole_floats_as_integers() {
        let map = map(serde_json::json!({ "a": null, "b": 8192.0, "c": [1, 2], "d": -1, "e": 7 }));
        let entries = Entries::of(&map);
        assert_eq!(entries.integer("a").unwrap(), None);
        assert!(entries.mentions("a") && !entries.mentions("z"));
        assert_eq!(entries.integer("b").unwrap(), Some(8192));
        assert_eq!(entries.token_ids("c").unwrap(), [1, 2]);
        assert!(entries.token_ids("d").unwrap().is_empty());
        assert_eq!(entries.token_ids("e").unwrap(), [7]);
    }

    #[test]
    fn what_does_not_fit_is_named_with_what_was_expected() {
        let map = map(serde_json::json!({ "a": "x", "b": 1.5, "rope": { "factor": [] } }));
        let entries = Entries::of(&map);
        assert_eq!(entries.integer("b").unwrap_err(), "`b` is `1.5`, but must be a whole number");
        assert!(entries.token_ids("a").unwrap_err().contains("a token id or a list of them"));
        assert!(entries.flag("a").unwrap_err().contains("`true` or `false`"));
        let rope = entries.object("rope", "rope.").unwrap().unwrap();
        assert!(rope.number("factor").unwrap_err().starts_with("`rope.factor` is `[]`"));
        assert!(rope.required::<i64>("size", None).unwrap_err().starts_with("`rope.size`"));
    }
}
