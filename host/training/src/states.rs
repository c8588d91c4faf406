//! States of episodes that were played, reached again: from one, an episode can be played on as
//! often as one likes.

use std::collections::BTreeMap;

use crate::rollout::TaskSeed;
use crate::team::Team;
use troupe_core::error::{Coded, ExitCode};
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Completion, Sample};
use troupe_estimators::lineage::Lineage;
use troupe_guests::plugin::{PluginFailure, Split};
use troupe_guests::scenario::{Answer, Due, Next, Position};

/// Why a state cannot be reached again.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A stored state is not what its task leads to.
    #[error(
        "the state of round {round} of the task {task} is not the stored one: this is another \
         environment or workflow than the run's, or its settings follow a curriculum"
    )]
    Other {
        /// The task's seed.
        task: u32,
        /// The round.
        round: usize,
    },
    /// A plugin failed where it had not.
    #[error(transparent)]
    Plugin(#[from] PluginFailure),
}

impl Coded for StateError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            StateError::Other { .. } => Some(ExitCode::Usage),
            StateError::Plugin(error) => error.code(),
        }
    }
}

/// A stored state and the answers that were given in it.
pub(crate) struct State {
    /// Its task, with a seed for what is drawn from here on.
    pub(crate) task: TaskSeed,
    pub(crate) position: Position,
    /// The answers of its round, by their places in the table.
    pub(crate) rows: Vec<usize>,
    /// All answers that were given in it, in episodes that were forked here, too.
    given: Vec<usize>,
}

/// A seat in a conversation.
pub(crate) type Seat<'s> = (&'s str, u32, &'s str);

/// All states of a table, each reached by what its episode went through. `task_of` says what an
/// answer's episode is one of; those of which nothing is known are left out.
///
/// # Errors
/// If a state is not what its task leads to, or a plugin fails.
pub(crate) fn reach(
    samples: &[Sample],
    task_of: impl Fn(usize) -> Option<TaskSeed>,
) -> Result<Vec<State>, StateError> {
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
        let Some(task_seed) = task_of(first) else { continue };
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
                return Err(StateError::Other { task: task_seed.task, round });
            }
            // A role asked once for all forks has a row in the first of them alone.
            let given = &given[&(task, position.digest())];
            let kept = rows.iter().filter(|&&row| samples[row].kept).chain(given);
            let kept: Vec<&Sample> = kept.map(|&row| &samples[row]).collect();
            let answers = position.due.iter().filter_map(|due| answer_to(due, &kept));
            let texts: Vec<Answer> = answers.map(Answer::from).collect();
            if texts.len() < position.due.len() {
                return Err(StateError::Other { task: task_seed.task, round });
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

/// The seat that gave an answer.
pub(crate) fn seat(sample: &Sample) -> Seat<'_> {
    (&sample.role, sample.instance, &sample.thread)
}

impl State {
    /// What was answered to everything due in one branch; of who was asked once,
    /// that.
    pub(crate) fn answers(&self, samples: &[Sample], branch: usize) -> Vec<Completion> {
        let mut given = self.given.clone();
        // The answer of this branch comes first, else the last one before it; and those of this
        // episode come before those of others that came to the same state.
        given.sort_by_key(|row| {
            let of = samples[*row].branch;
            (of > branch, std::cmp::Reverse(of), !self.rows.contains(row))
        });
        let given: Vec<&Sample> = given.into_iter().map(|row| &samples[row]).collect();
        let due = self.position.due.iter();
        due.filter_map(|due| answer_to(due, &given)).cloned().collect()
    }
}

impl TaskSeed {
    /// A task of the team's environments, by the names of its family and split.
    pub(crate) fn find(
        team: &Team,
        (family, split): (&str, &str),
        task: u32,
        seed: Seed,
    ) -> Option<TaskSeed> {
        let mut scenarios = team.families.iter().map(|family| &family.scenario);
        let scenario = scenarios.find(|scenario| scenario.family == family)?.clone();
        Some(TaskSeed { scenario, split: Split::named(split)?, task, seed })
    }

    fn at(&self, episode: usize, round: usize) -> TaskSeed {
        TaskSeed { seed: self.seed.at(episode as u64).at(round as u64), ..self.clone() }
    }
}
