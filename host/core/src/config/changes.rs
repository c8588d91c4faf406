//! What a configuration says that the defaults do not.

use serde::Serialize;
use toml::{Table, Value};

use super::{Config, MixConfig, PolicyConfig};

/// A setting that is not as it would be by itself.
#[derive(Debug, PartialEq, Serialize)]
pub struct Change {
    /// Its key with its table.
    pub key: String,
    /// What it would be, as TOML; nothing if it would not be there.
    pub default: Option<String>,
    /// What it is; nothing if it is not there.
    pub value: Option<String>,
}

/// How a configuration differs from the defaults.
///
/// # Errors
/// If the text is not TOML: what the parser says.
pub fn changes(config: &str) -> Result<Vec<Change>, toml::de::Error> {
    let table: Table = config.parse()?;
    let defaults: Table = defaults_of(&table).to_toml().parse()?;
    let (mut now, mut then) = (Vec::new(), Vec::new());
    flatten("", &Value::Table(table), &mut now);
    flatten("", &Value::Table(defaults), &mut then);
    let value = |among: &[(String, String)], key: &str| {
        among.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone())
    };
    let mut keys: Vec<&String> = now.iter().chain(&then).map(|(key, _)| key).collect();
    keys.sort();
    keys.dedup();
    let change = |key: &String| Change {
        key: key.clone(),
        default: value(&then, key),
        value: value(&now, key),
    };
    Ok(keys.into_iter().map(change).filter(|change| change.default != change.value).collect())
}

/// The defaults, with as many policies and families as the configuration has.
fn defaults_of(table: &Table) -> Config {
    let policies = table.get("policies").and_then(Value::as_table);
    let names = policies.into_iter().flat_map(Table::keys);
    let families = table.get("mix").and_then(Value::as_array).map_or(0, Vec::len);
    Config {
        policies: names.map(|name| (name.clone(), PolicyConfig::default())).collect(),
        mix: vec![MixConfig::default(); families],
        ..Config::default()
    }
}

fn flatten(key: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Table(table) => {
            for (name, value) in table {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                flatten(&key, value, found);
            }
        }
        Value::Array(values) if values.iter().any(Value::is_table) => {
            for (index, value) in values.iter().enumerate() {
                flatten(&format!("{key}.{index}"), value, found);
            }
        }
        value => found.push((key.to_owned(), value.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_listed_with_both_values() {
        let mut config = Config::default();
        config.train.steps = 7;
        config.environment.insert("walls".to_owned(), Value::Integer(3));
        let change = |key: &str, default: Option<&str>, value: &str| Change {
            key: key.to_owned(),
            default: default.map(str::to_owned),
            value: Some(value.to_owned()),
        };
        let steps = Config::default().train.steps.to_string();
        assert_eq!(
            changes(&config.to_toml()).unwrap(),
            [change("environment.walls", None, "3"), change("train.steps", Some(&steps), "7")]
        );
        assert!(changes(&Config::default().to_toml()).unwrap().is_empty());
        assert!(changes("steps =").is_err());
    }

    #[test]
    fn a_setting_that_is_gone_or_of_a_policy_or_family_is_found() {
        let found = changes("[[mix]]\nfamily = \"a\"\n[policies.p]\nlayers = 9\n").unwrap();
        let of = |key: &str| found.iter().find(|change| change.key == key).unwrap();
        assert_eq!(of("mix.0.family").default, None);
        let layers = PolicyConfig::default().layers.to_string();
        assert_eq!(of("policies.p.layers").default, Some(layers));
        assert!(found.iter().any(|change| change.key == "train.steps" && change.value.is_none()));
    }
}
