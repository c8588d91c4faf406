//! `allowed`: what answers may be.

use serde::{Deserialize, Serialize};

use super::check::require;
use super::table::Kind;
use super::{Config, ConfigError, PolicyConfig};

/// The rule that answers are drawn under.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Allowed {
    /// Words that the environment and the workflow declare, one or more, a space between them.
    Words,
    /// One of these texts.
    Choices(Vec<String>),
    /// JSON that fits a schema: a table, or a text of JSON, which keeps the order of properties.
    Schema(toml::Value),
}

impl Allowed {
    /// The JSON schema, if it is one.
    ///
    /// # Errors
    /// What is wrong with it and what would be right.
    pub fn schema(&self) -> Result<Option<serde_json::Value>, String> {
        let Allowed::Schema(schema) = self else { return Ok(None) };
        let schema = match schema {
            toml::Value::String(text) => serde_json::from_str(text),
            other => serde_json::to_value(other),
        };
        match schema {
            Ok(schema) if schema.is_object() => Ok(Some(schema)),
            Ok(_) => Err("a schema is a table, or a text with a JSON object".to_owned()),
            Err(error) => Err(format!("the schema is not JSON: {error}")),
        }
    }
}

impl Kind for Allowed {
    fn accepts() -> String {
        "\"words\", { choices = [texts] } or { schema = a JSON schema }".to_owned()
    }

    fn choices() -> String {
        " `\"words\"`: words that the environment and the workflow declare, one or more, a space \
         between them. `choices`: one of these texts. `schema`: JSON that fits a schema, which is \
         a table or, to keep the order of its properties, a text of JSON."
            .to_owned()
    }

    fn check_ranges(&self, key: &str) -> Result<(), ConfigError> {
        if let Allowed::Choices(texts) = self {
            let key = &format!("{key}.choices");
            require(!texts.is_empty(), key, "nothing could be answered; name a text")?;
            let empty = texts.iter().any(|text| text.trim().is_empty());
            require(!empty, key, "an empty text is no answer; leave it out")?;
        }
        let refuse = |reason| ConfigError::Invalid { key: format!("{key}.schema"), reason };
        self.schema().map_err(refuse).map(drop)
    }
}

impl Config {
    /// What must hold of rules where policies are elsewhere.
    pub(super) fn check_allowed(&self) -> Result<(), ConfigError> {
        if let Some(allowed) = &self.rollout.allowed {
            let check = |policy| check_policy(allowed, "rollout", policy);
            self.policies.values().try_for_each(check)?;
        }
        for (role, entry) in self.roles.entries() {
            if let (Some(allowed), Some(policy)) = (&entry.allowed, self.policy_for(role)) {
                check_policy(allowed, &format!("roles.{role}"), policy)?;
            }
        }
        Ok(())
    }
}

/// Refuse a rule of this table that the policy's server is not told, or would keep otherwise.
fn check_policy(allowed: &Allowed, table: &str, policy: &PolicyConfig) -> Result<(), ConfigError> {
    let key = &format!("{table}.allowed");
    require(
        policy.sampler.is_none() && policy.tinker.is_none(),
        key,
        "a server keeps rules in its own way, so it would draw otherwise than the trainer scores; \
         leave `sampler` and `tinker` out, or set the rule for the roles whose policies are \
         sampled here (roles.<role>.allowed)",
    )?;
    require(
        policy.remote.is_none() || matches!(allowed, Allowed::Schema(_)),
        key,
        "servers of OpenAI's API are told of JSON schemas alone; name a `schema`, or set the rule \
         for the roles whose policies are loaded here (roles.<role>.allowed)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn load(settings: &[&str]) -> Result<Config, String> {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        Config::load(None, &settings).map_err(|error| error.to_string())
    }

    #[test]
    fn a_rule_is_a_word_a_list_or_a_schema_and_stays_what_it_is_in_a_file() {
        let schema = r#"{"properties": {"why": {}, "a": {}}}"#;
        for (text, expected) in [
            ("\"words\"".to_owned(), Allowed::Words),
            (
                "{ choices = [\"up\", \"go on\"] }".to_owned(),
                Allowed::Choices(vec!["up".to_owned(), "go on".to_owned()]),
            ),
            (
                format!("{{ schema = '{schema}' }}"),
                Allowed::Schema(toml::Value::String(schema.to_owned())),
            ),
        ] {
            let config = load(&[
                &format!("rollout.allowed={text}"),
                &format!("roles.walker.allowed={text}"),
            ])
            .unwrap();
            assert_eq!(config.rollout.allowed.as_ref(), Some(&expected));
            let walker = config.roles.entries().find(|(role, _)| *role == "walker").unwrap();
            assert_eq!(walker.1.allowed.as_ref(), Some(&expected));
            assert_eq!(Config::from_table(config.to_toml().parse().unwrap()).unwrap(), config);
        }
        assert_eq!(load(&[]).unwrap().rollout.allowed, None);
    }

    #[test]
    fn a_text_of_json_keeps_the_order_of_its_properties() {
        let keys = |setting: &str| {
            let allowed = load(&[setting]).unwrap().rollout.allowed.unwrap();
            let schema = allowed.schema().unwrap().unwrap();
            schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
        };
        let text = r#"rollout.allowed={ schema = '{"properties": {"why": {}, "act": {}}}' }"#;
        assert_eq!(keys(text), ["why", "act"]);
        let table = "rollout.allowed={ schema = { properties = { why = {}, act = {} } } }";
        assert_eq!(keys(table), ["act", "why"]);
    }

    #[test]
    fn what_nothing_could_be_answered_under_is_refused_by_name() {
        for (setting, named) in [
            ("rollout.allowed=\"wrods\"", "{ choices = [texts] }"),
            ("rollout.allowed={ choices = [] }", "`rollout.allowed.choices`"),
            ("roles.walker.allowed={ choices = [\" \"] }", "`roles.walker.allowed.choices`"),
            ("rollout.allowed={ schema = \"{\" }", "is not JSON"),
            ("rollout.allowed={ schema = \"3\" }", "`rollout.allowed.schema`"),
        ] {
            let message = load(&[setting]).unwrap_err();
            assert!(message.contains(named), "{setting}: {message}");
        }
    }

    #[test]
    fn a_rule_that_a_server_cannot_keep_is_refused_by_name() {
        let remote = "policies.big.remote={ url = \"http://localhost:1/v1\", model = \"m\" }";
        let sampler = [
            "policies.base.path=models/small",
            "policies.big.base=base",
            "policies.big.sampler.url=http://127.0.0.1:8000/v1",
        ];
        let implied = "policies.default.remote={ url = \"http://localhost:1/v1\", model = \"m\" }";
        let role = "roles={ planner = \"big\", executor = \"small\" }";
        let small = "policies.small.layers=1";
        let words = "rollout.allowed=words";
        let schema = "rollout.allowed={ schema = { type = \"object\" } }";
        load(&[remote, schema]).unwrap();
        load(&[remote, small, role, "roles.executor.allowed=words"]).unwrap();
        let planner = "roles.planner.allowed=words";
        for (settings, named) in [
            (vec![remote, words], "`rollout.allowed`"),
            (vec![remote, small, role, planner], "`roles.planner.allowed`"),
            ([&sampler[..], &[words]].concat(), "`sampler`"),
            ([&sampler[..], &[schema]].concat(), "`sampler`"),
            ([&sampler[..], &[small, role, planner]].concat(), "`roles.planner.allowed`"),
            (vec![implied, planner], "`roles.planner.allowed`"),
        ] {
            let message = load(&settings).unwrap_err();
            assert!(message.contains(named), "{settings:?}: {message}");
        }
    }
}
