//! The answers of the next step, drawn on servers while this step is learned from
//! (`rollout.staleness = 1`): they come from the policies as they were before its update. Nothing
//! is drawn ahead over a validation, a checkpoint or the end, so that a run that is resumed there
//! goes on as if it had never stopped.

use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::collection::Collection;
use super::{Training, TrainingError};
use crate::ranks::Ranks;
use crate::rollout::{Policies, Rollout};
use crate::team::TeamError;

/// The episodes of a step on their way.
pub(super) struct Ahead(JoinHandle<Result<Rollout, TrainingError>>);

impl Ahead {
    /// The episodes, once they are all there.
    pub(super) fn wait(self) -> Result<Rollout, TrainingError> {
        self.0.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Training {
    /// Refuse to draw ahead what needs the policies that are being trained.
    pub(super) fn check_staleness(&self) -> Result<(), TrainingError> {
        if self.config.rollout.staleness == 0 {
            return Ok(());
        }
        let role_map = &self.team.role_map;
        let at_home = |policy: &String| !role_map.remotes().contains_key(policy);
        match role_map.policies().into_keys().find(at_home) {
            _ if !self.team.ranks.is_alone() => Err(TeamError::StaleRanks.into()),
            Some(policy) => Err(TeamError::Stale { policy }.into()),
            None => Ok(()),
        }
    }

    /// Begin to draw the answers of the step after this one, if they may be a step old. The
    /// policies as they are before the update answer.
    pub(super) fn draw_ahead(&mut self) -> Result<(), TrainingError> {
        let (step, every) = (self.progress.step, self.config.validation.every);
        let is_looked_at = (every > 0 && step.is_multiple_of(every))
            || step.is_multiple_of(self.config.checkpoint.every)
            || step >= self.config.train.steps;
        if self.config.rollout.staleness == 0 || is_looked_at {
            return Ok(());
        }
        self.publish()?;
        let (config, seed, step) = (self.config.clone(), self.seed, step + 1);
        let (families, role_map) = (self.team.families.clone(), self.team.role_map.clone());
        let standings = self.progress.standings.clone();
        let estimator = self.progress.estimator.clone();
        self.ahead = Some(Ahead(thread::spawn(move || {
            Collection {
                config: &config,
                families: &families,
                role_map: &role_map,
                policies: &Policies::new(),
                ranks: &Ranks::alone(),
                standings: &standings,
                estimator: &estimator,
                seed,
                step,
            }
            .collect()
        })));
        Ok(())
    }

    /// The answers of this step, and how many updates older than the policies those are that gave
    /// them.
    pub(super) fn answers(&mut self) -> Result<(Rollout, usize), TrainingError> {
        let Some(ahead) = self.ahead.take() else {
            self.publish()?;
            self.progress.step += 1;
            let rollout = self.collection().collect()?;
            self.check_published()?;
            return Ok((rollout, 0));
        };
        self.progress.step += 1;
        let started = Instant::now();
        let rollout = ahead.wait()?;
        self.check_published()?;
        self.published.waited = Some(started.elapsed().as_secs_f64());
        Ok((rollout, 1))
    }
}
