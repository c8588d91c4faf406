//! Which groups of a step made the policies worse.
//!
//! Validation tasks are played by the policies as they are, and again after an update, from the
//! same seeds. The step is made on trial as often as that takes, each time from the policies and
//! moments before it, and with the advantages of some groups at 0.
//!
//! Which groups to try first, the direction of success says: an update on the episodes before it
//! moves the policies that way, and groups whose answers pull the other way come first (TracIn, arXiv
//! 2002.08484, in the optimizer's own geometry and by two forward passes for all groups). Bisection
//! finds the shortest beginning of this ranking without which the step does no harm. What is in it
//! is put back, one group at a time, and named if that alone does harm.

mod prospect;

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;

use super::learning::of;
use super::{Meddling, Training, TrainingError};
use crate::checkpoint::load_step;
use crate::team::Team;
use troupe_core::config::Config;
use troupe_core::statistics::{Interval, mean, student_interval};
use troupe_core::trajectory::Sample;
use troupe_estimators::advantage::{Compared, compare};
use troupe_estimators::credit::Credits;
use troupe_estimators::group::Group;
use troupe_trainer::rescore;

use prospect::Prospect;

/// Share of the harm that has to be gone without the groups that are found.
const HEALED: f64 = 0.9;
/// Groups of a step that are put back one by one at most.
const SUSPECTS: usize = 32;

/// What an update changes in success on validation tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// A difference of two shares.
    pub mean: f64,
    /// Its 95 % interval over tasks.
    #[serde(flatten)]
    pub interval: Interval,
}

impl Effect {
    fn of(tasks: &[f64]) -> Self {
        let mean = mean(tasks);
        let interval = student_interval(tasks).unwrap_or(Interval { low: -1.0, high: 1.0 });
        Effect { mean, interval }
    }

    /// Whether it is shown to be a loss.
    pub fn is_harm(&self) -> bool {
        self.interval.high < 0.0
    }
}

/// A group that does harm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Culprit {
    /// Its place among the groups of the step, as `--drop-group` names it.
    pub group: usize,
    /// The task within the step.
    pub task: usize,
    /// The roles whose answers it compares.
    pub roles: BTreeSet<String>,
    /// The turn of its first answer, from 0.
    pub turn: usize,
    /// Rows of the step's table, if that has all its answers.
    pub rows: Vec<usize>,
    /// What its answers were worth, the least and the most.
    pub worth: (f64, f64),
    /// What it changes where none of the others that were found teaches.
    pub effect: Effect,
}

/// What a step did, and by which of its groups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Influence {
    /// The step.
    pub step: usize,
    /// All groups that it compared.
    pub groups: usize,
    /// What it changed.
    pub effect: Effect,
    /// The same without the groups that were found.
    pub without: Effect,
    /// Those groups. None where the step is not shown to do harm, or it is not the doing of some.
    pub found: Vec<Culprit>,
}

/// Whether a run's steps can be asked for groups that did harm; why not.
pub fn unfit_for_influence(config: &Config) -> Option<&'static str> {
    if config.critics().next().is_some() {
        return Some("critics judge its answers, and not the groups that they are in");
    }
    if config.rollout.replay_steps > 1 {
        return Some("its steps learn from earlier answers, too (rollout.replay_steps)");
    }
    let elsewhere = |name: &String| {
        config.policies.get(name).is_some_and(|p| p.tinker.is_some() || p.sampler.is_some())
    };
    config.policies.keys().any(elsewhere).then_some("a server has part in its steps")
}

impl Training {
    /// Which groups of the next step make the policies worse, by so many validation tasks. The step
    /// is made on trial only, from the checkpoint of the last one, which the folder has to have.
    ///
    /// # Errors
    /// As [`Training::step`].
    pub fn influence(mut self, tasks: usize) -> Result<Influence, TrainingError> {
        let checkpoint = load_step(&self.output.folder.checkpoints(), self.progress.step)?.path;
        let prospect = Prospect::draw(&self.learning.team, &self.config, (tasks, self.seed))?;
        let rollout = self.sample()?;
        let samples = &rollout.samples;
        let (role_map, advantage) = (&self.learning.team.role_map, &self.config.advantage);
        let teaches = rollout.teaches(role_map, advantage);
        let Compared { formed, credits, .. } =
            compare(samples, advantage, &mut self.progress.estimator, teaches);
        let trials = Trials { training: self, checkpoint, samples, groups: &formed, credits };
        trials.look(&prospect)
    }
}

/// Logarithm of every answer's probability by the policy that gave it; 0 where that does not learn
/// here.
fn scores(team: &Team, config: &Config, samples: &[Sample]) -> Result<Vec<f64>, TrainingError> {
    let sampling = team.role_map.sampling(&config.rollout);
    let own = team.policies.iter().filter(|(name, _)| config.trains(name));
    let mut scores = vec![0.0; samples.len()];
    for (name, policy) in own {
        let tokens = config.train.microbatch_tokens;
        let scored = rescore(&team.ranks, &[(policy, of(name, samples))], &sampling, tokens)?;
        let rows = (0..samples.len()).filter(|&row| samples[row].policy == *name);
        for (row, tokens) in rows.zip(scored.into_iter().flatten()) {
            scores[row] = tokens.into_iter().map(f64::from).sum();
        }
    }
    Ok(scores)
}

/// A step that can be made as often as one likes.
struct Trials<'s> {
    training: Training,
    /// How everything was before it.
    checkpoint: PathBuf,
    samples: &'s [Sample],
    groups: &'s [Group],
    credits: Credits,
}

impl Trials<'_> {
    fn look(mut self, prospect: &Prospect) -> Result<Influence, TrainingError> {
        let effect = Effect::of(&self.without(&BTreeSet::new(), prospect)?);
        let step = self.training.progress.step;
        let groups = self.groups.len();
        let mut influence = Influence { step, groups, effect, without: effect, found: Vec::new() };
        if !effect.is_harm() {
            return Ok(influence);
        }
        let ranking = self.against(prospect)?;
        let suspects = self.suspects(&ranking, effect, prospect)?;
        influence.found = self.put_back(suspects, prospect)?;
        let found = influence.found.iter().map(|culprit| culprit.group).collect();
        influence.without = Effect::of(&self.without(&found, prospect)?);
        Ok(influence)
    }

    /// The shortest beginning of the ranking without which the step does no harm; nothing where
    /// there is none.
    fn suspects<'r>(
        &mut self,
        ranking: &'r [usize],
        effect: Effect,
        prospect: &Prospect,
    ) -> Result<&'r [usize], TrainingError> {
        let mut is_healed = |count: usize| -> Result<bool, TrainingError> {
            let groups = ranking[..count].iter().copied().collect();
            Ok(mean(&self.without(&groups, prospect)?) >= (1.0 - HEALED) * effect.mean)
        };
        // It ends in `low + 1..=high`.
        let (mut low, mut high) = (0, ranking.len());
        if high == 0 || !is_healed(high)? {
            return Ok(&[]);
        }
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            match is_healed(middle)? {
                true => high = middle,
                false => low = middle,
            }
        }
        Ok(&ranking[..high])
    }

    /// Those of the suspects that do harm where none of the others teaches.
    fn put_back(
        &mut self,
        suspects: &[usize],
        prospect: &Prospect,
    ) -> Result<Vec<Culprit>, TrainingError> {
        let all: BTreeSet<usize> = suspects.iter().copied().collect();
        let base = self.without(&all, prospect)?;
        let mut found = Vec::new();
        for &group in suspects.iter().take(SUSPECTS) {
            let mut others = all.clone();
            others.remove(&group);
            let with = self.without(&others, prospect)?;
            let changes = with.iter().zip(&base).map(|(with, base)| with - base);
            let effect = Effect::of(&changes.collect::<Vec<f64>>());
            if effect.is_harm() {
                found.push(self.culprit(group, effect));
            }
        }
        Ok(found)
    }

    /// What the step changes by task if these groups teach nothing in it.
    fn without(
        &mut self,
        groups: &BTreeSet<usize>,
        prospect: &Prospect,
    ) -> Result<Vec<f64>, TrainingError> {
        let mut credits = self.credits.clone();
        let factors = groups.iter().map(|&group| (group, 0.0)).collect();
        Meddling { factors, ..Meddling::default() }.apply(self.groups, &mut credits)?;
        self.teach(self.samples, credits)?;
        prospect.changes(&self.training.learning.team, &self.training.config)
    }

    /// The groups whose answers pull away from success, those that do it most first.
    fn against(&mut self, prospect: &Prospect) -> Result<Vec<usize>, TrainingError> {
        self.go_back()?;
        let before = self.scores()?;
        self.teach(&prospect.samples, prospect.credits())?;
        let after = self.scores()?;
        let pull = |row: usize| {
            let advantage = f64::from(self.credits.advantages[row].unwrap_or(0.0));
            f64::from(self.credits.weights[row]) * advantage * (after[row] - before[row])
        };
        let of_group = |group: &Group| group.rows().map(pull).sum::<f64>();
        let pulls: Vec<f64> = self.groups.iter().map(of_group).collect();
        let mut against: Vec<usize> =
            (0..pulls.len()).filter(|&group| pulls[group] < 0.0).collect();
        against.sort_by(|one, other| pulls[*one].total_cmp(&pulls[*other]));
        Ok(against)
    }

    /// What the policies are after an update on these answers from how everything was.
    fn teach(&mut self, samples: &[Sample], credits: Credits) -> Result<(), TrainingError> {
        self.go_back()?;
        let Training { learning, config, spent, seed, progress, .. } = &mut self.training;
        let seed = seed.at(progress.step as u64).named("update");
        learning.update(config, (samples, &credits), *spent, seed).map(drop)
    }

    fn go_back(&mut self) -> Result<(), TrainingError> {
        let Training { learning, config, .. } = &mut self.training;
        learning.go_back(config, &self.checkpoint)
    }

    fn scores(&self) -> Result<Vec<f64>, TrainingError> {
        scores(&self.training.learning.team, &self.training.config, self.samples)
    }

    fn culprit(&self, group: usize, effect: Effect) -> Culprit {
        let of = &self.groups[group];
        let mut rows: Vec<usize> = of.rows().collect();
        rows.sort_unstable();
        let first = rows.first().map(|&row| &self.samples[row]);
        let (task, turn) = first.map_or((0, 0), |sample| (sample.task, sample.turn));
        let (roles, worth) = (of.roles.clone(), of.extremes());
        Culprit { group, task, roles, turn, rows, worth, effect }
    }
}
