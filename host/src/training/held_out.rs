//! Success on tasks that are not trained on.
//!
//! The validation split says how training goes and which checkpoint is the
//! best. Whatever is chosen by it looks better on it than it is, so the
//! headline, before and after, is of the test split, which nothing is chosen by.

use std::time::Instant;

use super::{Record, Training, TrainingError};
use crate::evaluation::{Evaluation, HeldOutTasks, evaluate};
use crate::metrics::HeldOut;
use crate::plugin::Split;

impl Training {
    /// Measure what is due after a step.
    pub(super) fn measure_success(&mut self, record: &mut Record) -> Result<(), TrainingError> {
        let every = self.config.validation.every;
        if self.is_done() || (every > 0 && self.progress.step.is_multiple_of(every)) {
            let success = self.validate(record)?.greedy.success;
            if self.progress.best.is_none_or(|(_, best)| success > best) {
                self.progress.best = Some((self.progress.step, success));
            }
        }
        if self.is_done() {
            self.progress.after = Some(self.test(record)?);
        }
        Ok(())
    }

    /// Success on validation tasks, which goes into the record.
    pub(super) fn validate(&self, record: &mut Record) -> Result<HeldOut, TrainingError> {
        let started = Instant::now();
        let tasks = self.config.validation.tasks_during_training;
        let success = self.examine(Split::Validation, tasks)?;
        record.validation = Some(success.clone());
        let seconds = started.elapsed().as_secs_f64();
        record.timing.seconds.insert("validation".to_owned(), seconds);
        Ok(success)
    }

    /// Success on test tasks, which goes into the record.
    pub(super) fn test(&self, record: &mut Record) -> Result<HeldOut, TrainingError> {
        let started = Instant::now();
        let success = self.examine(Split::Test, self.config.validation.tasks)?;
        record.test = Some(success.clone());
        record.timing.seconds.insert("test".to_owned(), started.elapsed().as_secs_f64());
        Ok(success)
    }

    fn examine(&self, split: Split, tasks: usize) -> Result<HeldOut, TrainingError> {
        let run = |sampled| -> Result<Evaluation, TrainingError> {
            let held_out = HeldOutTasks { split, tasks, sampled, seed: self.seed };
            let evaluation = evaluate(&self.team, held_out, &self.config.rollout)?;
            self.count_void(&evaluation.rollout, "held-out episodes")?;
            Ok(evaluation)
        };
        let greedy = run(false)?;
        let sampled = self.config.validation.sampled.then(|| run(true)).transpose()?;
        let sampled = sampled.map(|evaluation| evaluation.success);
        Ok(HeldOut { greedy: greedy.success, sampled, families: greedy.families })
    }
}
