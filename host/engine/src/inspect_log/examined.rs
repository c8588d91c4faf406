//! Who is examined, in what.

use std::collections::BTreeMap;

use troupe_core::config::Config;
use troupe_guests::plugin::Split;
use troupe_training::family::Family;
use troupe_training::manifest::Manifest;
use troupe_training::team::Team;

/// Who is examined, in what.
pub(in super::super) struct Examined {
    /// The run whose policies they are; nothing of those of a configuration.
    pub(super) run: Option<String>,
    /// How many steps they have learned in; nothing if that is not known.
    pub(super) step: Option<usize>,
    /// The kinds of tasks.
    pub(super) families: Vec<Played>,
    /// The roles in the order of their workflows, each with the policy that plays it.
    pub(super) players: Vec<(String, String)>,
    /// What is drawn how.
    pub(super) config: Config,
    /// Digests, versions and all settings.
    pub(super) manifest: Manifest,
}

/// An environment and the workflow that plays it.
pub(super) struct Played {
    pub(super) family: String,
    pub(super) environment: String,
    pub(super) version: String,
    pub(super) workflow: String,
    /// Turns after which a seat of the role ends the episode.
    pub(super) max_turns: BTreeMap<String, usize>,
}

impl Examined {
    /// A team on tasks of a split.
    pub(in super::super) fn of(
        team: &Team,
        config: &Config,
        manifest: Manifest,
        (run, step): (Option<String>, Option<usize>),
        split: Split,
    ) -> Self {
        let families: Vec<Played> =
            team.families.iter().filter(|family| family.is_played(split)).map(played).collect();
        let mut players: Vec<(String, String)> = Vec::new();
        for role in team.roles() {
            let policy = team.role_map.policy_of(&role).to_owned();
            players.push((role, policy));
        }
        Examined { run, step, families, players, config: config.clone(), manifest }
    }

    /// The policy that plays a role.
    pub(super) fn player(&self, role: &str) -> &str {
        let mut players = self.players.iter();
        players.find(|(name, _)| name == role).map_or("", |(_, policy)| policy)
    }
}

fn played(Family { scenario, .. }: &Family) -> Played {
    let roles = scenario.roles().iter().map(|role| &role.name);
    Played {
        family: scenario.family.clone(),
        environment: scenario.environment.name().to_owned(),
        version: scenario.environment.description().version.clone(),
        workflow: scenario.workflow.name().to_owned(),
        max_turns: roles.map(|role| (role.clone(), scenario.max_turns_of(role))).collect(),
    }
}
