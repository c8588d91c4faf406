//! The answers of the next step, drawn on servers while this step is learned from
//! (`rollout.staleness = 1`): they come from the policies as they were before its update. A
//! checkpoint holds them, so that a run that is resumed goes on as if it had never stopped.

use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::collection::Collection;
use super::learning::Learning;
use super::stored::stored;
use super::{Training, TrainingError};
use crate::rollout::{Policies, Rollout};
use crate::team::TeamError;
use troupe_core::storage::{StorageError, read_json, write_json};
use troupe_trainer::ranks::Ranks;

/// What a checkpoint calls them.
const FILE: &str = "ahead.json";

/// The episodes of the next step.
pub(super) enum Ahead {
    /// They are being played.
    Drawing(JoinHandle<Result<Rollout, TrainingError>>),
    /// They are there, and came from the policies.
    Drawn(Box<Rollout>),
    /// There are none; this is said when their turn comes, and costs no step before it.
    Failed(Box<TrainingError>),
}

impl Training {
    /// Refuse to draw ahead what needs the policies that are being trained.
    pub(super) fn check_staleness(&self) -> Result<(), TrainingError> {
        if self.config.rollout.staleness == 0 {
            return Ok(());
        }
        if !self.learning.team.ranks.is_alone() {
            return Err(TeamError::StaleRanks.into());
        }
        let role_map = &self.learning.team.role_map;
        let at_home = |policy: &String| !role_map.remotes().contains_key(policy);
        match role_map.policies().into_keys().find(at_home) {
            Some(policy) => Err(TeamError::Stale { policy }.into()),
            None => Ok(()),
        }
    }

    /// Whether the answers of the step after this one may be a step old, and there is one.
    fn draws_ahead(&self) -> bool {
        // What this step has drawn counts already; what seconds will have passed is not known.
        let spent = self.share_spent();
        let step = self.progress.step;
        let is_last = spent.map_or(step >= self.config.train.steps, |share| share >= 1.0);
        self.config.rollout.staleness > 0 && !is_last
    }

    /// Have the policies as they are before the update answer, where answers are drawn ahead. This
    /// comes before anything learns from the step, critics included: where a server fails, what is
    /// saved is the run as it was before the step.
    pub(super) fn publish_ahead(&mut self) -> Result<(), TrainingError> {
        match self.draws_ahead() {
            true => self.publish(),
            false => Ok(()),
        }
    }

    /// Begin to draw the answers of the step after this one, if they may be a step old. The
    /// policies as they are before the update answer, which were published already.
    pub(super) fn draw_ahead(&mut self) {
        if !self.draws_ahead() {
            return;
        }
        let (config, seed, step) = (self.config.clone(), self.seed, self.progress.step + 1);
        let (families, role_map) =
            (self.learning.team.families.clone(), self.learning.team.role_map.clone());
        let standings = self.progress.standings.clone();
        let estimator = self.progress.estimator.clone();
        self.learning.ahead = Some(Ahead::Drawing(thread::spawn(move || {
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
    }

    /// Wait for what is being drawn, if anything is, and make sure that the policies of then gave
    /// it: before others are published, and before a checkpoint is written.
    pub(super) fn settle_ahead(&mut self) {
        let Some(Ahead::Drawing(handle)) =
            self.learning.ahead.take_if(|it| matches!(it, Ahead::Drawing(_)))
        else {
            return;
        };
        let started = Instant::now();
        let drawn = handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let drawn = drawn.and_then(|rollout| self.check_published().map(|()| rollout));
        self.output.published.waited = Some(started.elapsed().as_secs_f64());
        self.learning.ahead = Some(match drawn {
            Ok(rollout) => Ahead::Drawn(Box::new(rollout)),
            Err(error) => Ahead::Failed(Box::new(error)),
        });
    }

    /// The answers of this step, and how many updates behind the policies those were that gave
    /// them.
    pub(super) fn answers(&mut self) -> Result<(Rollout, usize), TrainingError> {
        self.settle_ahead();
        match self.learning.ahead.take() {
            Some(Ahead::Failed(error)) => Err(*error),
            Some(Ahead::Drawn(rollout)) => {
                self.progress.step += 1;
                Ok((*rollout, 1))
            }
            Some(Ahead::Drawing(_)) | None if !self.config.rollout.tables.is_empty() => {
                self.progress.step += 1;
                Ok((stored(&self.config, self.progress.step, &self.learning.team)?, 0))
            }
            Some(Ahead::Drawing(_)) | None => {
                self.publish()?;
                self.progress.step += 1;
                let rollout = self.collection().collect()?;
                self.check_published()?;
                Ok((rollout, 0))
            }
        }
    }
}

impl Learning {
    /// Write what was drawn into a checkpoint.
    pub(super) fn save_ahead(&self, checkpoint: &Path) -> Result<(), StorageError> {
        match &self.ahead {
            Some(Ahead::Drawn(rollout)) => write_json(&checkpoint.join(FILE), rollout),
            _ => Ok(()),
        }
    }

    /// Take what was drawn from a checkpoint, if it has some.
    pub(super) fn load_ahead(&mut self, checkpoint: &Path) -> Result<(), StorageError> {
        let path = checkpoint.join(FILE);
        if path.exists() {
            self.ahead = Some(Ahead::Drawn(Box::new(read_json(&path)?)));
        }
        Ok(())
    }
}
