//! `[policies.<name>.sampler]`: an engine elsewhere that answers for a policy trained here.

use super::ConfigError;
use super::check::require;
use super::remote::RemoteConfig;
use super::table::{above, choices, table};

choices! {
    /// What serves where answers are drawn.
    pub enum EngineKind {
        /// vLLM, or what speaks as it does, such as `host serve --policy`.
        Vllm,
        /// SGLang.
        Sglang,
    }
}

table! {
    /// A server of vLLM or SGLang that has the policy's base and is given the policy's adapter anew
    /// before every step. It draws the answers; the training is here.
    pub struct SamplerConfig {
        /// Where the interface begins, such as `http://127.0.0.1:8000/v1`.
        pub url: String = String::new();
        /// What serves there: `vllm` or `sglang`.
        pub engine: EngineKind = EngineKind::Vllm;
        /// What the base is called there; without it the only model that is no adapter.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub model: Option<String> = None;
        /// Name of the environment variable that holds the key.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub api_key_env: Option<String> = None;
        /// How long one answer may take, in seconds.
        pub timeout_seconds: u64 = 600, 1..=86_400;
        /// How often a failed request is repeated.
        pub retries: u32 = 3, 0..=100;
        /// Answers asked for at a time.
        pub concurrency: usize = 64, 1..=1024;
        /// How far the canary's log-probabilities there may be from those here, in nats per
        /// token; without it 0.001 for float32 and 0.05 for bfloat16.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tolerance: Option<f64> = None, above(0.0, 100.0);
    }
}

impl SamplerConfig {
    /// How the server is reached.
    pub fn server(&self) -> RemoteConfig {
        RemoteConfig {
            url: self.url.clone(),
            model: self.model.clone(),
            api_key_env: self.api_key_env.clone(),
            timeout_seconds: self.timeout_seconds,
            retries: self.retries,
            concurrency: self.concurrency,
            ..RemoteConfig::default()
        }
    }

    /// Refuse what cannot be used; `table` is the key of this table.
    ///
    /// # Errors
    /// Names the setting; never repeats a value that might be a key.
    pub(super) fn check(&self, table: &str, samples_an_adapter: bool) -> Result<(), ConfigError> {
        require(
            samples_an_adapter,
            table,
            "a server is given adapters step by step, not whole weights, and reads the base and \
             its tokenizer from a folder; give the policy a `base` whose table has a `path`, and \
             have it trained",
        )?;
        self.server().check(table)
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{AnchorChoice, Config, Importance};

    const SAMPLER: [&str; 3] = [
        "policies.base.path=models/small",
        "policies.planner.base=base",
        "policies.planner.sampler.url=http://127.0.0.1:8000/v1",
    ];

    fn load(more: &[&str]) -> Result<Config, String> {
        let all = SAMPLER.iter().chain(more).map(ToString::to_string);
        Config::load(None, &all.collect::<Vec<_>>()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_sampled_elsewhere_is_trained_here_with_importance_weights() {
        let config = load(&[]).unwrap();
        assert!(config.trains("planner"));
        let train = &config.train;
        assert_eq!(
            (train.anchor, train.importance),
            (AnchorChoice::Rescored, Importance::Truncate)
        );
        assert_eq!(Config::from_table(config.to_toml().parse().unwrap()).unwrap(), config);
        let train = load(&["train.anchor=sampled"]).unwrap().train;
        assert_eq!((train.anchor, train.importance), (AnchorChoice::Sampled, Importance::Auto));
        let train = load(&["train.importance=mask"]).unwrap().train;
        assert_eq!((train.anchor, train.importance), (AnchorChoice::Rescored, Importance::Mask));
        let alone = Config::load(None, &[]).unwrap().train;
        assert_eq!((alone.anchor, alone.importance), (AnchorChoice::Auto, Importance::Auto));
    }

    #[test]
    fn only_a_trained_adapter_over_a_folder_can_be_sampled_elsewhere() {
        let whole = "policies.other.sampler.url=http://127.0.0.1:8000/v1";
        for more in [&[whole][..], &[whole, "policies.other.path=models/small"]] {
            let message = load(more).unwrap_err();
            assert!(
                message.contains("`policies.other.sampler`") && message.contains("`base`"),
                "{message}"
            );
        }
        let message = load(&["policies.planner.train=false"]).unwrap_err();
        assert!(message.contains("have it trained"), "{message}");
        for (setting, named) in [
            ("url=127.0.0.1:8000", "sampler.url"),
            ("tolerance=0", "sampler.tolerance"),
            ("api_key_env=sk-secret", "sampler.api_key_env"),
        ] {
            let message = load(&[&format!("policies.planner.sampler.{setting}")]).unwrap_err();
            assert!(message.contains(named) && !message.contains("secret"), "{message}");
        }
    }
}
