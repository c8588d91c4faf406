//! Success on tasks that are not trained on.
//!
//! The validation split says how training goes and which checkpoint is the
//! best. Anything chosen by it looks better on it than it is, so the
//! headline, before and after, is of the test split, which nothing is chosen by.

use std::time::Instant;

use super::{Record, Training, TrainingError, restore};
use crate::checkpoint::load_step;
use crate::evaluation::{Evaluation, HeldOutTasks, evaluate, evaluate_in_turn, outcomes_of};
use crate::metrics::{Answers, HeldOut, Outcome, Success, several_by_family};
use crate::run::BestCheckpoint;
use crate::stage::Stage;
use troupe_core::trajectory::Episode;
use troupe_guests::plugin::Split;

impl Training {
    /// Measure what is due after a step.
    pub(super) fn measure_success(&mut self, record: &mut Record) -> Result<(), TrainingError> {
        let every = self.config.validation.every;
        if self.is_done() || (every > 0 && self.progress.step.is_multiple_of(every)) {
            self.publish()?;
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
    pub(super) fn validate(&mut self, record: &mut Record) -> Result<HeldOut, TrainingError> {
        let started = Instant::now();
        let tasks = self.config.validation.tasks_during_training;
        let (success, mut episodes) = self.examine(Split::Validation, tasks, 1)?;
        episodes.truncate(self.config.run.recorded_episodes);
        self.output.shown.append(&mut episodes);
        record.validation = Some(success.clone());
        let seconds = started.elapsed().as_secs_f64();
        record.timing.seconds.insert("validation".to_owned(), seconds);
        Ok(success)
    }

    /// Success on test tasks, which goes into the record.
    pub(super) fn test(&self, record: &mut Record) -> Result<HeldOut, TrainingError> {
        let started = Instant::now();
        let (tasks, samples) = (self.config.validation.tasks, self.config.validation.samples);
        let (success, _) = self.examine(Split::Test, tasks, samples)?;
        record.test = Some(success.clone());
        record.timing.seconds.insert("test".to_owned(), started.elapsed().as_secs_f64());
        Ok(success)
    }

    /// How the best checkpoint does on test tasks, if it is not the last one; its policies take
    /// the place of those that were trained.
    pub(super) fn test_best(&mut self) -> Result<Option<BestCheckpoint>, TrainingError> {
        let Some((step, validation)) = self.progress.best else { return Ok(None) };
        if step == self.progress.step {
            return Ok(None);
        }
        let best = load_step(&self.output.folder.checkpoints(), step)?;
        restore(&mut self.learning.team, &self.config, &best.path)?;
        self.publish_as(&format!("best{step}"))?;
        let tasks = self.config.validation.tasks;
        let held_out = HeldOutTasks::greedy(Split::Test, tasks, self.seed);
        let test = evaluate(&self.learning.team, held_out, &self.config)?.success;
        Ok(Some(BestCheckpoint { step, validation, test }))
    }

    /// Success on so many validation tasks, as the policies are now.
    ///
    /// # Errors
    /// If they cannot answer.
    pub fn success(&self, tasks: usize) -> Result<Success, TrainingError> {
        let held_out = HeldOutTasks::greedy(Split::Validation, tasks, self.seed);
        Ok(evaluate(&self.learning.team, held_out, &self.config)?.success)
    }

    /// The success, and the episodes in which the policies gave their likeliest answers. A prompt
    /// that both likeliest and sampled answers begin with is read once.
    fn examine(
        &self,
        split: Split,
        tasks: usize,
        samples: usize,
    ) -> Result<(HeldOut, Vec<Episode>), TrainingError> {
        let greedy = HeldOutTasks::greedy(split, tasks, self.seed);
        let sampled = HeldOutTasks { answers: Answers::Sampled, samples, ..greedy };
        let asked = if self.config.validation.sampled { &[greedy, sampled][..] } else { &[greedy] };
        let (mut success, mut episodes) = (HeldOut::default(), Vec::new());
        evaluate_in_turn(&self.learning.team, asked, &self.config, |asked, evaluation| {
            let outcomes = self.keep_outcomes(&evaluation, asked.answers)?;
            match asked.answers {
                Answers::Greedy => {
                    success.greedy = evaluation.success;
                    success.families = evaluation.families;
                    episodes = evaluation.rollout.episodes;
                }
                Answers::Sampled => {
                    success.sampled = Some(evaluation.success);
                    if samples > 1 {
                        success.several = several_by_family(&outcomes);
                    }
                }
            }
            Ok::<_, TrainingError>(())
        })
        .map_err(|error| error.during(Stage::Evaluate))?;
        Ok((success, episodes))
    }

    /// Write down what became of every task.
    fn keep_outcomes(
        &self,
        evaluation: &Evaluation,
        answers: Answers,
    ) -> Result<Vec<Outcome>, TrainingError> {
        self.count_void(&evaluation.rollout, "held-out episodes")?;
        let outcomes = outcomes_of(&evaluation.rollout, Some(self.progress.step), answers);
        self.output.folder.append_outcomes(&outcomes)?;
        Ok(outcomes)
    }
}
