//! `[policies.<name>.ensemble]`: a policy that is several others, which stay as they are.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::check::require;
use super::table::{above, choices, table};
use super::{Config, ConfigError, PolicyConfig};
use crate::error::suggestion;

choices! {
    /// Which of several policies answers.
    pub enum EnsembleBy {
        /// The one that is best in the request's situation by a table, or where the table does not
        /// know the situation, the one that is best overall (LLM-Ens, arXiv 2505.15306).
        Situation,
        /// One that is drawn for each request.
        Random,
        /// Each gives its likeliest answer, and the text that most of them give plays.
        Vote,
        /// Each gives its likeliest answer, and the one with the largest Σ exp(log π(answer) / τ)
        /// over the members plays.
        Boltzmann,
    }
}

table! {
    /// `[policies.<name>.ensemble]`: several policies in the place of one. None of them is trained.
    pub struct EnsembleConfig {
        /// Other policies, by name; of equals, the first of them counts.
        pub members: Vec<String> = Vec::new();
        /// Which of them answers.
        pub by: EnsembleBy = EnsembleBy::Situation;
        /// The table of `by = "situation"`, which `host eval --situations` makes.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub table: Option<PathBuf> = None;
        /// The τ of `by = "boltzmann"`.
        pub temperature: f64 = 1.0, above(0.0, 1e6);
    }
}

impl Config {
    /// The policies that are several others, by name.
    pub fn ensembles(&self) -> impl Iterator<Item = (&String, &EnsembleConfig)> {
        self.policies.iter().filter_map(|(name, policy)| Some((name, policy.ensemble.as_ref()?)))
    }

    /// Whether a policy is one of several that play in the place of one.
    pub fn is_member(&self, policy: &str) -> bool {
        self.ensembles().any(|(_, ensemble)| ensemble.members.iter().any(|name| name == policy))
    }

    pub(super) fn check_ensembles(&self) -> Result<(), ConfigError> {
        self.ensembles().try_for_each(|(name, ensemble)| self.check_ensemble(name, ensemble))
    }

    fn check_ensemble(&self, name: &str, ensemble: &EnsembleConfig) -> Result<(), ConfigError> {
        let key = |setting: &str| format!("policies.{name}.ensemble.{setting}");
        let alone = PolicyConfig { ensemble: Some(ensemble.clone()), ..PolicyConfig::default() };
        require(
            self.policies[name] == alone,
            &format!("policies.{name}"),
            "it is what its members are; leave out all but `ensemble`",
        )?;
        require(
            !self.is_base(name),
            &format!("policies.{name}"),
            "it has no weights of its own, so no adapter can be over it; name one of its members as \
             the base",
        )?;
        let distinct: BTreeSet<&String> = ensemble.members.iter().collect();
        require(
            distinct.len() > 1 && distinct.len() == ensemble.members.len(),
            &key("members"),
            "it must name two or more policies, each once",
        )?;
        ensemble.members.iter().try_for_each(|member| self.check_member(name, member))?;
        let by_table = ensemble.by == EnsembleBy::Situation;
        require(
            !by_table || ensemble.table.is_some(),
            &key("table"),
            "by = \"situation\" needs the table that `host eval CONFIG --situations FILE` makes; name \
             that file",
        )?;
        require(
            by_table || ensemble.table.is_none(),
            &key("table"),
            "only by = \"situation\" reads it; set that, or leave it out",
        )?;
        require(
            ensemble.by == EnsembleBy::Boltzmann
                || ensemble.temperature == EnsembleConfig::default().temperature,
            &key("temperature"),
            "it is the τ of by = \"boltzmann\"; set that, or leave it out",
        )
    }

    /// A member is a policy whose weights are here and that has learned what it will.
    fn check_member(&self, name: &str, member: &str) -> Result<(), ConfigError> {
        let key = format!("policies.{name}.ensemble.members");
        let names = self.policies.keys().map(String::as_str).filter(|other| *other != name);
        let suggestion = suggestion(member, names);
        let known = self.policies.get(member);
        require(
            known.is_some(),
            &key,
            &format!("there is no table [policies.{member}]{suggestion}"),
        )?;
        let Some(policy) = known else { return Ok(()) };
        require(
            policy.ensemble.is_none(),
            &key,
            &format!("`{member}` is several policies itself; name its members"),
        )?;
        let elsewhere = policy.remote.is_some()
            || policy.sampler.is_some()
            || policy.tinker.is_some()
            || policy.snapshot_of.is_some();
        require(
            !elsewhere && !policy.is_critic(),
            &key,
            &format!(
                "`{member}` must be a policy whose weights are here and stay as they are, without \
                 `remote`, `sampler`, `tinker`, `snapshot_of` and `learns`"
            ),
        )?;
        let adapter = policy.lora.as_ref().and_then(|lora| lora.path.as_ref());
        let weights = if policy.base.is_some() { adapter } else { policy.path.as_ref() };
        let setting = if policy.base.is_some() { "lora.path" } else { "path" };
        require(
            weights.is_some(),
            &key,
            &format!(
                "`{member}` would begin as random weights, and members do not learn; name what was \
                 learned in policies.{member}.{setting}"
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERS: [&str; 3] = [
        "policies.one.path=a",
        "policies.two.path=b",
        "policies.team.ensemble={members=['one', 'two'], by='random'}",
    ];

    fn load(more: &[&str]) -> Result<Config, ConfigError> {
        let all: Vec<String> = MEMBERS.iter().chain(more).map(ToString::to_string).collect();
        Config::load(None, &all)
    }

    fn ensemble(settings: &str) -> String {
        format!("policies.team.ensemble={{{settings}}}")
    }

    #[test]
    fn neither_several_policies_nor_any_of_them_is_trained() {
        let config = load(&["policies.other.layers=1"]).unwrap();
        let trains = ["one", "two", "team", "other"].map(|name| config.trains(name));
        assert_eq!(trains, [false, false, false, true]);
        assert!(!config.is_random("team") && config.is_random("other"));
        assert_eq!(Config::from_table(config.to_toml().parse().unwrap()).unwrap(), config);
    }

    #[test]
    fn members_are_other_policies_that_have_learned_and_whose_weights_are_here() {
        let of = |members: &str| ensemble(&format!("members={members}, by='vote'"));
        let remote = "policies.far.remote={url='http://x', model='y'}";
        for (more, wrong) in [
            (vec![of("['one']")], "it must name two or more policies, each once"),
            (vec![of("['one', 'one']")], "it must name two or more policies, each once"),
            (vec![of("['one', 'tow']")], "no table [policies.tow]; did you mean `two`?"),
            (vec![of("['one', 'team']")], "`team` is several policies itself"),
            (vec![remote.into(), of("['one', 'far']")], "`far` must be a policy whose weights are"),
            (
                vec![
                    "policies.critic={learns='preference', path='c'}".into(),
                    of("['one', 'critic']"),
                ],
                "`critic` must be a policy whose weights are here",
            ),
            (
                vec!["policies.new.layers=1".into(), of("['one', 'new']")],
                "`new` would begin as random weights, and members do not learn; name what was \
                 learned in policies.new.path",
            ),
            (
                vec!["policies.new.base='one'".into(), of("['two', 'new']")],
                "name what was learned in policies.new.lora.path",
            ),
            (vec!["policies.team.layers=3".into()], "leave out all but `ensemble`"),
            (vec!["policies.over={base='team'}".into()], "no adapter can be over it"),
        ] {
            let more: Vec<&str> = more.iter().map(String::as_str).collect();
            let message = load(&more).unwrap_err().to_string();
            assert!(message.contains(wrong), "{more:?}: {message}");
        }
        let adapter = "policies.new={base='one', lora={path='c'}}";
        load(&[adapter, &of("['two', 'new']")]).unwrap();
    }

    #[test]
    fn a_table_is_for_situations_and_a_temperature_for_boltzmann() {
        let of = |settings: &str| ensemble(&format!("members=['one', 'two'], {settings}"));
        for (settings, wrong) in [
            (
                "by='situation'",
                "`policies.team.ensemble.table` cannot be used: by = \"situation\" needs",
            ),
            ("by='vote', table='x'", "only by = \"situation\" reads it"),
            ("by='vote', temperature=2", "it is the τ of by = \"boltzmann\""),
            ("by='boltzmann', temperature=0", "it is 0, but must be a number above 0"),
        ] {
            let message = load(&[&of(settings)]).unwrap_err().to_string();
            assert!(message.contains(wrong), "{settings}: {message}");
        }
        load(&[&of("by='boltzmann', temperature=0.1")]).unwrap();
        load(&[&of("table='x'")]).unwrap();
    }
}
