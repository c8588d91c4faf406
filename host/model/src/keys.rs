//! What the keys of a checkpoint's files are to us: read, without effect, or refused.
//!
//! Other libraries add keys all the time. Most change nothing, some change everything, and a key
//! that is ignored makes another model than the file describes. So every file has a
//! list, and what stands on none is refused by its name.

use serde_json::{Map, Value};

use troupe_core::error::nearest;

/// Characters of a value that a message shows.
const SHOWN: usize = 80;

/// The keys that a file may have; `null` counts as left out.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    /// Those that are read, list by list.
    pub(super) heeded: &'static [&'static [&'static str]],
    /// Those that change nothing here, whatever they say.
    pub(super) idle: &'static [&'static str],
    /// Those that would change something that is not done, with the values, written as JSON, at
    /// which they change nothing.
    pub(super) fixed: &'static [(&'static str, &'static [&'static str])],
}

impl Keys {
    /// Refuse the first key that would be passed over although it may mean something.
    pub(super) fn check(&self, entries: &Map<String, Value>) -> Result<(), String> {
        let mut present = entries.iter().filter(|(_, value)| !value.is_null());
        present.try_for_each(|(key, value)| self.check_one(key, value))
    }

    fn check_one(&self, key: &str, value: &Value) -> Result<(), String> {
        if self.heeded.iter().any(|list| list.contains(&key)) || self.idle.contains(&key) {
            return Ok(());
        }
        let fixed = self.fixed.iter().find(|(fixed, _)| *fixed == key);
        match fixed {
            Some((_, neutral)) if neutral.iter().any(|text| says(value, text)) => Ok(()),
            Some((_, neutral)) => Err(format!(
                "`{key}` is `{}`, which is not supported; {}",
                shown(value),
                instead(neutral)
            )),
            None => Err(format!(
                "`{key}` is `{}`, and what that would change is not known here{}; if it changes \
                 nothing, remove the key",
                shown(value),
                self.meant(key)
            )),
        }
    }

    fn meant(&self, key: &str) -> String {
        let known = self.heeded.iter().copied().flatten().copied();
        match nearest(key, known.chain(self.fixed.iter().map(|(fixed, _)| *fixed))) {
            Some(meant) => format!(" (is it `{meant}`?)"),
            None => String::new(),
        }
    }
}

/// Whether a value is this JSON; `0` and `0.0` are one number.
pub fn says(value: &Value, text: &str) -> bool {
    let wanted: Value = serde_json::from_str(text).unwrap_or_default();
    match (value.as_f64(), wanted.as_f64()) {
        (Some(value), Some(wanted)) => value == wanted,
        _ => *value == wanted,
    }
}

fn instead(neutral: &[&str]) -> String {
    match neutral {
        [] => "only without it is the checkpoint understood".to_owned(),
        [only] => format!("only `{only}` is"),
        several => {
            let quoted: Vec<String> = several.iter().map(|text| format!("`{text}`")).collect();
            format!("only {} are", quoted.join(", "))
        }
    }
}

/// A value as a message shows it.
pub fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.escape_debug().to_string(),
        other => other.to_string(),
    };
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEYS: Keys = Keys {
        heeded: &[&["width"], &["depth"]],
        idle: &["author"],
        fixed: &[("bias", &["false"]), ("scale", &["1", "\"one\""]), ("code", &[])],
    };

    fn check(entries: Value) -> Result<(), String> {
        KEYS.check(entries.as_object().unwrap())
    }

    #[test]
    fn what_is_read_or_without_effect_passes() {
        check(json!({ "width": 3, "depth": "x", "author": [1], "code": null, "odd": null }))
            .unwrap();
        check(json!({ "bias": false, "scale": 1.0 })).unwrap();
        check(json!({ "scale": "one" })).unwrap();
    }

    #[test]
    fn everything_else_is_refused_by_its_name_and_value() {
        for (entries, expected) in [
            (json!({ "bias": true }), "`bias` is `true`, which is not supported; only `false` is"),
            (json!({ "scale": 2 }), "only `1`, `\"one\"` are"),
            (json!({ "code": "x" }), "`code` is `x`, which is not supported; only without it"),
            (
                json!({ "widht": 3 }),
                "`widht` is `3`, and what that would change is not known here (is it `width`?)",
            ),
            (json!({ "zzzzzzzzzz": vec!["long"; 40] }), "…`, and"),
        ] {
            let error = check(entries).unwrap_err();
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }
}
