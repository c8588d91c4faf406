//! Policies in training whose answers are drawn on servers.

use std::collections::BTreeMap;
use std::time::Instant;

use super::{Record, Training, TrainingError};
use crate::checkpoint::Progress;
use crate::rollout::RolloutError;
use crate::stage::Stage;
use crate::team::Team;
use troupe_trainer::TrainerError;

/// What came of publishing since the last step was written down.
#[derive(Default)]
pub(super) struct Published {
    canaries: BTreeMap<String, f64>,
    seconds: f64,
    /// Seconds for which answers that were drawn ahead were waited for.
    pub(super) waited: Option<f64>,
}

impl Training {
    /// Have the policies as they are now answer on their servers, if they do not already.
    pub(super) fn publish(&mut self) -> Result<(), TrainingError> {
        self.publish_as(&format!("v{}", self.progress.step))
    }

    /// The same under a name for this state of the policies.
    pub(super) fn publish_as(&mut self, label: &str) -> Result<(), TrainingError> {
        self.settle_ahead();
        let started = Instant::now();
        let sampling = self.learning.team.role_map.sampling(&self.config.rollout);
        let team = (&self.learning.team.policies, &self.learning.team.role_map);
        let canaries =
            self.learning.publication.publish(label, team, &sampling, &self.learning.team.ranks)?;
        let distant = self.learning.publish_distant()?;
        if canaries.is_some() || !distant.is_empty() {
            let mut canaries = canaries.unwrap_or_default();
            canaries.extend(distant);
            if self.output.published.canaries.is_empty() {
                self.output.published.canaries = canaries;
            }
            self.output.published.seconds += started.elapsed().as_secs_f64();
        }
        Ok(())
    }

    /// Whether those that were published are those that have answered.
    pub(super) fn check_published(&mut self) -> Result<(), TrainingError> {
        let sampling = self.learning.team.role_map.sampling(&self.config.rollout);
        let Team { role_map, ranks, .. } = &self.learning.team;
        let canaries = self.learning.publication.check(role_map, &sampling, ranks)?;
        self.output.published.canaries.extend(canaries);
        Ok(())
    }

    /// Take back what was published, once no more answers are needed.
    pub(super) fn withdraw(&mut self) -> Result<(), TrainingError> {
        self.settle_ahead();
        Ok(self.learning.publication.close(&self.learning.team.ranks)?)
    }

    /// Write down what came of publishing.
    pub(super) fn note_publication(&mut self, record: &mut Record) {
        let Published { canaries, seconds, waited } = std::mem::take(&mut self.output.published);
        if let Some(waited) = waited {
            record.timing.seconds.insert("waiting".to_owned(), waited);
        }
        if !canaries.is_empty() {
            record.timing.seconds.insert("publication".to_owned(), seconds);
            record.canaries = canaries;
        }
    }

    /// Where a server has failed before anything was learned from a step, by a critic either, save
    /// what was done before it.
    pub(super) fn go_back_to(
        &mut self,
        before: &Progress,
        stage: Stage,
        error: TrainingError,
    ) -> TrainingError {
        let error = error.during(stage);
        let of_a_server = match &error {
            TrainingError::Publication(_) | TrainingError::Distant { .. } => true,
            TrainingError::Trainer(error) => matches!(error, TrainerError::Distant(_)),
            TrainingError::Rollout(error) => matches!(error, RolloutError::Unanswered { .. }),
            _ => false,
        };
        self.progress = before.clone();
        // The other processes of a run do not wait to save.
        if !of_a_server || !self.learning.team.ranks.is_alone() || self.is_due_for_a_checkpoint() {
            return error;
        }
        self.save().err().unwrap_or(error)
    }
}
