//! What all attempts of a rollout have in common.

use super::role_map::RoleMap;
use troupe_core::config::{Config, RolloutConfig, SamplingScheme};
use troupe_core::seed::Seed;
use troupe_estimators::forks::Dealing;
use troupe_guests::scenario::Due;

/// What all attempts of a rollout have in common.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// Which policy plays which role.
    pub role_map: &'a RoleMap,
    /// How answers are drawn and episodes go on.
    pub config: &'a RolloutConfig,
    /// Weight of the team reward, where the best answer is the one that is gone on from.
    pub alpha: f64,
    /// How many answers states are given, where not all are given as many.
    pub dealing: Option<&'a Dealing>,
}

impl<'a> Setting<'a> {
    /// As a run's configuration has it.
    pub fn of(role_map: &'a RoleMap, config: &'a Config) -> Self {
        let alpha = config.advantage.alpha;
        Setting { role_map, config: &config.rollout, alpha, dealing: None }
    }

    /// The policy that answers a request. Snapshots stand in for their policies where that is the
    /// scheme: what is evaluated are the policies.
    pub(super) fn player(&self, due: &Due, seed: Seed) -> &str {
        let policy = match self.config.scheme {
            SamplingScheme::CrossPolicy => self.role_map.draw_policy(due.role(), seed),
            _ => self.role_map.policy_of(due.role()),
        };
        self.role_map.answerer(policy, due, seed)
    }
}
