//! The loop: rollout, groups, advantages, update, validation, checkpoint.
//!
//! [`Training::step`] is the whole of AT-GRPO: sample, compare, update, look
//! back, keep. Everything a step needs is derived from the configuration, the
//! policies and the number of the step, so that a resumed run goes on as if it
//! had never stopped. Where features have to come in one order, the five say so.

mod ahead;
mod collection;
mod critics;
mod distant;
mod error;
mod held_out;
mod influence;
mod lap;
mod learning;
mod lessons;
mod meddling;
mod output;
mod preparation;
mod publishing;
mod recording;
mod replay;
mod stored;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use crate::checkpoint::{FoundCheckpoint, Progress, is_first_kept, remove_old, save_checkpoint};
use crate::curriculum::advance;
use crate::metrics::{Success, measure_groups};
use crate::rollout::Rollout;
use crate::run::{Change, RunFolder, Summary};
use crate::stage::Stage;
use crate::team::Team;
use crate::watch::Alarm;
use troupe_core::config::{Allocation, Config};
use troupe_core::seed::Seed;
use troupe_core::trajectory::Sample;
use troupe_estimators::advantage::{Compared, compare};
use troupe_estimators::audit::inflation_of;
use troupe_model::give_back_memory;
use troupe_trainer::{Information, Trainer};

pub use crate::metrics::Record;
use collection::Collection;
pub use error::TrainingError;
pub use influence::{Culprit, Effect, Influence, unfit_for_influence};
use learning::Learning;
pub(crate) use learning::restore;
use lessons::Lessons;
pub use meddling::{Meddling, NotThere};
use output::Output;
pub use preparation::{plan, plan_on_card, settle, slow_dtype};
pub use stored::digests_of_tables;

/// A run under way.
pub struct Training {
    config: Config,
    seed: Seed,
    /// What learns.
    learning: Learning,
    /// What is remembered: a checkpoint holds all of it.
    progress: Progress,
    /// What is written.
    output: Output,
    /// Share of the budget that was spent after the last step, if there is a budget.
    spent: Option<f64>,
    /// How many updates behind the policies those were that gave this step's answers.
    staleness: usize,
    verify_logprobs: bool,
    /// What one step is to teach otherwise.
    meddling: Option<Meddling>,
}

impl Training {
    /// Begin with warm policies: measure them and save step 0.
    ///
    /// # Errors
    /// If the team does not fit the configuration, a server or another process is lost, too many
    /// held-out episodes are void, or the folder cannot be written.
    pub fn begin(config: Config, team: Team, folder: RunFolder) -> Result<Self, TrainingError> {
        folder.rewind(None)?;
        folder.forget_end()?;
        let mut training = Training::new(config, team, folder, Progress::default())?;
        training.learning.team.take_snapshots(&training.config, 0)?;
        let mut record = training.record(&Rollout::default());
        training.publish()?;
        training.validate(&mut record)?;
        training.progress.before = training.test(&mut record)?;
        training.write_down(&Rollout::default(), &mut record)?;
        training.save()?;
        Ok(training)
    }

    /// Go on from a checkpoint of the run folder.
    ///
    /// # Errors
    /// If the checkpoint cannot be read or is of another team, a server is lost, or the folder
    /// cannot be written.
    pub fn resume(
        config: Config,
        mut team: Team,
        folder: RunFolder,
        FoundCheckpoint { path, progress, .. }: FoundCheckpoint,
    ) -> Result<Self, TrainingError> {
        folder.rewind(Some(progress.step))?;
        team.reopen_distant(&config)?;
        restore(&mut team, &config, &path)?;
        let mut training = Training::new(config, team, folder, progress)?;
        training.learning.load_trainers(&path)?;
        training.learning.load_critics(&path)?;
        let (run, step) = (training.output.folder.path(), training.progress.step);
        training.learning.replay.load(run, step)?;
        training.learning.load_distant(&path)?;
        training.learning.forget_distant(&training.output.folder.checkpoints())?;
        training.learning.load_ahead(&path)?;
        if !training.is_done() {
            training.output.folder.forget_end()?;
        }
        Ok(training)
    }

    fn new(
        config: Config,
        team: Team,
        folder: RunFolder,
        progress: Progress,
    ) -> Result<Self, TrainingError> {
        let learning = Learning::begin(team, &config, folder.path())?;
        let mut training = Training {
            seed: Seed::new(config.run.seed).named("training"),
            config,
            learning,
            progress,
            output: Output::into(folder),
            spent: None,
            staleness: 0,
            verify_logprobs: false,
            meddling: None,
        };
        training.spent = training.share_spent();
        training.check_staleness()?;
        Ok(training)
    }

    /// Rescore every sampled token with the training graph before each update.
    pub fn verify_logprobs(&mut self, verify: bool) {
        self.verify_logprobs = verify;
    }

    /// Have one step teach something else than it would.
    pub fn meddle(&mut self, meddling: Meddling) {
        self.meddling = Some(meddling);
    }

    /// Where the run is written.
    pub fn folder(&self) -> &RunFolder {
        &self.output.folder
    }

    /// How far the run has come.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// How far what is trained is from the same of a checkpoint, by policy (Euclidean distance).
    ///
    /// # Errors
    /// If it cannot be read, or is of other policies.
    pub fn distances(&self, checkpoint: &Path) -> Result<BTreeMap<String, f64>, TrainingError> {
        self.learning.distances(checkpoint)
    }

    /// How far the run has come, and what of: steps, or hundredths of its budget.
    pub fn reached(&self) -> (usize, usize, &'static str) {
        match self.spent {
            Some(share) => (((100.0 * share) as usize).min(100), 100, "% of the budget"),
            None => (self.progress.step, self.config.train.steps, "steps"),
        }
    }

    /// Whether all steps are done, or the budget is spent.
    pub fn is_done(&self) -> bool {
        self.spent.map_or(self.progress.step >= self.config.train.steps, |share| share >= 1.0)
    }

    fn share_spent(&self) -> Option<f64> {
        let Progress { totals, spent, .. } = &self.progress;
        let budget = &self.config.train.budget;
        budget.share_spent(totals.completion_tokens, totals.samples, spent.seconds)
    }

    /// One step: sample, compare, update, look back, keep.
    ///
    /// # Errors
    /// If a server or another process is lost, too many episodes are void, the folder cannot be
    /// written, or what the step did to the policies is an alarm. What was saved before stays.
    pub fn step(&mut self) -> Result<Record, TrainingError> {
        let (record, alarm) = self.step_and_alarm()?;
        alarm.map_or(Ok(record), |alarm| Err(alarm.into()))
    }

    /// The same, with the alarm beside it that ends the run once the step is written down.
    ///
    /// # Errors
    /// As [`Training::step`], but for the alarm.
    pub fn step_and_alarm(&mut self) -> Result<(Record, Option<Alarm>), TrainingError> {
        let before = self.progress.clone();
        let rollout = self.sample()?;
        let mut record = self.record(&rollout);
        let published = self.publish_ahead();
        published.map_err(|error| self.go_back_to(&before, Stage::Update, error))?;
        let lessons = self.compare(&rollout, &mut record)?;
        let updated = self.update(&rollout, &lessons, &mut record);
        updated.map_err(|error| self.go_back_to(&before, Stage::Update, error))?;
        let alarm = self.look_back(&rollout, &lessons.taught, &mut record)?;
        self.keep(&rollout, &mut record, alarm.is_some())?;
        Ok((record, alarm))
    }

    /// The answers of the next step. A step that found no answers has not begun.
    fn sample(&mut self) -> Result<Rollout, TrainingError> {
        let before = self.progress.clone();
        let drawn = self.answers().and_then(|(rollout, staleness)| {
            self.staleness = staleness;
            self.progress.void_episodes += self.count_void(&rollout, "episodes")?;
            self.progress.totals += rollout.totals;
            self.progress.spent.fuel += rollout.fuel;
            Ok(rollout)
        });
        drawn.map_err(|error| self.go_back_to(&before, Stage::Sample, error))
    }

    fn is_due_for_a_checkpoint(&self) -> bool {
        let step = self.progress.step;
        let is_best = self.progress.best.is_some_and(|(best, _)| best == step);
        step.is_multiple_of(self.config.checkpoint.every) || is_best || self.is_done()
    }

    /// Stop before the last step, with what was done so far saved.
    ///
    /// # Errors
    /// If the checkpoint cannot be saved, or a server does not answer.
    pub fn stop(mut self) -> Result<RunFolder, TrainingError> {
        if !self.is_due_for_a_checkpoint() {
            self.save()?;
        }
        self.withdraw()?;
        Ok(self.output.folder)
    }

    /// Write the summary.
    ///
    /// # Errors
    /// If the best checkpoint cannot be loaded or played, a server or another process is lost, or
    /// the summary cannot be written.
    pub fn finish(mut self) -> Result<(Summary, RunFolder), TrainingError> {
        let best = self.test_best()?;
        self.withdraw()?;
        self.count_time()?;
        // Without a step, nothing has changed.
        let before = self.progress.before.clone();
        let after = self.progress.after.clone().unwrap_or_else(|| before.clone());
        let sampled = before.sampled.zip(after.sampled);
        let both = |(name, before): (String, Success)| {
            let after = after.families.get(&name).copied().unwrap_or(before);
            (name, Change { before, after })
        };
        let summary = Summary {
            families: before.families.into_iter().map(both).collect(),
            before: before.greedy,
            after: after.greedy,
            sampled: sampled.map(|(before, after)| Change { before, after }),
            best,
            steps: self.progress.step,
            seconds: self.progress.spent.seconds,
            void_episodes: self.progress.void_episodes,
            taken_back: self.progress.taken_back,
        };
        self.output.folder.write_summary(&summary)?;
        Ok((summary, self.output.folder))
    }

    /// What the episodes of this step depend on.
    fn collection(&self) -> Collection<'_> {
        let Team { families, role_map, policies, ranks, .. } = &self.learning.team;
        let Progress { standings, estimator, step, .. } = &self.progress;
        let (config, seed, step) = (&self.config, self.seed, *step);
        Collection { config, families, role_map, policies, ranks, standings, estimator, seed, step }
    }

    /// What the update is to do with the samples. Critics learn and judge here; the table is
    /// stored before any policy learns from it: an update that fails takes nothing with it.
    fn compare(
        &mut self,
        rollout: &Rollout,
        record: &mut Record,
    ) -> Result<Lessons, TrainingError> {
        let (config, role_map) = (&self.config.advantage, &self.learning.team.role_map);
        let (samples, teaches) = (&rollout.samples, rollout.teaches(role_map, config));
        let Compared { formed, kept, mut credits, taught } =
            compare(samples, config, &mut self.progress.estimator, teaches);
        let step = self.progress.step;
        let meddling = self.meddling.as_ref().filter(|meddling| meddling.step == step);
        meddling.map_or(Ok(()), |meddling| meddling.apply(&formed, &mut credits))?;
        if self.config.rollout.allocation == Allocation::Adaptive {
            let given = |role: &str| role_map.branches(role).is_some();
            self.progress.estimator.forks.learn(samples, &formed, given);
        }
        record.groups = measure_groups(&formed, &kept, None);
        for (role, metrics) in record.roles.iter_mut().filter(|(role, _)| role_map.learns(role)) {
            metrics.groups = Some(measure_groups(&formed, &kept, Some(role)));
            metrics.inflation = inflation_of(samples, config, role);
        }
        let own = self.consult(rollout, credits, record)?;
        self.teach(rollout, own, taught, record)
    }

    /// Each policy learns from its own roles' samples.
    ///
    /// In this order: the next step's answers begin to be drawn by the policies as they are
    /// (`rollout.staleness`); what was sampled is scored again before weights change
    /// (`--verify-logprobs`, `train.information_every`); memory of the rollout is given back before
    /// the update takes its own; ranks compare weights, and snapshots are taken of those that all
    /// agree on.
    fn update(
        &mut self,
        rollout: &Rollout,
        lessons: &Lessons,
        record: &mut Record,
    ) -> Result<(), TrainingError> {
        self.draw_ahead();
        if self.verify_logprobs {
            let largest = self.learning.rescore(&self.config, &rollout.samples)?;
            record.largest_logprob_difference = Some(largest);
        }
        let seed = self.seed.at(self.progress.step as u64).named("update");
        record.information = self.information(&rollout.samples, seed)?;
        give_back_memory();
        let started = Instant::now();
        let lessons = lessons.of(&rollout.samples);
        record.updates = self.learning.update(&self.config, lessons, self.spent, seed)?;
        record.measure_update(started.elapsed());
        give_back_memory();
        self.learning.check_weights()?;
        Ok(self.learning.team.take_snapshots(&self.config, self.progress.step)?)
    }

    /// By role that learns here, what its answers say of its prompts, on the steps that measure it.
    fn information(
        &self,
        samples: &[Sample],
        seed: Seed,
    ) -> Result<BTreeMap<String, Information>, TrainingError> {
        let every = self.config.train.information_every;
        if every == 0 || !self.progress.step.is_multiple_of(every) {
            return Ok(BTreeMap::new());
        }
        self.learning.information(&self.config, samples, seed.named("information"))
    }

    /// What the step has come to: what was noticed, the curriculum, time and budget, success on
    /// held-out tasks. What is returned ends the run once the step is written down.
    ///
    /// In this order: the curriculum advances and time is counted before the guard looks; where the
    /// guard is alarmed nothing is measured any more; what is noticed last has seen all figures.
    fn look_back(
        &mut self,
        rollout: &Rollout,
        taught: &[bool],
        record: &mut Record,
    ) -> Result<Option<Alarm>, TrainingError> {
        let full = std::mem::take(&mut record.warnings);
        let taken_back = record.updates.values().filter(|update| update.taken_back > 0);
        self.progress.taken_back += taken_back.count();
        record.warnings = self.notice(rollout, taught);
        record.warnings.extend(full);
        let families = &self.learning.team.families;
        advance(families, &mut self.progress.standings, rollout);
        self.count_time()?;
        self.spent = self.share_spent();
        let (step, limit) = (self.progress.step, self.config.train.max_movement);
        let players = self.learning.team.role_map.policies();
        let alarm = self.progress.guard.check(step, &record.updates, &players, limit).err();
        if alarm.is_none() {
            self.measure_success(record)?;
        }
        record.warnings.extend(self.progress.health.take_in(record));
        Ok(alarm)
    }

    /// Write the step down, and save a checkpoint where one is due: never of policies that an alarm
    /// is about.
    fn keep(
        &mut self,
        rollout: &Rollout,
        record: &mut Record,
        is_alarmed: bool,
    ) -> Result<(), TrainingError> {
        self.write_down(rollout, record)?;
        if !is_alarmed && self.is_due_for_a_checkpoint() {
            self.save()?;
        }
        Ok(())
    }

    fn save(&mut self) -> Result<(), TrainingError> {
        self.settle_ahead();
        self.count_time()?;
        let Training { config, learning, progress, output, .. } = self;
        if !output.folder.is_written_here() {
            return Ok(learning.trainers.values().try_for_each(Trainer::hand_in)?);
        }
        let checkpoints = output.folder.checkpoints();
        save_checkpoint(&checkpoints, progress, |folder| learning.save(config, folder))?;
        let mut others: Vec<usize> = progress.best.map(|(step, _)| step).into_iter().collect();
        // What a server keeps for it would be for nothing.
        let is_here = learning.team.distant.is_empty();
        if is_here && is_first_kept(config.validation.knock_out, &checkpoints)? {
            others.push(0);
        }
        remove_old(&checkpoints, config.checkpoint.keep, &others)?;
        Ok(learning.forget_distant(&checkpoints)?)
    }

    /// By the clock of rank 0, and what all ranks have worked meanwhile.
    fn count_time(&mut self) -> Result<(), TrainingError> {
        let laps = self.learning.team.ranks.gather(self.output.lap.turn())?;
        self.progress.spent.seconds += laps[0].0;
        self.progress.spent.cpu_seconds += laps.iter().map(|(_, worked)| worked).sum::<f64>();
        Ok(())
    }
}
