//! The settings as a JSON schema, for editors: from the same table as `docs/config.md`.

use serde_json::{Map, Value, json};

use super::Config;
use super::table::{Kind, Setting};

/// A name that the user chooses.
const ANY_NAME: &str = "<name>";
/// Tables of which a configuration has a list; their keys do not tell.
const LISTS: [&str; 1] = ["mix"];

impl Config {
    /// A JSON schema (draft 2020-12) of configurations.
    pub fn schema() -> Value {
        let mut schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "A configuration of `host`",
        });
        let settings = Config::settings();
        let keyed: Vec<(Vec<&str>, &Setting)> =
            settings.iter().map(|setting| (setting.key.split('.').collect(), setting)).collect();
        let below: Vec<(&[&str], &Setting)> =
            keyed.iter().map(|(key, setting)| (&key[..], *setting)).collect();
        merge(&mut schema, table(&below));
        schema
    }
}

fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}

/// A table of the settings at these keys.
fn table(settings: &[(&[&str], &Setting)]) -> Value {
    let mut properties = Map::new();
    let mut others = json!(false);
    for (key, _) in settings {
        let Some(&name) = key.first() else { continue };
        if properties.contains_key(name) || (name == ANY_NAME && others != json!(false)) {
            continue;
        }
        let own: Vec<(&[&str], &Setting)> = (settings.iter())
            .filter(|(key, _)| key.first() == Some(&name))
            .map(|(key, setting)| (&key[1..], *setting))
            .collect();
        let mut described = setting(&own);
        if LISTS.contains(&name) {
            described = json!({ "type": "array", "items": described });
        }
        if name == ANY_NAME {
            others = described;
        } else {
            properties.insert(name.to_owned(), described);
        }
    }
    json!({ "type": "object", "properties": properties, "additionalProperties": others })
}

/// A setting, or a table, or what may be both.
fn setting(own: &[(&[&str], &Setting)]) -> Value {
    let itself = own.iter().find(|(key, _)| key.is_empty()).map(|(_, setting)| *setting);
    let below: Vec<(&[&str], &Setting)> =
        own.iter().filter(|(key, _)| !key.is_empty()).copied().collect();
    match itself {
        None => table(&below),
        Some(itself) => {
            let mut described = match below.is_empty() {
                true => kind(&itself.accepts),
                false => json!({ "anyOf": [kind(&itself.accepts), table(&below)] }),
            };
            merge(&mut described, json!({ "description": itself.meaning }));
            let default = format!("x = {}", itself.default).parse::<toml::Table>();
            if let Some(default) = default.ok().and_then(|mut table| table.remove("x")) {
                merge(&mut described, json!({ "default": default }));
            }
            described
        }
    }
}

/// What a setting accepts, from how that is said in words; anything, where words are not enough.
fn kind(accepts: &str) -> Value {
    if let Some(each) = accepts.strip_prefix("a list, each ") {
        return json!({ "type": "array", "items": kind(each) });
    }
    for (words, name) in [("a whole number", "integer"), ("a number", "number")] {
        if let Some(range) = accepts.strip_prefix(words) {
            let mut described = json!({ "type": name });
            merge(&mut described, bounds(range));
            return described;
        }
    }
    match accepts {
        "true or false" => json!({ "type": "boolean" }),
        "a text" | "a path" => json!({ "type": "string" }),
        "a table" | "a table for each name" => json!({ "type": "object" }),
        _ => {
            let choices: Option<Vec<Value>> =
                accepts.split(" or ").map(|choice| serde_json::from_str(choice).ok()).collect();
            choices.map_or_else(|| json!({}), |choices| json!({ "enum": choices }))
        }
    }
}

/// ` from 0 to 1`, ` above 0, at most 1`, ` from 0, below 1`.
fn bounds(range: &str) -> Value {
    let mut bounds = Map::new();
    for (words, bound) in [
        (" from ", "minimum"),
        (" to ", "maximum"),
        (" above ", "exclusiveMinimum"),
        (" at most ", "maximum"),
        (" below ", "exclusiveMaximum"),
    ] {
        let number = range.split_once(words).map(|(_, rest)| {
            let end = rest.find([' ', ',']).unwrap_or(rest.len());
            rest[..end].replace('_', "")
        });
        if let Some(number) = number.and_then(|number| number.parse::<serde_json::Number>().ok()) {
            bounds.insert(bound.to_owned(), Value::Number(number));
        }
    }
    Value::Object(bounds)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn a_range_in_words_is_one_in_numbers() {
        assert_eq!(
            kind("a whole number from 1 to 1_000"),
            json!({ "type": "integer", "minimum": 1, "maximum": 1000 })
        );
        assert_eq!(
            kind("a number above 0, at most 0.5"),
            json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 0.5 })
        );
        assert_eq!(
            kind("a number from -1000, below 1"),
            json!({ "type": "number", "minimum": -1000, "exclusiveMaximum": 1 })
        );
        assert_eq!(kind("\"on\" or \"off\""), json!({ "enum": ["on", "off"] }));
        assert_eq!(
            kind("a list, each a path"),
            json!({ "type": "array", "items": { "type": "string" } })
        );
        assert_eq!(kind("\"words\" or { choices = [texts] }"), json!({}));
    }

    #[test]
    fn every_number_in_the_schema_has_its_bounds() {
        fn walk(schema: &Value, key: &str) {
            if let Value::Object(fields) = schema {
                let is_number =
                    ["integer", "number"].iter().any(|it| fields.get("type") == Some(&json!(it)));
                if is_number {
                    assert!(
                        fields.keys().any(|name| name.to_lowercase().contains("minimum")),
                        "{key}"
                    );
                    assert!(
                        fields.keys().any(|name| name.to_lowercase().contains("maximum")),
                        "{key}"
                    );
                }
                fields.iter().for_each(|(name, below)| walk(below, &format!("{key}.{name}")));
            } else if let Value::Array(below) = schema {
                below.iter().for_each(|below| walk(below, key));
            }
        }
        walk(&Config::schema(), "");
    }

    /// Whether a value is allowed, as far as these schemas go.
    fn allows(schema: &Value, value: &Value) -> bool {
        if let Some(any) = schema["anyOf"].as_array() {
            return any.iter().any(|one| allows(one, value));
        }
        if let Some(choices) = schema["enum"].as_array() {
            return choices.contains(value);
        }
        let number = |name: &str| schema[name].as_f64();
        match (schema["type"].as_str(), value) {
            (None, _) | (Some("string"), Value::String(_)) | (Some("boolean"), Value::Bool(_)) => {
                true
            }
            (Some("array"), Value::Array(all)) => {
                all.iter().all(|one| allows(&schema["items"], one))
            }
            (Some("integer" | "number"), Value::Number(found)) => {
                let found = found.as_f64().unwrap();
                number("minimum").is_none_or(|low| found >= low)
                    && number("maximum").is_none_or(|high| found <= high)
                    && number("exclusiveMinimum").is_none_or(|low| found > low)
                    && number("exclusiveMaximum").is_none_or(|high| found < high)
            }
            (Some("object"), Value::Object(fields)) => fields.iter().all(|(name, value)| {
                match (schema["properties"].get(name), &schema["additionalProperties"]) {
                    (Some(known), _) => allows(known, value),
                    (None, Value::Bool(allowed)) => *allowed,
                    (None, Value::Null) => true,
                    (None, other) => allows(other, value),
                }
            }),
            _ => false,
        }
    }

    fn configurations(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("experiments") && !path.ends_with("methods") {
                configurations(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "toml") {
                found.push(path);
            }
        }
    }

    #[test]
    fn every_shipped_configuration_fits_the_schema_and_what_is_misspelt_does_not() {
        let schema = Config::schema();
        let mut files = Vec::new();
        configurations(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs"), &mut files);
        assert!(files.len() > 20, "{files:?}");
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let value = serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap();
            assert!(allows(&schema, &value), "{}", file.display());
        }
        for wrong in [
            json!({ "train": { "step": 3 } }),
            json!({ "train": { "steps": -1 } }),
            json!({ "rollout": { "scheme": "no" } }),
            json!({ "policies": { "x": { "lora": { "ranks": 3 } } } }),
        ] {
            assert!(!allows(&schema, &wrong), "{wrong}");
        }
    }
}
