//! The loop: rollout, groups, advantages, update, validation, checkpoint.
//!
//! [`Training::step`] is the whole of AT-GRPO on one page. Everything a step
//! needs is derived from the configuration, the policies and the number of the
//! step, so that a resumed run goes on as if it had never stopped.

mod ahead;
mod collection;
mod held_out;
mod lap;
mod preparation;
mod publishing;
mod recording;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use crate::checkpoint::{FoundCheckpoint, Progress, remove_old, save_checkpoint};
use crate::curriculum::{Standings, advance};
use crate::guard::{Alarm, Guard};
use crate::health::Health;
use crate::metrics::{HeldOut, Spent, StepRecord, Success, Totals, measure_groups};
use crate::publication::{Publication, PublicationError};
use crate::rollout::{Rollout, RolloutError};
use crate::run::{Change, RunFolder, Summary};
use crate::team::{Team, TeamError};
use troupe_core::config::Config;
use troupe_core::error::{Coded, ExitCode};
use troupe_core::seed::Seed;
use troupe_core::storage::StorageError;
use troupe_core::trajectory::{Episode, Sample};
use troupe_estimators::advantage::{Compared, Memory, compare};
use troupe_estimators::audit::inflation_of;
use troupe_estimators::credit::Credits;
use troupe_model::{Policy, PolicyError, give_back_memory};
use troupe_trainer::ranks::RanksError;
use troupe_trainer::{
    CreditedSample, Member, Trainer, TrainerError, UpdateMetrics, fingerprint, rescore,
    update_together,
};

use ahead::Ahead;
use collection::Collection;
use lap::Lap;
pub use preparation::{plan, settle, slow_dtype};
use publishing::Published;

/// Why training stopped. What was saved before stays.
#[derive(Debug, thiserror::Error)]
pub enum TrainingError {
    /// A rollout could not be made.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// An update could not be made.
    #[error(transparent)]
    Trainer(#[from] TrainerError),
    /// A policy could not be copied, saved or loaded.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The run folder could not be written or read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Another process of the run is lost, or has come to something else.
    #[error(transparent)]
    Ranks(#[from] RanksError),
    /// A policy cannot be given to the server that draws its answers, or that is not what answers.
    #[error(transparent)]
    Publication(#[from] PublicationError),
    /// A server that draws answers is not there.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// What the step did to the policies is not what training is for.
    #[error(transparent)]
    Alarm(#[from] Alarm),
    /// Plugins failed too often to go on.
    #[error(
        "{void} of {episodes} {what} of step {step} were void, more than rollout.max_void_share \
         allows; the first: {first}"
    )]
    TooManyVoid {
        /// The step.
        step: usize,
        /// Training episodes or held-out ones.
        what: &'static str,
        /// Void episodes.
        void: usize,
        /// Episodes.
        episodes: usize,
        /// What happened in the first of them.
        first: String,
    },
}

impl Coded for TrainingError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            TrainingError::Rollout(error) => error.code(),
            TrainingError::Trainer(error) => error.code(),
            TrainingError::Policy(error) => error.code(),
            TrainingError::Storage(error) => error.code(),
            TrainingError::Ranks(error) => error.code(),
            TrainingError::Publication(error) => error.code(),
            TrainingError::Team(error) => error.code(),
            TrainingError::Alarm(error) => error.code(),
            TrainingError::TooManyVoid { .. } => Some(ExitCode::Run),
        }
    }
}

/// A line of `metrics.jsonl`.
pub type Record = StepRecord<UpdateMetrics>;

/// A run under way.
pub struct Training {
    config: Config,
    team: Team,
    trainers: BTreeMap<String, Trainer>,
    publication: Publication,
    folder: RunFolder,
    progress: Progress,
    seed: Seed,
    lap: Lap,
    /// Share of the budget that was spent after the last step, if there is a budget.
    spent: Option<f64>,
    /// Held-out episodes that are written down with those of the step.
    shown: Vec<Episode>,
    /// What is written down with the step of policies that were published.
    published: Published,
    /// The answers of the next step, if they are drawn ahead.
    ahead: Option<Ahead>,
    /// How many updates older than the policies those were that answered in this step.
    staleness: usize,
    verify_logprobs: bool,
}

impl Training {
    /// Begin with warm policies: measure them and save step 0.
    pub fn begin(config: Config, team: Team, folder: RunFolder) -> Result<Self, TrainingError> {
        let progress = Progress {
            step: 0,
            before: HeldOut::default(),
            after: None,
            best: None,
            void_episodes: 0,
            taken_back: 0,
            totals: Totals::default(),
            spent: Spent::default(),
            guard: Guard::default(),
            health: Health::default(),
            standings: Standings::new(),
            estimator: Memory::default(),
        };
        folder.rewind(None)?;
        let mut training = Training::new(config, team, folder, progress)?;
        training.team.take_snapshots(&training.config, 0)?;
        let mut record = training.record(&Rollout::default());
        training.publish()?;
        training.validate(&mut record)?;
        training.progress.before = training.test(&mut record)?;
        training.write_down(&Rollout::default(), &mut record)?;
        training.save()?;
        Ok(training)
    }

    /// Go on from a checkpoint of the run folder.
    pub fn resume(
        config: Config,
        mut team: Team,
        folder: RunFolder,
        FoundCheckpoint { path, progress, .. }: FoundCheckpoint,
    ) -> Result<Self, TrainingError> {
        folder.rewind(Some(progress.step))?;
        restore(&mut team, &config, &path)?;
        let mut training = Training::new(config, team, folder, progress)?;
        for (name, trainer) in &mut training.trainers {
            trainer.load(&path.join("optimizers").join(name))?;
        }
        training.load_ahead(&path)?;
        Ok(training)
    }

    fn new(
        config: Config,
        mut team: Team,
        folder: RunFolder,
        progress: Progress,
    ) -> Result<Self, TrainingError> {
        team.find_engines(&config)?;
        let Team { policies, engines, role_map, ranks, .. } = &mut team;
        let publication =
            Publication::open(&config, (policies, engines), role_map, folder.path(), ranks)?;
        let mut trainers = BTreeMap::new();
        for (name, policy) in &team.policies {
            if config.trains(name) {
                let trainer = Trainer::among(policy, &config.training_of(name), &team.ranks)?;
                trainers.insert(name.clone(), trainer);
            }
        }
        let seed = Seed::new(config.run.seed).named("training");
        let mut training = Training {
            config,
            team,
            trainers,
            publication,
            folder,
            progress,
            seed,
            lap: Lap::begin(),
            spent: None,
            shown: Vec::new(),
            published: Published::default(),
            ahead: None,
            staleness: 0,
            verify_logprobs: false,
        };
        training.spent = training.share_spent();
        training.check_staleness()?;
        Ok(training)
    }

    /// Rescore every sampled token with the training graph before each update.
    pub fn verify_logprobs(&mut self, verify: bool) {
        self.verify_logprobs = verify;
    }

    /// How far the run has come.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// How far the run has come, and what of: steps, or hundredths of its budget.
    pub fn way(&self) -> (usize, usize, &'static str) {
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

    /// One step: sample, compare, update, measure, save.
    pub fn step(&mut self) -> Result<Record, TrainingError> {
        let before = self.progress.clone();
        let rollout = match self.sample() {
            Ok(rollout) => rollout,
            Err(error) => return Err(self.go_back_to(before, error)),
        };
        let mut record = self.record(&rollout);
        let (credits, lessons) = self.compare(&rollout.samples, &mut record);
        self.draw_ahead()?;
        let full = self.store(&rollout, &credits)?;
        record.largest_logprob_difference = self.rescore(&rollout.samples)?;
        give_back_memory();
        self.update(&rollout.samples, &credits, &mut record)?;
        give_back_memory();
        self.check_weights()?;
        self.team.take_snapshots(&self.config, self.progress.step)?;
        record.warnings = self.look_back(&rollout, &lessons);
        record.warnings.extend(full);
        advance(&self.team.families, &mut self.progress.standings, &rollout);
        self.count_time()?;
        self.spent = self.share_spent();
        let (step, limit) = (self.progress.step, self.config.train.max_movement);
        let players = self.team.role_map.policies();
        let alarm = self.progress.guard.check(step, &record.updates, &players, limit);
        if alarm.is_ok() {
            self.measure_success(&mut record)?;
        }
        record.warnings.extend(self.progress.health.take_in(&record));
        self.write_down(&rollout, &mut record)?;
        alarm?;
        if self.is_due_for_a_checkpoint() {
            self.save()?;
        }
        Ok(record)
    }

    /// The answers of the next step.
    fn sample(&mut self) -> Result<Rollout, TrainingError> {
        let (rollout, staleness) = self.answers()?;
        self.staleness = staleness;
        self.progress.void_episodes += self.count_void(&rollout, "episodes")?;
        self.progress.totals += rollout.totals;
        self.progress.spent.fuel += rollout.fuel;
        Ok(rollout)
    }

    fn is_due_for_a_checkpoint(&self) -> bool {
        let step = self.progress.step;
        let is_best = self.progress.best.is_some_and(|(best, _)| best == step);
        step.is_multiple_of(self.config.checkpoint.every) || is_best || self.is_done()
    }

    /// Stop before the last step, with what was done so far saved.
    pub fn stop(mut self) -> Result<RunFolder, TrainingError> {
        if !self.is_due_for_a_checkpoint() {
            self.save()?;
        }
        self.withdraw()?;
        Ok(self.folder)
    }

    /// Write the summary.
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
        self.folder.write_summary(&summary)?;
        Ok((summary, self.folder))
    }

    /// What the episodes of this step depend on.
    fn collection(&self) -> Collection<'_> {
        let Team { families, role_map, policies, ranks, .. } = &self.team;
        let Progress { standings, estimator, step, .. } = &self.progress;
        let (config, seed, step) = (&self.config, self.seed, *step);
        Collection { config, families, role_map, policies, ranks, standings, estimator, seed, step }
    }

    /// What the update is to do with the samples, and which of them teach something.
    fn compare(&mut self, samples: &[Sample], record: &mut Record) -> (Credits, Vec<bool>) {
        let (config, role_map) = (&self.config.advantage, &self.team.role_map);
        let learns = |sample: &Sample| role_map.learns_from(sample);
        let Compared { formed, kept, credits, lessons } =
            compare(samples, config, &mut self.progress.estimator, learns);
        record.groups = measure_groups(&formed, &kept, None);
        for (role, metrics) in record.roles.iter_mut().filter(|(role, _)| role_map.learns(role)) {
            metrics.groups = Some(measure_groups(&formed, &kept, Some(role)));
            metrics.inflation = inflation_of(samples, &self.config.advantage, role);
        }
        (credits, lessons)
    }

    /// Each policy learns from its own roles' samples.
    fn update(
        &mut self,
        samples: &[Sample],
        credits: &Credits,
        record: &mut Record,
    ) -> Result<(), TrainingError> {
        let started = Instant::now();
        let sampling = self.team.role_map.sampling(&self.config.rollout);
        let seed = self.seed.at(self.progress.step as u64).named("update");
        let regularizes_all = self.config.train.regularizes_all();
        let own = |name: &String| -> (Vec<CreditedSample>, Vec<&Sample>) {
            let credits = credits.advantages.iter().zip(&credits.weights);
            let own = samples.iter().zip(credits).filter(|(sample, _)| sample.policy == *name);
            let row = |(sample, (&advantage, &weight)): (_, (&Option<f32>, &f32))| {
                let counts = weight > 0.0 && (advantage.is_some() || regularizes_all);
                counts.then_some(CreditedSample { sample, advantage, weight })
            };
            (own.clone().filter_map(row).collect(), own.map(|(sample, _)| sample).collect())
        };
        let own: Vec<(Vec<CreditedSample>, Vec<&Sample>)> = self.trainers.keys().map(own).collect();
        let mut policies: BTreeMap<_, _> = self.team.policies.iter_mut().collect();
        let (mut names, mut members) = (Vec::new(), Vec::new());
        for ((name, trainer), (rows, samples)) in self.trainers.iter_mut().zip(&own) {
            trainer.set_spent(self.spent);
            let Some(policy) = policies.remove(name) else { continue };
            names.push(name.clone());
            members.push(Member { trainer, policy, rows, samples, seed: seed.named(name) });
        }
        record.updates = names.into_iter().zip(update_together(members, &sampling)?).collect();
        let taken_back = record.updates.values().filter(|update| update.taken_back > 0);
        self.progress.taken_back += taken_back.count();
        let seconds = started.elapsed().as_secs_f64();
        let tokens: usize = record.updates.values().map(|update| update.tokens).sum();
        record.timing.trained_tokens_per_second = tokens as f64 / seconds.max(1e-9);
        record.timing.seconds.insert("update".to_owned(), seconds);
        Ok(())
    }

    /// All ranks stop learning together.
    fn check_weights(&self) -> Result<(), TrainingError> {
        if self.team.ranks.is_alone() {
            return Ok(());
        }
        let trained = self.trainers.keys().filter_map(|name| self.team.policies.get(name));
        let own: Vec<i64> = trained.map(fingerprint).collect::<Result<_, _>>()?;
        Ok(self.team.ranks.check("weights", own)?)
    }

    /// The largest difference between a token's log-probability as sampled
    /// and as the training graph has it; nothing if it was not measured.
    fn rescore(&self, samples: &[Sample]) -> Result<Option<f64>, TrainingError> {
        if !self.verify_logprobs {
            return Ok(None);
        }
        let sampling = self.team.role_map.sampling(&self.config.rollout);
        let own = |name: &String| samples.iter().filter(|s| s.policy == *name).collect();
        let policies: Vec<(&Policy, Vec<&Sample>)> = (self.trainers.keys())
            .filter_map(|name| Some((self.team.policies.get(name)?, own(name))))
            .collect();
        let tokens = self.config.train.microbatch_tokens;
        let scores = rescore(&self.team.ranks, &policies, &sampling, tokens)?;
        let own = policies.iter().flat_map(|(_, own)| own).zip(scores.iter().flatten());
        let mut largest = 0.0_f64;
        for (sample, rescored) in own {
            for (there, here) in sample.completion.logprobs.iter().zip(rescored) {
                largest = largest.max(f64::from((there - here).abs()));
            }
        }
        Ok(Some(largest))
    }

    fn save(&mut self) -> Result<(), TrainingError> {
        self.settle_ahead();
        self.count_time()?;
        if !self.folder.is_written_here() {
            return Ok(self.trainers.values().try_for_each(Trainer::hand_in)?);
        }
        let checkpoints = self.folder.checkpoints();
        let write = |folder: &Path| -> Result<(), TrainingError> {
            let changes = |name: &String| {
                self.trainers.contains_key(name) || self.config.source_of(name).is_some()
            };
            for (name, policy) in self.team.policies.iter().filter(|(name, _)| changes(name)) {
                policy.save(&folder.join("policies").join(name))?;
            }
            for (name, trainer) in &self.trainers {
                trainer.save(&folder.join("optimizers").join(name))?;
            }
            Ok(self.save_ahead(folder)?)
        };
        save_checkpoint(&checkpoints, &self.progress, write)?;
        let best = self.progress.best.map(|(step, _)| step);
        remove_old(&checkpoints, self.config.checkpoint.keep, best)?;
        Ok(())
    }

    /// By the clock of rank 0, and what all ranks have worked meanwhile.
    fn count_time(&mut self) -> Result<(), TrainingError> {
        let laps = self.team.ranks.gather(self.lap.turn())?;
        self.progress.spent.seconds += laps[0].0;
        self.progress.spent.cpu_seconds += laps.iter().map(|(_, worked)| worked).sum::<f64>();
        Ok(())
    }
}

/// Put the policies of a checkpoint in place of those of the team.
fn restore(team: &mut Team, config: &Config, checkpoint: &Path) -> Result<(), TrainingError> {
    for (name, policy) in &mut team.policies {
        if config.trains(name) || config.source_of(name).is_some() {
            *policy = policy.restore(&checkpoint.join("policies").join(name))?;
        }
    }
    Ok(())
}
