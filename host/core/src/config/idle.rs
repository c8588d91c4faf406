//! Settings that were changed and do nothing beside the others.

use serde::Serialize;

use super::family::name;
use super::{
    AdvantageConfig, BranchChoice, Config, CreditStep, Decay, GroupFilter, Importance, MixConfig,
    Objective, PolicyConfig, RolloutConfig, SamplingScheme, Scale, Store, TrainConfig, Worth,
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
        let tables = [
            idle("rollout", &self.rollout, &self.rollout.rules()),
            idle("advantage", &self.advantage, &self.advantage.rules()),
            idle("train", &self.train, &self.train.rules()),
            self.idle_in_validation(),
            self.idle_of_families(),
        ];
        let policies = self.policies.iter().flat_map(|(name, policy)| policy.idle(name));
        tables.into_iter().flatten().chain(policies).collect()
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
    fn rules(&self) -> [Rule; 4] {
        let chooses = matches!(self.scheme, SamplingScheme::Tree | SamplingScheme::Independent);
        let by_softmax = chooses && self.branch_choice == BranchChoice::Softmax;
        [
            (
                &["branch_choice"],
                chooses,
                "only `tree` and `independent` go on from one of several answers",
            ),
            (
                &["branch_temperature"],
                by_softmax,
                "only rollout.branch_choice = \"softmax\" has a temperature",
            ),
            (
                &["max_episodes"],
                self.scheme == SamplingScheme::Exhaustive,
                "only `exhaustive` makes so many of one task",
            ),
            (&["store_mib"], self.store != Store::None, "nothing is stored (rollout.store)"),
        ]
    }
}

impl AdvantageConfig {
    fn rules(&self) -> [Rule; 5] {
        // Of all roles together, and of each.
        let own = self.roles.keys().map(|role| self.of_role(role));
        let all: Vec<AdvantageConfig> = own.chain([self.clone()]).collect();
        let any = |holds: &dyn Fn(&AdvantageConfig) -> bool| all.iter().any(holds);
        let discounts = |config: &AdvantageConfig| {
            let besides = config.besides().map(|(_, comparison)| comparison);
            let comparisons = [Some(config.comparison()), besides];
            comparisons.iter().flatten().any(|comparison| comparison.worth == Worth::ToGo)
        };
        [
            (
                &["discount"],
                any(&discounts),
                "no answer is worth what comes later (`worth = \"to-go\"`)",
            ),
            (
                &["step_weight"],
                any(&|config| config.besides().is_some()),
                "only `gigpo` compares anything besides",
            ),
            (
                &["decay"],
                any(&|config| config.comparison().scale == Scale::Running),
                "only `scale = \"running\"` has a running mean",
            ),
            (
                &["threads"],
                self.then.contains(&CreditStep::Align),
                "only the step `align` counts conversations",
            ),
            (
                &["filter_ratio"],
                matches!(self.filter, GroupFilter::Std | GroupFilter::Mean),
                "only the filters `std` and `mean` leave out a share",
            ),
        ]
    }
}

impl TrainConfig {
    fn rules(&self) -> [Rule; 5] {
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
                &["importance_cap"],
                self.importance != Importance::None,
                "nothing is weighed by importance (train.importance)",
            ),
            (
                &["final_learning_rate_share"],
                self.decay != Decay::Constant,
                "the learning rate does not go down (train.decay)",
            ),
        ]
    }
}

impl PolicyConfig {
    fn idle(&self, name: &str) -> Vec<IdleSetting> {
        let is_made = [self.path.is_some(), self.base.is_some(), self.snapshot_of.is_some()];
        let is_elsewhere = [self.remote.is_some(), self.tinker.is_some(), self.ensemble.is_some()];
        let is_shaped = !is_made.iter().chain(&is_elsewhere).any(|is| *is);
        let place = format!("policies.{name}");
        let mut found = idle(
            &place,
            self,
            &[
                (SHAPE, is_shaped, "its weights have the shape of where they come from"),
                (&["every"], self.snapshot_of.is_some(), "it is nobody's snapshot (snapshot_of)"),
                (
                    &["learning_rate"],
                    self.train || self.remote.is_some(),
                    "it is not trained (train = false)",
                ),
                (
                    &["chat", "dtype", "learning_rate"],
                    self.remote.is_none(),
                    "a remote policy's server has its own; its chat template is told by \
                     `remote.chat_template_kwargs`",
                ),
            ],
        );
        if let Some(lora) = &self.lora {
            let keys: &[&str] = &["rank", "alpha", "rank_stabilized", "target_modules"];
            let rule = (keys, lora.path.is_none(), "the adapter in `path` says it");
            found.extend(idle(&format!("{place}.lora"), lora, &[rule]));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn idle(settings: &[&str]) -> Vec<String> {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let config = Config::load(None, &settings).unwrap();
        config.idle_settings().into_iter().map(|setting| setting.key).collect()
    }

    #[test]
    fn a_changed_setting_is_named_where_others_leave_it_nothing_to_do_and_only_there() {
        assert_eq!(idle(&[]), [""; 0]);
        let (tree, softmax) = ("rollout.scheme=tree", "rollout.branch_choice=softmax");
        let (line, all) = ("rollout.scheme=trajectory", "rollout.scheme=exhaustive");
        let corpus = "tasks.files=['a.jsonl']";
        let ramp = "curriculum.settings.size={ from = 3, to = 5 }";
        let (path, base, b) = ("policies.a.path=m", "policies.a.base=b", "policies.b.path=m");
        let cases: [(&str, &[&str], &[&str]); 22] = [
            ("rollout.branch_choice=greedy", &[line], &[tree]),
            ("rollout.branch_temperature=0.5", &[tree], &[tree, softmax]),
            ("rollout.max_episodes=9", &[tree], &[all]),
            ("advantage.discount=0.9", &[line], &[line, "advantage.worth=to-go"]),
            ("train.beta=0.5", &[], &["train.objective=weighted-likelihood"]),
            ("train.clip_low=0.1", &["train.objective=cispo"], &[]),
            ("train.clip_high=0.3", &["train.objective=reinforce"], &["train.objective=cispo"]),
            ("train.importance_cap=3", &["train.importance=none"], &["train.importance=mask"]),
            ("train.final_learning_rate_share=0.5", &["train.decay=constant"], &[]),
            ("rollout.store_mib=5", &["rollout.store=none"], &["rollout.store=kept"]),
            ("advantage.step_weight=2", &[], &[line, "advantage.estimator=gigpo"]),
            ("advantage.decay=0.5", &[], &["advantage.roles.x.scale=running"]),
            ("advantage.threads=3", &[], &["advantage.then=['align']"]),
            ("advantage.filter_ratio=0.5", &["advantage.filter=off"], &["advantage.filter=std"]),
            ("tasks.split_field=split", &["tasks.train=['a.jsonl']"], &[corpus]),
            ("tasks.limit=5", &[], &[corpus]),
            ("validation.top_k=5", &["validation.sampled=false"], &[]),
            ("curriculum.raise_at=0.9", &[], &[ramp]),
            ("policies.a.layers=4", &[path], &[]),
            ("policies.a.every=5", &[], &[b, "policies.a.snapshot_of=b"]),
            ("policies.a.learning_rate=0.1", &["policies.a.train=false"], &[]),
            ("policies.a.lora.rank=3", &[b, base, "policies.a.lora.path=m"], &[b, base]),
        ];
        for (setting, without, with) in cases {
            let estimator = "advantage.estimator=naive";
            let key = setting.split_once('=').unwrap().0;
            assert_eq!(idle(&[&[setting, estimator], without].concat()), [key]);
            assert_eq!(idle(&[&[setting, estimator], with].concat()), [""; 0], "{key}");
        }
    }

    #[test]
    fn what_an_entry_of_a_mixture_sets_to_no_effect_is_named_with_the_entry() {
        let ramp = "settings={size={from=3,to=5}}";
        let entries = |first: &str, second: &str| {
            idle(&[&format!("mix=[{{environment='a',{first}}},{{family='b',{second}}}]")])
        };
        assert_eq!(
            entries("tasks={limit=5,split_field='x'}", "curriculum={raise_at=0.9}"),
            [
                "mix.tasks.split_field of the entry `a`",
                "mix.tasks.limit of the entry `a`",
                "mix.curriculum.raise_at of the entry `b`",
            ]
        );
        let climbs = format!("curriculum={{raise_at=0.9,{ramp}}}");
        assert_eq!(entries("tasks={limit=5,train=['a.jsonl']}", &climbs), [""; 0]);
    }

    #[test]
    fn no_configuration_of_this_repository_sets_what_does_nothing() {
        let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
        let mut seen = 0;
        for folder in fs::read_dir(configs).unwrap().map(|entry| entry.unwrap().path()) {
            // What lies there is added to others, or is none.
            let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
            if !folder.is_dir()
                || ["rows", "experiments", "methods", "jobs"].contains(&name.as_str())
            {
                continue;
            }
            for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if file.extension().is_some_and(|extension| extension == "toml") {
                    let config = Config::load(Some(&file), &[]).unwrap();
                    assert_eq!(config.idle_settings(), [], "{}", file.display());
                    seen += 1;
                }
            }
        }
        assert!(seen > 30, "{seen}");
    }

    #[test]
    fn a_discount_is_at_work_where_one_roles_answers_are_worth_what_comes_later() {
        let common = ["advantage.discount=0.9", "rollout.scheme=trajectory", "advantage.worth=now"];
        let estimator = "advantage.estimator=turn-grpo";
        assert_eq!(idle(&[&common[..], &[estimator]].concat()), ["advantage.discount"]);
        let role = "advantage.roles.planner.worth=to-go";
        assert_eq!(idle(&[&common[..], &[estimator, role]].concat()), [""; 0]);
    }
}
