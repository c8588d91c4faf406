//! `[policies.<name>.remote]`: a policy that a server answers for.

use super::ConfigError;
use super::check::require;
use super::table::table;

table! {
    /// A server with OpenAI's chat interface, such as vLLM or SGLang. What it
    /// serves can be asked, but not trained.
    pub struct RemoteConfig {
        /// Where the interface begins, such as `http://127.0.0.1:8000/v1`.
        pub url: String = String::new();
        /// Which of the server's models; without it the only one there is.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub model: Option<String> = None;
        /// Name of the environment variable that holds the key; the key itself
        /// has no place in a configuration.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub api_key_env: Option<String> = None;
        /// How long one answer may take, in seconds.
        pub timeout_seconds: u64 = 600, 1..=86_400;
        /// How often a failed request for an answer is repeated.
        pub retries: u32 = 3, 0..=100;
        /// Answers asked for at a time.
        pub concurrency: usize = 32, 1..=1024;
        /// Passed on to the server's chat template, such as `enable_thinking`.
        #[serde(skip_serializing_if = "toml::Table::is_empty")]
        pub chat_template_kwargs: toml::Table = toml::Table::new();
    }
}

impl RemoteConfig {
    /// Refuse what cannot be used; `table` is the key of this table.
    ///
    /// # Errors
    /// Names the setting; never repeats a value that might be a key.
    pub(super) fn check(&self, table: &str) -> Result<(), ConfigError> {
        let key = |name: &str| format!("{table}.{name}");
        check_url(&self.url, &key("url"))?;
        require(
            self.model.as_ref().is_none_or(|model| !model.trim().is_empty()),
            &key("model"),
            "it is empty; name one of the server's models, or leave it out if there is only one",
        )?;
        require(
            self.api_key_env.as_deref().is_none_or(is_variable_name),
            &key("api_key_env"),
            "it must be the name of an environment variable (letters, digits and `_`), such as \
             \"MY_API_KEY\"; put the key into that variable, not into the configuration",
        )
    }
}

pub(super) fn check_url(url: &str, key: &str) -> Result<(), ConfigError> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let Some(rest) = rest else {
        let reason = "give the server's address, such as \"http://127.0.0.1:8000/v1\"";
        return require(false, key, reason);
    };
    let authority = rest.split('/').next().unwrap_or_default();
    require(
        !authority.contains('@'),
        key,
        "it holds a user name or password; leave them out and name a variable in `api_key_env`",
    )?;
    let clean = !url.contains(|c: char| c.is_whitespace() || c.is_control() || "?#".contains(c));
    require(
        clean && !authority.is_empty() && !authority.starts_with(':'),
        key,
        "it must be a plain address with a host and without `?` and `#`, such as \
         \"http://127.0.0.1:8000/v1\"",
    )
}

fn is_variable_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    const URL: &str = "policies.coder.remote.url=http://127.0.0.1:8000/v1";

    fn load(overrides: &[&str]) -> Result<Config, String> {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        Config::load(None, &overrides).map_err(|error| error.to_string())
    }

    #[test]
    fn a_remote_policy_is_not_trained_and_reads_back_as_itself() {
        let thinking = "policies.coder.remote.chat_template_kwargs.enable_thinking=false";
        let config = load(&[URL, thinking]).unwrap();
        assert!(!config.trains("coder") && config.trains("other"));
        assert_eq!(Config::from_table(config.to_toml().parse().unwrap()).unwrap(), config);
        let remote = config.policies["coder"].remote.as_ref().unwrap();
        assert_eq!(remote.chat_template_kwargs["enable_thinking"].as_bool(), Some(false));
    }

    #[test]
    fn a_policy_is_either_loaded_or_remote() {
        let message = load(&[URL, "policies.coder.path=policies/mine"]).unwrap_err();
        assert!(message.contains("`policies.coder`") && message.contains("not both"), "{message}");
    }

    #[test]
    fn what_would_be_said_to_weights_that_are_loaded_here_does_nothing_to_a_remote_policy() {
        for set in ["chat.enable_thinking=true", "dtype=bfloat16", "learning_rate=0.001"] {
            // Runs of earlier hosts have it in their configurations.
            let untrained = "policies.coder.train=false";
            let config = load(&[URL, untrained, &format!("policies.coder.{set}")]).unwrap();
            let key = set.split(['.', '=']).next().unwrap();
            let idle = config.idle_settings();
            assert_eq!(idle.len(), 1, "{idle:?}");
            assert_eq!(idle[0].key, format!("policies.coder.{key}"));
            assert!(idle[0].why.contains("`remote.chat_template_kwargs`"), "{idle:?}");
        }
    }

    #[test]
    fn settings_that_cannot_be_are_refused_by_name_and_a_key_is_not_repeated() {
        for (setting, named) in [
            ("url=127.0.0.1:8000", "remote.url"),
            ("url=http://me:secret@host/v1", "api_key_env"),
            ("url=http:///v1", "remote.url"),
            ("url=http://host/v1?key=secret", "remote.url"),
            ("model=", "remote.model"),
            ("api_key_env=sk-secret", "name of an environment variable"),
            ("timeout_seconds=0", "remote.timeout_seconds"),
            ("concurrency=0", "remote.concurrency"),
            ("retries=1000", "remote.retries"),
            ("modl=x", "did you mean `model`?"),
        ] {
            let message = load(&[URL, &format!("policies.coder.remote.{setting}")]).unwrap_err();
            assert!(message.contains(named) && !message.contains("secret"), "{message}");
        }
        let message = load(&["policies.coder.remote.model=x"]).unwrap_err();
        assert!(message.contains("`policies.coder.remote.url`"), "{message}");
    }
}
