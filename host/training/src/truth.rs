//! What answers were really worth, as far as further episodes can tell.
//!
//! Every stored state can be played to again, and from it as often as one likes:
//! once with an answer that was given (its mean return is Q), once with a fresh
//! one (V). Q − V is the advantage that an estimator stands for, and how far the
//! estimator is from it can be seen.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::rollout::{RolloutError, Setting, Start, TaskSeed, collect_from};
use crate::team::Team;
use troupe_core::config::{AdvantageConfig, Config, Unit, Worth};
use troupe_core::error::{Coded, ExitCode};
use troupe_core::seed::Seed;
use troupe_core::table::Row;
use troupe_core::trajectory::{Completion, Sample};
use troupe_estimators::audit::rank_correlation;
use troupe_estimators::lineage::Lineage;
use troupe_estimators::worth::Earnings;
use troupe_guests::plugin::{PluginFailure, Split};
use troupe_guests::scenario::{Answer, Due, Next, Position};

/// Why the truth cannot be found out.
#[derive(Debug, thiserror::Error)]
pub enum TruthError {
    /// A stored state is not what its task leads to.
    #[error(
        "the state of round {round} of the task {task} is not the stored one: this is another \
         environment or workflow than the run's, or its settings follow a curriculum"
    )]
    OtherState {
        /// The task's seed.
        task: u32,
        /// The round.
        round: usize,
    },
    /// A plugin failed where it had not.
    #[error(transparent)]
    Plugin(#[from] PluginFailure),
    /// The policies cannot answer.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
}

impl Coded for TruthError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            TruthError::OtherState { .. } => Some(ExitCode::Usage),
            TruthError::Plugin(error) => error.code(),
            TruthError::Rollout(error) => error.code(),
        }
    }
}

/// What is known of the worth of one answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truth {
    /// Its place in the table.
    pub row: usize,
    /// Q − V.
    pub advantage: f64,
    /// The variance of that, from the number of episodes alone.
    pub noise: f64,
}

/// A stored state and the answers that were given in it.
struct State {
    task: TaskSeed,
    position: Position,
    rows: Vec<usize>,
    /// All answers that were given in it, in episodes that were forked here, too.
    given: Vec<usize>,
}

/// How far an estimator is from the truth.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Distance {
    /// Answers whose true worth is known.
    pub answers: usize,
    /// Pearson's correlation with it.
    pub correlation: f64,
    /// Spearman's.
    pub rank_correlation: f64,
    /// What the estimator's advantages are multiplied by to be nearest to it.
    pub scale: f64,
    /// Mean of scale·A − truth: 0 if it is right on average.
    pub bias: f64,
    /// Variance of the same, what the truth itself is uncertain by taken away, in
    /// units of the truth's own variance: 0 is perfect, 1 is worth nothing.
    pub variance: f64,
    /// Share of answers that are pushed the right way, of those with any truth to speak of:
    /// more than its standard error.
    pub right_signs: f64,
}

/// Play to some of the stored states and on from there, `episodes` times with
/// each answer and as often with a fresh one.
///
/// # Errors
/// If the states cannot be reached again, or the policies cannot answer.
pub fn find(
    team: &Team,
    config: &Config,
    rows: &[Row],
    states: usize,
    episodes: usize,
    learns: impl Fn(&Sample) -> bool,
) -> Result<Vec<Truth>, TruthError> {
    let seed = Seed::new(config.run.seed).named("truth");
    let samples: Vec<Sample> = rows.iter().map(|row| row.sample.clone()).collect();
    let mut all = replay(team, rows, &samples, seed)?;
    all.retain(|state| state.rows.iter().any(|&row| learns(&samples[row])));
    seed.shuffle(&mut all);
    all.truncate(states);
    let (mut starts, mut owners) = (Vec::new(), Vec::new());
    for (number, state) in all.iter().enumerate() {
        let branches: BTreeSet<usize> = state.rows.iter().map(|&row| samples[row].branch).collect();
        let answers =
            branches.into_iter().map(|branch| (Some(branch), state.answers(&samples, branch)));
        for (branch, answers) in answers.chain([(None, Vec::new())]) {
            for episode in 0..episodes {
                let task = state.task.again(branch, episode);
                let (position, answers) = (state.position.clone(), answers.clone());
                starts.push(Start { task, position, answers });
                owners.push((number, branch));
            }
        }
    }
    let setting = Setting::of(&team.role_map, config);
    let rollout = collect_from(&setting, &team.policies, starts)?;
    let returns = returns(&rollout.samples, &owners, &config.advantage);
    let truths = all.iter().enumerate().flat_map(|(number, state)| {
        let known = state.rows.iter().filter(|&&row| learns(&samples[row]));
        known.filter_map(|&row| truth_of(row, number, &samples[row], &returns)).collect::<Vec<_>>()
    });
    Ok(truths.collect())
}

/// Returns of a seat's first answer, by state and by the answer that was given.
type Returns<'s> = BTreeMap<(usize, Option<usize>, Seat<'s>), Vec<f64>>;
/// A seat in a conversation.
type Seat<'s> = (&'s str, u32, &'s str);

fn returns<'s>(
    samples: &'s [Sample],
    owners: &[(usize, Option<usize>)],
    config: &AdvantageConfig,
) -> Returns<'s> {
    let earnings = Earnings::of(samples, config, Worth::ToGo);
    let mut returns = Returns::new();
    for (index, sample) in samples.iter().enumerate().filter(|(_, sample)| sample.round == 0) {
        let (state, branch) = owners[sample.task];
        let worth = earnings.worth(Unit::Completion, &[index]);
        returns.entry((state, branch, seat(sample))).or_default().push(worth);
    }
    returns
}

fn truth_of(row: usize, state: usize, sample: &Sample, returns: &Returns) -> Option<Truth> {
    let of = |branch| returns.get(&(state, branch, seat(sample))).filter(|all| all.len() > 1);
    let ((q, q_noise), (v, v_noise)) =
        (mean_and_noise(of(Some(sample.branch))?), mean_and_noise(of(None)?));
    Some(Truth { row, advantage: q - v, noise: q_noise + v_noise })
}

fn seat(sample: &Sample) -> Seat<'_> {
    (&sample.role, sample.instance, &sample.thread)
}

/// The mean of some numbers and its variance.
fn mean_and_noise(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    (mean, squares / (count - 1.0) / count)
}

/// All states of a table, each reached by what its episode went through.
fn replay(
    team: &Team,
    rows: &[Row],
    samples: &[Sample],
    seed: Seed,
) -> Result<Vec<State>, TruthError> {
    let mut rounds: BTreeMap<(usize, usize), BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
    for (index, sample) in samples.iter().enumerate() {
        let episode = rounds.entry((sample.task, sample.episode)).or_default();
        episode.entry(sample.round).or_default().push(index);
    }
    let mut given: BTreeMap<(usize, u64), Vec<usize>> = BTreeMap::new();
    for (index, sample) in samples.iter().enumerate() {
        given.entry((sample.task, sample.state)).or_default().push(index);
    }
    let lineage = Lineage::of(samples);
    let mut states = Vec::new();
    for (&(task, episode), of_episode) in &rounds {
        let first = of_episode.values().next().map_or(0, |round| round[0]);
        let Some(task_seed) = task_of(team, &rows[first], seed) else { continue };
        let mut path: Vec<(usize, &Vec<usize>)> = lineage
            .path((task, episode))
            .into_iter()
            .flat_map(|(from, last)| rounds[&(task, from)].range(..=last))
            .map(|(round, rows)| (*round, rows))
            .collect();
        path.sort_by_key(|(round, _)| *round);
        let mut next = task_seed.scenario.begin(task_seed.split, task_seed.task)?.next;
        for (round, rows) in path {
            let Next::Asked(position) = next else { break };
            if position.digest() != samples[rows[0]].state {
                return Err(TruthError::OtherState { task: task_seed.task, round });
            }
            // A role asked once for all forks has a row in the first of them alone.
            let given = &given[&(task, position.digest())];
            let kept = rows.iter().filter(|&&row| samples[row].kept).chain(given);
            let kept: Vec<&Sample> = kept.map(|&row| &samples[row]).collect();
            let answers = position.due.iter().filter_map(|due| answer_to(due, &kept));
            let texts: Vec<Answer> = answers.map(Answer::from).collect();
            if texts.len() < position.due.len() {
                return Err(TruthError::OtherState { task: task_seed.task, round });
            }
            next = task_seed.scenario.answer(&position, &texts)?.next;
            if of_episode.contains_key(&round) {
                let (task, rows) = (task_seed.at(episode, round), rows.clone());
                states.push(State { task, position, rows, given: given.clone() });
            }
        }
    }
    Ok(states)
}

fn answer_to<'s>(due: &Due, given: &[&'s Sample]) -> Option<&'s Completion> {
    let request = &due.request;
    let asked = (&request.seat.role[..], request.seat.instance, &request.thread[..]);
    let kept = given.iter().find(|sample| seat(sample) == asked && sample.turn == due.turn);
    kept.map(|sample| &sample.completion)
}

fn task_of(team: &Team, row: &Row, seed: Seed) -> Option<TaskSeed> {
    let scenarios = team.families.iter().map(|family| &family.scenario);
    let scenario =
        scenarios.into_iter().find(|scenario| scenario.family == row.sample.family)?.clone();
    let split = [Split::Train, Split::Validation, Split::Test];
    let split = split.into_iter().find(|split| split.name() == row.split)?;
    let seed = seed.at(row.step as u64).at(row.sample.task as u64);
    Some(TaskSeed { scenario, split, task: row.seed, seed })
}

impl TaskSeed {
    fn at(&self, episode: usize, round: usize) -> TaskSeed {
        TaskSeed { seed: self.seed.at(episode as u64).at(round as u64), ..self.clone() }
    }

    fn again(&self, branch: Option<usize>, episode: usize) -> TaskSeed {
        let branch = branch.map_or(u64::MAX, |branch| branch as u64);
        TaskSeed { seed: self.seed.at(branch).at(episode as u64), ..self.clone() }
    }
}

impl State {
    /// What was answered to everything due in one branch; of who was asked once,
    /// that.
    fn answers(&self, samples: &[Sample], branch: usize) -> Vec<Completion> {
        let mut given: Vec<&Sample> = self.given.iter().map(|&row| &samples[row]).collect();
        // The answer of this branch comes first, else the last one before it.
        given.sort_by_key(|sample| (sample.branch > branch, std::cmp::Reverse(sample.branch)));
        let due = self.position.due.iter();
        due.filter_map(|due| answer_to(due, &given)).cloned().collect()
    }
}

impl Distance {
    /// Of an estimator's advantages from the truth; `truths` say which.
    pub fn of(truths: &[Truth], advantages: &[Option<f32>]) -> Self {
        let pairs: Vec<(f64, &Truth)> = truths
            .iter()
            .map(|truth| (f64::from(advantages[truth.row].unwrap_or(0.0)), truth))
            .collect();
        let count = pairs.len().max(1) as f64;
        let mean = |of: &dyn Fn(&(f64, &Truth)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
        let (squares, products) = (mean(&|(a, _)| a * a), mean(&|(a, t)| a * t.advantage));
        let scale = if squares > 0.0 { products / squares } else { 0.0 };
        let bias = mean(&|(a, t)| scale * a - t.advantage);
        let error = mean(&|(a, t)| (scale * a - t.advantage - bias).powi(2));
        let noise = mean(&|(_, t)| t.noise);
        let (mean_advantage, true_mean) = (mean(&|(a, _)| *a), mean(&|(_, t)| t.advantage));
        let spread = mean(&|(_, t)| (t.advantage - true_mean).powi(2));
        let advantage_spread = mean(&|(a, _)| (a - mean_advantage).powi(2));
        let covariance = mean(&|(a, t)| (a - mean_advantage) * (t.advantage - true_mean));
        let clear = pairs.iter().filter(|(_, t)| t.advantage.abs() > t.noise.sqrt());
        let right = clear.clone().filter(|(a, t)| a * t.advantage > 0.0).count();
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        let (estimated, true_ones): (Vec<f64>, Vec<f64>) =
            pairs.iter().map(|(a, t)| (*a, t.advantage)).unzip();
        Distance {
            answers: pairs.len(),
            rank_correlation: rank_correlation(&estimated, &true_ones),
            correlation: ratio(covariance, (spread * advantage_spread).sqrt()),
            scale,
            bias,
            variance: ratio((error - noise).max(0.0), (spread - noise).max(0.0)),
            right_signs: ratio(right as f64, clear.count() as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(row: usize, advantage: f64) -> Truth {
        Truth { row, advantage, noise: 0.0 }
    }

    #[test]
    fn an_estimator_that_is_right_but_for_its_scale_has_no_error() {
        let truths: Vec<Truth> =
            [-1.0, 0.5, 0.5, 2.0].into_iter().enumerate().map(|(row, a)| truth(row, a)).collect();
        let tenth: Vec<Option<f32>> =
            truths.iter().map(|t| Some(t.advantage as f32 / 10.0)).collect();
        let distance = Distance::of(&truths, &tenth);
        assert!((distance.scale - 10.0).abs() < 1e-5 && distance.bias.abs() < 1e-6, "{distance:?}");
        assert!(
            (distance.correlation - 1.0).abs() < 1e-9 && distance.variance < 1e-9,
            "{distance:?}"
        );
        assert_eq!(distance.right_signs, 1.0);
        assert!((distance.rank_correlation - 1.0).abs() < 1e-9);
        let cubed: Vec<Option<f32>> =
            truths.iter().map(|t| Some(t.advantage.powi(3) as f32)).collect();
        let cubed = Distance::of(&truths, &cubed);
        assert!((cubed.rank_correlation - 1.0).abs() < 1e-9 && cubed.correlation < 0.99);
    }

    #[test]
    fn one_that_knows_nothing_is_off_by_the_truths_own_variance() {
        let truths = [truth(0, 1.0), truth(1, -1.0), truth(2, 1.0), truth(3, -1.0)];
        let distance = Distance::of(&truths, &[Some(1.0), Some(1.0), Some(-1.0), Some(-1.0)]);
        assert_eq!(
            (distance.correlation, distance.variance, distance.right_signs),
            (0.0, 1.0, 0.5)
        );
    }

    #[test]
    fn the_variance_of_a_mean_shrinks_with_its_numbers() {
        assert_eq!(mean_and_noise(&[1.0, 3.0]), (2.0, 1.0));
        assert_eq!(mean_and_noise(&[1.0, 3.0, 1.0, 3.0]), (2.0, 1.0 / 3.0));
    }
}
