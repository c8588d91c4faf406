//! What is kept and said of a step: its line in the metrics, its table, and its
//! warnings.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Record, Training, TrainingError};
use crate::metrics::{
    FamilyMetrics, GroupMetrics, Spent, Timing, count_endings, measure_families, measure_roles,
};
use crate::rollout::Rollout;
use crate::run::unix_seconds;
use crate::watch::Lesson;
use troupe_core::config::Store;
use troupe_core::table::rows_of;
use troupe_core::trajectory::{Ending, Sample};
use troupe_estimators::credit::Credits;

impl Record {
    /// How long the update took, and how fast it went.
    pub(super) fn measure_update(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        let tokens: usize = self.updates.values().map(|update| update.tokens).sum();
        self.timing.trained_tokens_per_second = tokens as f64 / seconds.max(1e-9);
        self.timing.seconds.insert("update".to_owned(), seconds);
    }
}

impl Training {
    /// The line of a step, as far as the rollout says it.
    pub(super) fn record(&self, rollout: &Rollout) -> Record {
        let (endings, void) = count_endings(&rollout.episodes);
        let generation = rollout.generation.as_secs_f64();
        let seconds = BTreeMap::from([
            ("generation".to_owned(), generation),
            ("plugins".to_owned(), rollout.plugins.as_secs_f64()),
        ]);
        Record {
            step: self.progress.step,
            episodes: rollout.episodes.len(),
            endings,
            void,
            families: self.measure_families(rollout),
            roles: measure_roles(&rollout.samples, self.config.advantage.alpha),
            groups: GroupMetrics::default(),
            updates: BTreeMap::new(),
            information: BTreeMap::new(),
            critics: BTreeMap::new(),
            largest_logprob_difference: None,
            canaries: BTreeMap::new(),
            staleness: self.staleness,
            totals: self.progress.totals,
            validation: None,
            test: None,
            warnings: Vec::new(),
            timing: Timing {
                unix: 0.0,
                seconds,
                totals: Spent::default(),
                generated_tokens_per_second: rollout.totals.completion_tokens as f64
                    / generation.max(1e-9),
                trained_tokens_per_second: 0.0,
            },
        }
    }

    /// Write down what the step brought: some of its episodes, and its line.
    pub(super) fn write_down(
        &mut self,
        rollout: &Rollout,
        record: &mut Record,
    ) -> Result<(), TrainingError> {
        self.note_publication(record);
        let recorded = self.config.run.recorded_episodes.min(rollout.episodes.len());
        let mut episodes = rollout.episodes[..recorded].to_vec();
        episodes.append(&mut self.output.shown);
        self.output.folder.write_episodes(self.progress.step, &episodes)?;
        self.count_time()?;
        (record.timing.totals, record.timing.unix) = (self.progress.spent, unix_seconds());
        self.output.folder.append_metrics(record)?;
        let weights = self.learning.digests()?;
        self.output.folder.append_link(record, weights)?;
        Ok(())
    }

    /// What became of each family's tasks, and which rung they were on.
    fn measure_families(&self, rollout: &Rollout) -> BTreeMap<String, FamilyMetrics> {
        let mut families = measure_families(&rollout.episodes);
        for family in self.learning.team.families.iter().filter(|family| family.rungs.len() > 1) {
            if let Some(metrics) = families.get_mut(&family.scenario.family) {
                let rung = rollout.rungs.get(&family.scenario.family);
                metrics.rung = Some(rung.copied().unwrap_or_default());
            }
        }
        families
    }

    /// How many episodes are void; an error if they are too many.
    pub(super) fn count_void(
        &self,
        rollout: &Rollout,
        what: &'static str,
    ) -> Result<usize, TrainingError> {
        let messages: Vec<&String> = rollout
            .episodes
            .iter()
            .filter_map(|episode| match &episode.ending {
                Ending::Void { message, .. } => Some(message),
                _ => None,
            })
            .collect();
        let (void, episodes) = (messages.len(), rollout.episodes.len());
        match messages.first() {
            Some(first) if void as f64 > self.config.rollout.max_void_share * episodes as f64 => {
                let (step, first) = (self.progress.step, (*first).clone());
                Err(TrainingError::TooManyVoid { step, what, void, episodes, first })
            }
            _ => Ok(void),
        }
    }

    /// Keep the step's answers on disk; returns any warning.
    pub(super) fn store(
        &self,
        rollout: &Rollout,
        credits: &Credits,
    ) -> Result<Option<String>, TrainingError> {
        let (step, config) = (self.progress.step, &self.config.rollout);
        let whole = match config.store {
            Store::None => return Ok(None),
            Store::Kept => false,
            Store::All => true,
        };
        let version = |policy: &str| self.version_of(policy);
        let kept = |sample: &Sample| whole || sample.kept;
        let (samples, episodes) = (&rollout.samples, &rollout.episodes);
        let credits = (&*credits.advantages, &*credits.weights);
        let rows = rows_of((step, version), samples, credits, episodes, kept);
        let limit = (config.store_mib as u64) << 20;
        // A run that is resumed reads what it learns from again.
        let is_needed = self.learning.replay.reaches_back();
        let is_full = self.output.folder.write_table(step, &rows, (limit, is_needed))?;
        let fate = match is_needed {
            true => "kept all the same, because their answers are learned from again",
            false => "not kept",
        };
        Ok(is_full.then(|| {
            format!(
                "the tables of answers have come to {} MiB (rollout.store_mib); those of later \
                 steps are {fate}",
                config.store_mib
            )
        }))
    }

    /// In how many steps the weights had learned that answered in this one.
    fn version_of(&self, policy: &str) -> usize {
        let before = self.progress.step.saturating_sub(1 + self.staleness);
        match self.config.source_of(policy) {
            Some(_) => before - before % self.config.policies[policy].every,
            None if self.learning.trains(policy) => before,
            None => 0,
        }
    }

    /// What each role that trains has learned from; returns the warnings
    /// about it.
    pub(super) fn notice(&mut self, rollout: &Rollout, taught: &[bool]) -> Vec<String> {
        let role_map = &self.learning.team.role_map;
        let roles =
            role_map.policies().into_values().flatten().filter(|role| role_map.learns(role));
        let mut lessons: BTreeMap<String, Lesson> =
            roles.map(|role| (role, Lesson::Silent)).collect();
        for (sample, taught) in rollout.samples.iter().zip(taught) {
            match lessons.get_mut(&sample.role) {
                Some(lesson) if *taught => *lesson = Lesson::Taught,
                Some(lesson) if *lesson == Lesson::Silent => *lesson = Lesson::Flat,
                _ => {}
            }
        }
        let solved = rollout.episodes.iter().filter(|episode| episode.solved()).count();
        let solved = solved as f64 / rollout.episodes.len().max(1) as f64;
        self.progress.guard.take_in(&lessons, solved)
    }
}
