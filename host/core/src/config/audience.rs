//! The readers of what environments say, and defaults that suit them.
//!
//! What suits a policy of a hundred thousand random weights ruins a checkpoint that others
//! trained, and the other way round. So a run of language models begins at other defaults, and
//! its environments speak in sentences. What a user says wins.

use std::path::Path;

use serde::Deserialize;

use super::overrides::{lay_under, parse_table};
use super::tinker::UNBOUNDED_NORM;
use super::{AnchorChoice, Config, ConfigError, PolicyConfig, TrainConfig};

/// The readers of what environments say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Tiny policies, which know the words of an environment and no others.
    Words,
    /// Language models.
    Language,
}

/// A default for language models.
struct LanguageDefault {
    table: &'static str,
    key: &'static str,
    value: &'static str,
    why: &'static str,
}

const fn default(
    table: &'static str,
    key: &'static str,
    value: &'static str,
    why: &'static str,
) -> LanguageDefault {
    LanguageDefault { table, key, value, why }
}

const LONG_STEPS: &str = "steps take long";
const LONG_VALIDATIONS: &str = "validations take long";

/// Where they are other than the declarations of the tables say, and why. The learning rate is
/// settled where a policy's size is known.
const DEFAULTS: [LanguageDefault; 20] = [
    default("rollout", "tasks_per_step", "16", LONG_STEPS),
    default("rollout", "branches", "8", "at first few answers are right, and more find one"),
    default("rollout", "refill", "2", "soon half of the groups and more teach nothing"),
    default("rollout", "max_completion_tokens", "256", "answers are sentences"),
    default("rollout", "temperature", "0.7", "at 1, over a whole vocabulary, much is noise"),
    default("advantage", "least_spread", "0.1", "a form a little better is no right answer"),
    default("imitation", "learning_rate", "0.0001", "more would undo what they know"),
    default("imitation", "warmup_steps", "5", "steps are few"),
    default("imitation", "max_steps", "200", LONG_STEPS),
    default("imitation", "answers_per_role", "16", LONG_STEPS),
    default("imitation", "every", "10", LONG_VALIDATIONS),
    default("imitation", "tasks", "64", LONG_VALIDATIONS),
    default("train", "steps", "40", LONG_STEPS),
    default("train", "warmup_steps", "2", "steps are few"),
    default("train", "entropy_coefficient", "0.0", "a language model explores by itself"),
    default("train", "minibatch_samples", "0", "one optimizer step a rollout stays on policy"),
    default("validation", "tasks", "256", LONG_VALIDATIONS),
    default("validation", "tasks_during_training", "64", LONG_VALIDATIONS),
    default("validation", "sampled", "false", LONG_VALIDATIONS),
    default("checkpoint", "every", "10", "checkpoints are large"),
];

impl Config {
    /// The readers of what environments say: language models, if any and if no tiny policy is
    /// trained beside them.
    pub fn audience(&self) -> Audience {
        let tiny = |(name, policy): (&String, &PolicyConfig)| {
            self.trains(name) && !self.is_language_model(policy)
        };
        let has_tiny = self.policies.iter().any(tiny);
        let has_large = self.policies.values().any(|policy| self.is_language_model(policy));
        if has_large && !has_tiny { Audience::Language } else { Audience::Words }
    }

    fn is_language_model(&self, policy: &PolicyConfig) -> bool {
        let base = policy.base.as_ref().and_then(|base| self.policies.get(base));
        let tokenizer = policy.tinker.as_ref().map(|tinker| tinker.tokenizer.as_path());
        let path = tokenizer.or(base.unwrap_or(policy).path.as_deref());
        policy.remote.is_some() || path.is_some_and(|path| !knows_words_only(path))
    }

    /// The bound on the gradients of a policy. What is laid under a run for the sake of servers does
    /// not unbind policies that are trained here beside theirs.
    pub(super) fn gradient_norm_of(&self, policy: &str) -> f64 {
        let set = self.train.max_gradient_norm;
        let is_elsewhere = |policy: &PolicyConfig| policy.tinker.is_some();
        let is_laid = set == UNBOUNDED_NORM && self.policies.values().any(is_elsewhere);
        match is_laid && !self.policies.get(policy).is_some_and(is_elsewhere) {
            true => TrainConfig::default().max_gradient_norm,
            false => set,
        }
    }

    /// Whether the warm start is set to anything else than it is where nobody says anything of it.
    pub fn sets_imitation(&self) -> bool {
        let mut table = toml::Table::new();
        let laid = match self.audience() {
            Audience::Language => lay_defaults_under(&mut table),
            Audience::Words => Ok(()),
        };
        let unsaid = laid.and_then(|()| Config::read(table));
        unsaid.is_ok_and(|unsaid| unsaid.imitation != self.imitation)
    }

    /// Whether a setting is what it is in runs of language models where nobody says anything of it.
    pub(super) fn is_for_language(&self, key: &str) -> bool {
        let is_laid = |default: &LanguageDefault| {
            key.strip_prefix(default.table).and_then(|rest| rest.strip_prefix('.'))
                == Some(default.key)
                && self.value_of(key).as_deref() == Some(default.value)
        };
        DEFAULTS.iter().any(is_laid) && self.audience() == Audience::Language
    }

    /// As [`Config::to_toml`], with a remark where a value is a default for language models.
    pub fn to_annotated_toml(&self) -> String {
        let text = self.to_toml();
        if self.audience() == Audience::Words {
            return text;
        }
        let mut table = "";
        let mut lines = Vec::new();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix('[') {
                table = name.trim_end_matches(']');
            }
            let is_default = |default: &&LanguageDefault| {
                default.table == table && line == format!("{} = {}", default.key, default.value)
            };
            match DEFAULTS.iter().find(is_default) {
                Some(default) => {
                    lines.push(format!("{line}  # for language models: {}", default.why))
                }
                None => lines.push(line.to_owned()),
            }
        }
        lines.join("\n")
    }
}

/// Put the defaults for language models under what a user says.
pub(super) fn lay_defaults_under(table: &mut toml::Table) -> Result<(), ConfigError> {
    for default in &DEFAULTS {
        let text = format!("[{}]\n{} = {}", default.table, default.key, default.value);
        lay_under(table, parse_table(&text, "the defaults for language models")?);
    }
    Ok(())
}

/// Put the correction for answers that another engine has drawn under what a user says: engines
/// give every token a slightly different probability.
pub(super) fn lay_correction_under(table: &mut toml::Table) -> Result<(), ConfigError> {
    let origin = "the defaults for samplers";
    lay_under(table, parse_table("[train]\nanchor = \"rescored\"", origin)?);
    if Config::read(table.clone())?.train.anchor == AnchorChoice::Rescored {
        lay_under(table, parse_table("[train]\nimportance = \"truncate\"", origin)?);
    }
    Ok(())
}

/// Put how answers are drawn and learned from over Tinker's protocol under what a user says: from
/// the policy's own distribution, and without a bound that many servers pass over.
pub(super) fn lay_plain_drawing_under(table: &mut toml::Table) -> Result<(), ConfigError> {
    let text = format!(
        "[rollout]\ntemperature = 1.0\n[train]\nmax_gradient_norm = {UNBOUNDED_NORM:?}\n\
         entropy_coefficient = 0.0"
    );
    lay_under(table, parse_table(&text, "the defaults for Tinker's protocol")?);
    Ok(())
}

/// Whether a checkpoint is one of our tiny ones, whose tokens are an environment's words. What
/// cannot be read is found out when it is loaded.
fn knows_words_only(folder: &Path) -> bool {
    #[derive(Deserialize)]
    struct Tokenizer {
        model: Model,
    }
    #[derive(Deserialize)]
    struct Model {
        r#type: Option<String>,
    }
    let text = std::fs::read(folder.join("tokenizer.json")).unwrap_or_default();
    let tokenizer: Option<Tokenizer> = serde_json::from_slice(&text).ok();
    tokenizer.and_then(|it| it.model.r#type).is_some_and(|kind| kind == "WordLevel")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(settings: &[&str]) -> Config {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        Config::load(None, &settings).unwrap()
    }

    fn checkpoint(kind: &str) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let tokenizer = format!(r#"{{"model": {{"type": "{kind}", "vocab": {{}}}}}}"#);
        std::fs::write(folder.path().join("tokenizer.json"), tokenizer).unwrap();
        let path = folder.path().display().to_string();
        (folder, path)
    }

    #[test]
    fn a_run_of_language_models_begins_at_other_defaults_and_what_is_said_wins() {
        let (_folder, path) = checkpoint("BPE");
        let path = format!("policies.shared.path={path}");
        let config = load(&[&path, "rollout.branches=5"]);
        assert_eq!(config.audience(), Audience::Language);
        assert_eq!((config.rollout.temperature, config.rollout.branches), (0.7, 5));
        assert_eq!(load(&[]).rollout.temperature, 1.0);
    }

    #[test]
    fn one_policy_on_a_server_does_not_unbind_the_gradients_of_one_that_is_here() {
        let mixture = |more: &[&str]| {
            let tinker = "policies.there.tinker={ url = \"http://localhost:1\", base = \"b\", \
                          tokenizer = \"t\" }";
            let both = [tinker, "policies.here.layers=2", "roles.a=there", "roles.b=here"];
            let config = load(&[&both[..], more].concat());
            ["there", "here", "implied"].map(|name| config.training_of(name).max_gradient_norm)
        };
        assert_eq!(mixture(&[]), [UNBOUNDED_NORM, 1.0, 1.0]);
        assert_eq!(mixture(&["train.max_gradient_norm=0.5"]), [0.5; 3]);
        assert_eq!(mixture(&["train.max_gradient_norm=1e12"]), [1e12; 3]);
        let here = load(&["train.max_gradient_norm=1e9"]);
        assert_eq!(here.training_of("shared").max_gradient_norm, UNBOUNDED_NORM);
    }

    #[test]
    fn what_a_user_says_of_the_warm_start_is_told_from_defaults() {
        let (_folder, path) = checkpoint("BPE");
        let path = format!("policies.shared.path={path}");
        assert!(!load(&[]).sets_imitation() && !load(&[&path]).sets_imitation());
        assert!(load(&["imitation.tasks=64"]).sets_imitation());
        assert!(load(&[&path, "imitation.max_steps=1000"]).sets_imitation());
    }

    #[test]
    fn a_default_for_language_models_that_does_nothing_is_nobodys_setting() {
        let (_folder, path) = checkpoint("BPE");
        let path = format!("policies.shared.path={path}");
        let rloo = [&path[..], "advantage.estimator=rloo"];
        assert_eq!(load(&rloo).idle_settings(), []);
        let own = load(&[&rloo[..], &["advantage.least_spread=0.2"]].concat()).idle_settings();
        assert_eq!(own.len(), 1, "{own:?}");
        assert_eq!(own[0].key, "advantage.least_spread");
    }

    #[test]
    fn every_default_is_a_setting_and_is_shown_with_its_reason() {
        let (_folder, path) = checkpoint("BPE");
        let shown = load(&[&format!("policies.shared.path={path}")]).to_annotated_toml();
        for default in &DEFAULTS {
            let line = format!(
                "{} = {}  # for language models: {}",
                default.key, default.value, default.why
            );
            assert!(shown.contains(&line), "{line}\n{shown}");
        }
    }

    #[test]
    fn adapters_and_servers_are_language_models_and_our_tiny_checkpoints_are_not() {
        let (_large, large) = checkpoint("BPE");
        let (_tiny, tiny) = checkpoint("WordLevel");
        let audience = |settings: &[String]| {
            let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
            load(&settings).audience()
        };
        let adapter = [format!("policies.b.path={large}"), "policies.a.base=b".to_owned()];
        assert_eq!(audience(&adapter), Audience::Language);
        let remote = "policies.r.remote={ url = \"http://localhost:1/v1\", model = \"m\" }";
        assert_eq!(audience(&[remote.to_owned()]), Audience::Language);
        assert_eq!(audience(&[format!("policies.shared.path={tiny}")]), Audience::Words);
        // A tiny policy learns beside a large one that judges: the environment speaks to the tiny.
        let beside = [format!("policies.judge.path={large}"), "policies.p.layers=2".to_owned()];
        assert_eq!(audience(&beside), Audience::Words);
    }
}
