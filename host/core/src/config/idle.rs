//! Settings that were changed and do nothing beside the others.

use serde::Serialize;

use super::family::name;
use super::{
    AdvantageConfig, AnchorChoice, BranchChoice, Comparison, Config, CreditStep, Decay,
    GroupFilter, Importance, Learns, MixConfig, Objective, PolicyConfig, RolloutConfig,
    SamplingScheme, Scale, Store, TrainConfig, Worth,
};

/// Keys of a random policy's shape.
const SHAPE: &[&str] = &[
    "hidden_size",
    "layers",
    "heads",
    "key_value_heads",
    "head_size",
    "intermediate_size",
    "rope_theta",
];

/// Keys of what a program may use.
const LIMITS: &[&str] = &["fuel", "timeout_ms", "memory_mib", "output_bytes"];

/// Why nothing that says how answers are drawn has an effect on stored ones.
const STORED: &str = "stored answers are learned from, and none are drawn (rollout.tables)";

/// A setting that does nothing in a training run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleSetting {
    /// Its key, with the table; of an entry of `[[mix]]` also whose it is.
    pub key: String,
    /// What would have to be otherwise.
    pub why: &'static str,
}

/// Keys of a table, whether the other settings leave them something to do, and what would have to
/// be otherwise if they do not.
type Rule = (&'static [&'static str], bool, &'static str);

impl Config {
    /// Settings that are not at their defaults, and that the others leave nothing to do. A budget's
    /// steps are not among them, which every configuration has, nor those of a warm start that is
    /// turned off.
    pub fn idle_settings(&self) -> Vec<IdleSetting> {
        let is_granted = !self.sandbox.grant.is_empty();
        let programs = |keys: &'static [&'static str]| -> Rule {
            (keys, is_granted, "no plugin may run programs (sandbox.grant)")
        };
        let limits = &self.sandbox.limits;
        let tables = [
            idle("sandbox", &self.sandbox, &[programs(&["interpreters", "jobs"])]),
            idle("sandbox.limits", limits, &[programs(LIMITS)]),
            self.idle_in_roles(),
            idle("rollout", &self.rollout, &self.rollout.rules()),
            idle("advantage", &self.advantage, &self.advantage.rules()),
            idle("train", &self.train, &self.train.rules()),
            idle("train", &self.train, &self.train.rules_of_losses()),
            self.idle_in_validation(),
            self.idle_of_families(),
        ];
        let policies = self.policies.iter().flat_map(|(name, it)| self.idle_of_policy(name, it));
        let all = tables.into_iter().flatten().chain(policies);
        all.filter(|setting| !self.is_for_language(&setting.key)).collect()
    }

    fn idle_in_roles(&self) -> Vec<IdleSetting> {
        let is_drawn = self.rollout.tables.is_empty();
        let rule: Rule = (&["branches"], is_drawn, STORED);
        let entries = self.roles.entries();
        entries.flat_map(|(role, entry)| idle(&format!("roles.{role}"), entry, &[rule])).collect()
    }

    fn idle_in_validation(&self) -> Vec<IdleSetting> {
        let sampling: &[&str] = &["samples", "temperature", "top_p", "top_k", "min_p"];
        let is_sampled = self.validation.sampled;
        let sampled = (sampling, is_sampled, "nothing is sampled (validation.sampled)");
        idle("validation", &self.validation, &[sampled])
    }

    /// What is said of the records and the curriculum of the only family, or in each entry of
    /// `[[mix]]`.
    fn idle_of_families(&self) -> Vec<IdleSetting> {
        let families = self.families();
        if self.mix.is_empty() {
            return families.iter().flat_map(|family| family.idle("")).collect();
        }
        let of = |family: &MixConfig| {
            let entry = name(family).unwrap_or_default().to_owned();
            let whose = move |IdleSetting { key, why }| IdleSetting {
                key: format!("{key} of the entry `{entry}`"),
                why,
            };
            family.idle("mix.").into_iter().map(whose)
        };
        families.iter().flat_map(of).collect()
    }
}

impl MixConfig {
    fn idle(&self, table: &str) -> Vec<IdleSetting> {
        let (tasks, curriculum) = (&self.tasks, &self.curriculum);
        let files = [&tasks.files, &tasks.train, &tasks.validation, &tasks.test];
        let rules: [Rule; 2] = [
            (&["split_field"], !tasks.files.is_empty(), "only tasks.files are split by a field"),
            (
                &["shuffle", "limit"],
                files.iter().any(|files| !files.is_empty()),
                "no tasks come from files",
            ),
        ];
        let ladder: &[&str] = &["raise_at", "lower_at", "on_trial", "episodes"];
        let has_ladder = !curriculum.settings.is_empty();
        let climbed = (ladder, has_ladder, "no setting takes steps (curriculum.settings)");
        let of_tasks = idle(&format!("{table}tasks"), tasks, &rules);
        [of_tasks, idle(&format!("{table}curriculum"), curriculum, &[climbed])].concat()
    }
}

/// Those of a table that were changed and are not used.
fn idle<T: Serialize + Default>(place: &str, table: &T, rules: &[Rule]) -> Vec<IdleSetting> {
    // Every table is one of TOML's; one that were not would name nothing.
    let values = |table: &T| toml::Table::try_from(table).unwrap_or_default();
    let (found, default) = (values(table), values(&T::default()));
    let unused = rules.iter().filter(|(_, is_used, _)| !is_used);
    let keys = unused.flat_map(|(keys, _, why)| keys.iter().map(move |key| (*key, *why)));
    keys.filter(|(key, _)| found.get(*key) != default.get(*key))
        .map(|(key, why)| IdleSetting { key: format!("{place}.{key}"), why })
        .collect()
}

impl RolloutConfig {
    fn rules(&self) -> [Rule; 5] {
        let is_stored = !self.tables.is_empty();
        let chooses = matches!(self.scheme, SamplingScheme::Tree | SamplingScheme::Independent);
        let by_softmax = chooses && self.branch_choice == BranchChoice::Softmax;
        [
            (
                &["allocation", "branch_choice", "branch_temperature", "max_episodes"],
                !is_stored,
                STORED,
            ),
            (
                &["branch_choice"],
                chooses || is_stored,
                "only `tree` and `independent` go on from one of several answers",
            ),
            (
                &["branch_temperature"],
                by_softmax || is_stored,
                "only rollout.branch_choice = \"softmax\" has a temperature",
            ),
            (
                &["max_episodes"],
                self.scheme == SamplingScheme::Exhaustive || is_stored,
                "only `exhaustive` makes so many of one task",
            ),
            (&["store_mib"], self.store != Store::None, "nothing is stored (rollout.store)"),
        ]
    }
}

impl AdvantageConfig {
    /// What is compared with what: of all roles together, and of each.
    fn comparisons(&self) -> Vec<Comparison> {
        let own = self.roles.keys().map(|role| self.of_role(role));
        let of = |config: AdvantageConfig| {
            let besides = config.besides().map(|(_, comparison)| comparison);
            [Some(config.comparison()), besides].into_iter().flatten()
        };
        own.chain([self.clone()]).flat_map(of).collect()
    }

    fn rules(&self) -> [Rule; 7] {
        let comparisons = self.comparisons();
        let any = |holds: fn(&Comparison) -> bool| comparisons.iter().any(holds);
        let compares_besides = self.besides().is_some()
            || self.roles.keys().any(|role| self.of_role(role).besides().is_some());
        let is_filtered = any(|it| it.scale != Scale::Running);
        [
            (
                &["discount"],
                any(|it| it.worth == Worth::ToGo),
                "no answer is worth what comes later (`worth = \"to-go\"`)",
            ),
            (&["step_weight"], compares_besides, "only `gigpo` compares anything besides"),
            (
                &["decay"],
                any(|it| it.scale == Scale::Running),
                "only `scale = \"running\"` has a running mean",
            ),
            (
                &["least_spread"],
                any(|it| matches!(it.scale, Scale::Spread | Scale::Parts)),
                "nothing is measured in a standard deviation (`scale`)",
            ),
            (
                &["threads"],
                self.then.contains(&CreditStep::Align),
                "only the step `align` counts conversations",
            ),
            (
                &["filter", "filter_ratio"],
                is_filtered,
                "with `scale = \"running\"` no group is left out",
            ),
            (
                &["filter_ratio"],
                matches!(self.filter, GroupFilter::Std | GroupFilter::Mean) || !is_filtered,
                "only the filters `std` and `mean` leave out a share",
            ),
        ]
    }
}

impl TrainConfig {
    fn rules(&self) -> [Rule; 4] {
        let tempered =
            matches!(self.objective, Objective::WeightedLikelihood | Objective::Preference);
        let clips = self.objective.clips();
        [
            (&["beta"], tempered, "only `weighted-likelihood` and `preference` have one"),
            (&["clip_low"], clips, "this objective has no lower bound"),
            (
                &["clip_high"],
                clips || self.objective == Objective::Cispo,
                "this objective has no bounds",
            ),
            (
                &["final_learning_rate_share"],
                self.decay != Decay::Constant,
                "the learning rate does not go down (train.decay)",
            ),
        ]
    }

    /// What ratios begin at and how losses are added up. That an anchor is rescored and importance
    /// truncated may be what a run settled on by itself, which is nothing to tell anybody.
    fn rules_of_losses(&self) -> [Rule; 5] {
        use Objective::{Cispo, Gspo, MGrpo, Preference};
        let has_ratios = self.objective.clips() || self.objective == Cispo;
        let is_weighed = self.importance != Importance::None;
        let has_pairs = self.objective == Preference;
        let is_masked = matches!(self.importance, Importance::Mask | Importance::MaskAnswer);
        [
            (
                &["anchor"],
                has_ratios || is_weighed || self.anchor != AnchorChoice::Rescored,
                "this objective has no ratios, and nothing is weighed by importance",
            ),
            (&["importance"], !(has_pairs && is_masked), "`preference` weighs nothing by it"),
            (
                &["importance_cap"],
                is_weighed && !has_pairs,
                "nothing is weighed by importance (train.importance, train.objective)",
            ),
            (
                &["loss_aggregation"],
                !matches!(self.objective, Gspo | MGrpo | Preference) || self.regularizes(),
                "this objective is a mean over answers, and nothing is regularized",
            ),
            (
                &["regularize"],
                self.regularizes(),
                "there is neither an entropy bonus nor a KL penalty",
            ),
        ]
    }
}

impl PolicyConfig {
    /// What is left of the whole policy's settings, if it is trained or not.
    fn rules(&self, trains: bool) -> [Rule; 5] {
        let is_made = [self.path.is_some(), self.base.is_some(), self.snapshot_of.is_some()];
        let is_elsewhere = [self.remote.is_some(), self.tinker.is_some(), self.ensemble.is_some()];
        let is_shaped = !is_made.iter().chain(&is_elsewhere).any(|is| *is);
        [
            (SHAPE, is_shaped, "its weights have the shape of where they come from"),
            (&["every"], self.snapshot_of.is_some(), "it is nobody's snapshot (snapshot_of)"),
            (
                &["learning_rate"],
                trains || self.remote.is_some(),
                "it is not trained (train = false, or it is a base or a member of others)",
            ),
            (&["dtype"], self.base.is_none(), "an adapter is computed in its base's type"),
            (
                &["chat", "dtype", "learning_rate"],
                self.remote.is_none(),
                "a remote policy's server has its own; its chat template is told by \
                 `remote.chat_template_kwargs`",
            ),
        ]
    }
}

impl Config {
    fn idle_of_policy(&self, name: &str, policy: &PolicyConfig) -> Vec<IdleSetting> {
        let (place, trains) = (format!("policies.{name}"), self.trains(name));
        let mut found = idle(&place, policy, &policy.rules(trains));
        if let Some(lora) = &policy.lora {
            let keys: &[&str] = &["rank", "alpha", "rank_stabilized", "target_modules"];
            let rule = (keys, lora.path.is_none(), "the adapter in `path` says it");
            found.extend(idle(&format!("{place}.lora"), lora, &[rule]));
        }
        if let Some(preference) = &policy.preference {
            let keys: &[&str] = &["beta", "epochs", "minibatch_pairs"];
            let rule = (keys, trains, "it does not learn (train = false)");
            found.extend(idle(&format!("{place}.preference"), preference, &[rule]));
        }
        let does_something = policy.learns != Learns::Preference || trains || self.is_asked(name);
        let learns: &[&str] = &["learns"];
        let why = "it does not learn, and no `judge:` in advantage.then asks it";
        found.extend(idle(&place, policy, &[(learns, does_something, why)]));
        found
    }
}

#[cfg(test)]
mod tests;
