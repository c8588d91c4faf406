//! Settings by their names.

use super::table::{Kind, Setting};
use super::{Config, ConfigError};
use crate::error::suggestion;

impl Config {
    /// The setting of this key, or all of the table of this name.
    ///
    /// # Errors
    /// If there is neither.
    pub fn described(key: &str) -> Result<Vec<Setting>, ConfigError> {
        let settings = Config::settings();
        let own: Vec<Setting> =
            settings.iter().filter(|setting| setting.is(key)).cloned().collect();
        if !own.is_empty() {
            return Ok(own);
        }
        let depth = key.split('.').count();
        let in_table = |setting: &&Setting| {
            let head: Vec<&str> = setting.key.split('.').take(depth).collect();
            setting.key.split('.').count() > depth
                && Setting { key: head.join("."), ..(*setting).clone() }.is(key)
        };
        let table: Vec<Setting> = settings.iter().filter(in_table).cloned().collect();
        if !table.is_empty() {
            return Ok(table);
        }
        let known = settings.iter().map(|setting| setting.key.as_str()).collect::<Vec<_>>();
        Err(ConfigError::UnknownKey { key: key.to_owned(), suggestion: suggestion(key, known) })
    }

    /// The value of a key, as TOML; nothing if it is not set.
    pub fn value_of(&self, key: &str) -> Option<String> {
        let mut value = &toml::Value::try_from(self).ok()?;
        for part in key.split('.') {
            value = value.get(part)?;
        }
        Some(value.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_setting_and_a_table_all_of_its_own() {
        let keys = |key: &str| {
            let settings = Config::described(key).unwrap();
            settings.into_iter().map(|setting| setting.key).collect::<Vec<_>>()
        };
        assert_eq!(keys("train.learning_rate"), ["train.learning_rate"]);
        assert_eq!(keys("policies.planner.lora.rank"), ["policies.<name>.lora.rank"]);
        assert!(keys("train.budget").iter().all(|key| key.starts_with("train.budget.")));
        assert!(keys("policies.planner").contains(&"policies.<name>.path".to_owned()));
        let error = Config::described("train.learning_rat").unwrap_err().to_string();
        assert!(error.contains("did you mean `train.learning_rate`?"), "{error}");
    }

    #[test]
    fn a_value_is_that_of_the_configuration() {
        let config = Config::load(None, &["train.steps=7".to_owned()]).unwrap();
        assert_eq!(config.value_of("train.steps").as_deref(), Some("7"));
        assert_eq!(config.value_of("run.name"), None);
    }
}
