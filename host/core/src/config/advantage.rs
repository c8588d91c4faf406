//! `[advantage]`: how advantages come from rewards.

use std::collections::BTreeMap;

use super::table::{choices, table};
use super::{Comparison, CreditStep, Estimator, Same, Scale, Unit, Worth};

choices! {
    /// Which groups are left out of the update.
    pub enum GroupFilter {
        /// Those whose rewards are all equal, as they carry no gradient.
        ZeroVariance,
        /// The share `filter_ratio` with the smallest spread.
        Std,
        /// The share `filter_ratio` with the lowest mean.
        Mean,
        /// None.
        Off,
    }
}

table! {
    /// `[advantage]`.
    pub struct AdvantageConfig {
        /// The estimator, by name.
        pub estimator: Estimator = Estimator::AtGrpo;
        /// What is compared as a whole, if not what the estimator's name says.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub unit: Option<Unit> = None;
        /// What that is worth, if not what the name says.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub worth: Option<Worth> = None;
        /// What the members of a group have in common, if not what the name says.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub same: Option<Vec<Same>> = None;
        /// What differences are measured in, if not in what the name says.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub scale: Option<Scale> = None;
        /// What a reward is worth a round earlier, with `worth = "to-go"`.
        pub discount: f64 = 1.0, 0.0..=1.0;
        /// Weight of what GiGPO compares besides: answers to the same prompt.
        pub step_weight: f64 = 1.0, 0.0..=1e6;
        /// Share of a running mean that a new trajectory leaves in place, with `scale = "running"`.
        pub decay: f64 = 0.95, 0.0..1.0;
        /// What becomes of the advantages before the update, in this order.
        pub then: Vec<CreditStep> = Vec::new();
        /// Called conversations of an episode that count, with the step `align`.
        pub threads: usize = 8, 1..=65_536;
        /// Weight of the team reward: r = α·team + local.
        pub alpha: f64 = 1.0, 0.0..=1e6;
        /// Which groups are left out.
        pub filter: GroupFilter = GroupFilter::ZeroVariance;
        /// Share of groups that `std` and `mean` leave out.
        pub filter_ratio: f64 = 0.25, 0.0..=1.0;
        /// What the standard deviation in a group counts as at least, in units of reward: without
        /// it answers that differ by a hair weigh as much as right ones against wrong ones.
        pub least_spread: f64 = 0.0, 0.0..=1e6;
        /// Advantage of answers to a state all of which were refused and worth the same: they say
        /// nothing of each other, but that something else should be said. 0 leaves them out.
        pub refused: f64 = -0.5, -10.0..=0.0;
        /// The same of answers that were all worth the same, and less than nothing, refused or
        /// not: where what leads nowhere costs something, a policy that is sure of it would not
        /// leave it by comparing.
        pub losing: f64 = 0.0, -10.0..=0.0;
        /// Share of a task's episodes that have to be solved for it to teach anything.
        pub least_solved: f64 = 0.0, 0.0..=1.0;
        /// Share of them that may be solved at most.
        pub most_solved: f64 = 1.0, 0.0..=1.0;
        /// What is otherwise for the answers of single roles, which are then compared apart.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub roles: BTreeMap<String, RoleAdvantageConfig> = BTreeMap::new();
    }
}

table! {
    /// `[advantage.roles.<role>]`: how the answers of a role are compared.
    pub struct RoleAdvantageConfig {
        /// The estimator, by name; what `advantage` says of `unit`, `worth`, `same` and `scale` does
        /// not count then.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub estimator: Option<Estimator> = None;
        /// What is compared as a whole.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub unit: Option<Unit> = None;
        /// What that is worth.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub worth: Option<Worth> = None;
        /// What the members of a group have in common.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub same: Option<Vec<Same>> = None;
        /// What differences are measured in.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub scale: Option<Scale> = None;
        /// Weight of the team reward.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub alpha: Option<f64> = None, 0.0..=1e6;
        /// Share of a task's episodes that have to be solved for it to teach the role anything.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub least_solved: Option<f64> = None, 0.0..=1.0;
        /// Share of them that may be solved at most.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub most_solved: Option<f64> = None, 0.0..=1.0;
    }
}

impl AdvantageConfig {
    /// What is compared besides, with its weight.
    pub fn besides(&self) -> Option<(f64, Comparison)> {
        self.estimator.besides().map(|comparison| (self.step_weight, comparison))
    }

    /// The estimator spelled out, with what is set on its own.
    pub fn comparison(&self) -> Comparison {
        let named = self.estimator.comparison();
        Comparison {
            unit: self.unit.unwrap_or(named.unit),
            worth: self.worth.unwrap_or(named.worth),
            same: self.same.clone().unwrap_or(named.same),
            scale: self.scale.unwrap_or(named.scale),
        }
    }

    /// How the answers of a role are compared, whose own settings lie over these.
    #[must_use]
    pub fn of_role(&self, role: &str) -> AdvantageConfig {
        let common = AdvantageConfig { roles: BTreeMap::new(), ..self.clone() };
        let Some(own) = self.roles.get(role) else { return common };
        let common = match own.estimator {
            Some(estimator) => AdvantageConfig {
                estimator,
                unit: None,
                worth: None,
                same: None,
                scale: None,
                ..common
            },
            None => common,
        };
        AdvantageConfig {
            unit: own.unit.or(common.unit),
            worth: own.worth.or(common.worth),
            same: own.same.clone().or(common.same),
            scale: own.scale.or(common.scale),
            alpha: own.alpha.unwrap_or(common.alpha),
            least_solved: own.least_solved.unwrap_or(common.least_solved),
            most_solved: own.most_solved.unwrap_or(common.most_solved),
            ..common
        }
    }

    /// The least and the largest share of a task's episodes that have to be solved for it to teach
    /// the role anything.
    pub fn band_of(&self, role: &str) -> (f64, f64) {
        let own = self.roles.get(role);
        let least = own.and_then(|own| own.least_solved).unwrap_or(self.least_solved);
        (least, own.and_then(|own| own.most_solved).unwrap_or(self.most_solved))
    }
}
