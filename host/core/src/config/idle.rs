//! Settings that were changed and do nothing beside the others.

use super::{
    AdvantageConfig, BranchChoice, Config, Objective, RolloutConfig, SamplingScheme, TrainConfig,
    Worth,
};

/// A setting that does nothing in a training run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleSetting {
    /// Its key, with the table.
    pub key: &'static str,
    /// What would have to be otherwise.
    pub why: &'static str,
}

impl Config {
    /// Settings that are not at their defaults, and that the others leave nothing to do. A budget's
    /// steps are not among them: every configuration has some.
    pub fn idle_settings(&self) -> Vec<IdleSetting> {
        let idle = self.rollout.idle().into_iter().chain(self.train.idle());
        idle.chain([self.advantage.idle()]).flatten().collect()
    }
}

impl IdleSetting {
    /// If it was `changed` and is not `used`.
    fn of(key: &'static str, changed: bool, used: bool, why: &'static str) -> Option<Self> {
        (changed && !used).then_some(IdleSetting { key, why })
    }
}

impl RolloutConfig {
    fn idle(&self) -> [Option<IdleSetting>; 3] {
        let default = RolloutConfig::default();
        let chooses = matches!(self.scheme, SamplingScheme::Tree | SamplingScheme::Independent);
        let by_softmax = chooses && self.branch_choice == BranchChoice::Softmax;
        [
            IdleSetting::of(
                "rollout.branch_choice",
                self.branch_choice != default.branch_choice,
                chooses,
                "only `tree` and `independent` go on from one of several answers",
            ),
            IdleSetting::of(
                "rollout.branch_temperature",
                self.branch_temperature != default.branch_temperature,
                by_softmax,
                "only rollout.branch_choice = \"softmax\" has a temperature",
            ),
            IdleSetting::of(
                "rollout.max_episodes",
                self.max_episodes != default.max_episodes,
                self.scheme == SamplingScheme::Exhaustive,
                "only `exhaustive` makes so many of one task",
            ),
        ]
    }
}

impl AdvantageConfig {
    fn idle(&self) -> Option<IdleSetting> {
        let discounts = |config: &AdvantageConfig| {
            let besides = config.besides().map(|(_, comparison)| comparison);
            let comparisons = [Some(config.comparison()), besides];
            comparisons.iter().flatten().any(|comparison| comparison.worth == Worth::ToGo)
        };
        IdleSetting::of(
            "advantage.discount",
            self.discount != AdvantageConfig::default().discount,
            discounts(self) || self.roles.keys().any(|role| discounts(&self.of_role(role))),
            "no answer is worth what comes later (`worth = \"to-go\"`)",
        )
    }
}

impl TrainConfig {
    fn idle(&self) -> [Option<IdleSetting>; 3] {
        let default = TrainConfig::default();
        let tempered =
            matches!(self.objective, Objective::WeightedLikelihood | Objective::Preference);
        [
            IdleSetting::of(
                "train.beta",
                self.beta != default.beta,
                tempered,
                "only `weighted-likelihood` and `preference` have one",
            ),
            IdleSetting::of(
                "train.clip_low",
                self.clip_low != default.clip_low,
                self.objective.clips(),
                "this objective has no lower bound",
            ),
            IdleSetting::of(
                "train.clip_high",
                self.clip_high != default.clip_high,
                self.objective.clips() || self.objective == Objective::Cispo,
                "this objective has no bounds",
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle(settings: &[&str]) -> Vec<&'static str> {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let config = Config::load(None, &settings).unwrap();
        config.idle_settings().into_iter().map(|setting| setting.key).collect()
    }

    #[test]
    fn a_changed_setting_is_named_where_others_leave_it_nothing_to_do_and_only_there() {
        assert_eq!(idle(&[]), [""; 0]);
        let (tree, softmax) = ("rollout.scheme=tree", "rollout.branch_choice=softmax");
        let (line, all) = ("rollout.scheme=trajectory", "rollout.scheme=exhaustive");
        let cases: [(&str, &[&str], &[&str]); 7] = [
            ("rollout.branch_choice=greedy", &[line], &[tree]),
            ("rollout.branch_temperature=0.5", &[tree], &[tree, softmax]),
            ("rollout.max_episodes=9", &[tree], &[all]),
            ("advantage.discount=0.9", &[line], &[line, "advantage.worth=to-go"]),
            ("train.beta=0.5", &[], &["train.objective=weighted-likelihood"]),
            ("train.clip_low=0.1", &["train.objective=cispo"], &[]),
            ("train.clip_high=0.3", &["train.objective=reinforce"], &["train.objective=cispo"]),
        ];
        for (setting, without, with) in cases {
            let estimator = "advantage.estimator=naive";
            let key = setting.split_once('=').unwrap().0;
            assert_eq!(idle(&[&[setting, estimator], without].concat()), [key]);
            assert_eq!(idle(&[&[setting, estimator], with].concat()), [""; 0], "{key}");
        }
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
