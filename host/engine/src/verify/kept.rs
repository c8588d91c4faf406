//! What a run kept: its checkpoints, against the chain and the summary.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::again::config_of;
use troupe_core::config::Config;
use troupe_core::seed::Seed;
use troupe_core::storage::read_json;
use troupe_guests::plugin::Split;
use troupe_model::Device;
use troupe_training::checkpoint::{load_step, steps_of};
use troupe_training::evaluation::{HeldOutTasks, evaluate};
use troupe_training::run::Link;
use troupe_training::team::Team;
use troupe_training::verification::Fault;

/// The checkpoints of a run, and a team to load them into.
pub struct Kept {
    run: PathBuf,
    config: Config,
    team: Team,
}

impl Kept {
    /// Those of a run.
    pub fn of(run: &Path, device: Device) -> anyhow::Result<Self> {
        let config = config_of(run, run)?;
        let team = Team::offline(&config, device)?;
        let config = config.with_implied_policies(&team.roles());
        Ok(Kept { run: run.to_owned(), config, team })
    }

    /// Weights that are not what their steps left.
    pub fn weights(&self, chain: &[Link]) -> anyhow::Result<Vec<Fault>> {
        let checkpoints = self.run.join("checkpoints");
        let mut faults = Vec::new();
        for step in steps_of(&checkpoints)? {
            let saved = load_step(&checkpoints, step)?.path.join("policies");
            for (policy, left) in chain.get(step).iter().flat_map(|link| &link.weights) {
                let Some(here) = self.team.policies.get(policy) else { continue };
                if here.restore(&saved.join(policy))?.trained_digest()? != *left {
                    faults.push(Fault::Weights { step, policy: policy.clone() });
                }
            }
        }
        Ok(faults)
    }

    /// Whether the best checkpoint solves what the summary says.
    pub fn best(mut self) -> anyhow::Result<Option<Fault>> {
        let summary = self.run.join("summary.json");
        let summary: Value = if summary.is_file() { read_json(&summary)? } else { Value::Null };
        let Some(step) = summary["best"]["step"].as_u64() else { return Ok(None) };
        let saved = load_step(&self.run.join("checkpoints"), step as usize)?.path.join("policies");
        for (name, policy) in &mut self.team.policies {
            if self.config.trains(name) {
                *policy = policy.restore(&saved.join(name))?;
            }
        }
        let seed = Seed::new(self.config.run.seed).named("training");
        let held_out = HeldOutTasks::greedy(Split::Test, self.config.validation.tasks, seed);
        let found = evaluate(&self.team, held_out, &self.config)?.success;
        let same = summary["best"]["test"]["success"].as_f64() == Some(found.success);
        Ok((!same).then_some(Fault::Summary { figure: "best.test" }))
    }
}
