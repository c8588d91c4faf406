//! What each turn of an episode gained and lost.
//!
//! At every state of the episode answers are drawn anew and played on to the end, beside forks that
//! play on from the answers that were given. Both forks of a pair draw what comes later from the
//! same seeds of turn and seat, so that they differ by the answers and by little else. Every round
//! has draws of its own: nothing makes the effects of an episode add up but that they are right.

mod case;
mod recorded;

use std::collections::BTreeMap;
use std::ops::Range;

use case::{Case, Pair};
pub use recorded::play_recorded;

use crate::evaluation::{HeldOutTasks, examined, play};
use crate::metrics::{Answers, Totals};
use crate::rollout::{Rollout, RolloutError, Setting, Start, TaskSeed, answer_from, collect_from};
use crate::states::{State, StateError, reach};
use crate::team::Team;
use troupe_core::blame::{Blame, Measure, StateValue};
use troupe_core::config::Config;
use troupe_core::error::{Coded, ExitCode};
use troupe_core::trajectory::{Episode, Event, Sample};

/// Why it cannot be said.
#[derive(Debug, thiserror::Error)]
pub enum BlameError {
    /// A state of an episode cannot be reached again.
    #[error(transparent)]
    State(#[from] StateError),
    /// The policies cannot answer.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
}

impl Coded for BlameError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            BlameError::State(error) => error.code(),
            BlameError::Rollout(error) => error.code(),
        }
    }
}

/// What is looked for, and how closely.
#[derive(Clone, Copy, Debug)]
pub struct Inquiry {
    /// Pairs of forks at every state.
    pub forks: usize,
    /// They are doubled where it is open whether an effect exceeds the margin, up to so many.
    pub at_most: usize,
    /// What a turn has to change to be named.
    pub margin: f64,
    /// What outcomes are counted in.
    pub measure: Measure,
}

/// The tasks of an evaluation, as its episodes number them.
pub fn tasks_of(team: &Team, held_out: HeldOutTasks, config: &Config) -> Vec<TaskSeed> {
    play(team, held_out, config).tasks
}

/// Look into episodes of these tasks: those that are `wanted`. `tell` is given each with what is
/// left to be said of it. Returns what the forks took.
///
/// # Errors
/// If a state cannot be reached again, or the policies cannot answer.
pub fn blame(
    team: &Team,
    config: &Config,
    (tasks, rollout): (&[TaskSeed], &Rollout),
    inquiry: Inquiry,
    wanted: impl Fn(&Episode) -> bool,
    mut tell: impl FnMut(Blame),
) -> Result<Totals, BlameError> {
    // Where answers are always the same, forks are, too.
    let drawn = examined(config, Answers::Sampled, 1);
    let role_map = team.role_map.examined(&config.validation);
    let setting = Setting { role_map: &role_map, config: &drawn, alpha: 1.0, dealing: None };
    let mut inquirer = Inquirer { team, setting, inquiry, spent: Totals::default() };
    let samples = &rollout.samples;
    let is_wanted = |task: usize, number: usize| {
        let is_it = |episode: &&Episode| (episode.task, episode.episode) == (task, number);
        rollout.episodes.iter().find(is_it).is_some_and(&wanted)
    };
    let of_wanted = |row: usize| {
        let Sample { task, episode, .. } = samples[row];
        is_wanted(task, episode).then(|| tasks[task].clone())
    };
    let states = reach(samples, of_wanted)?;
    let mut by_episode: BTreeMap<(usize, usize), Vec<&State>> = BTreeMap::new();
    for state in &states {
        let Sample { task, episode, .. } = samples[state.rows[0]];
        by_episode.entry((task, episode)).or_default().push(state);
    }
    for episode in &rollout.episodes {
        if let Some(states) = by_episode.get(&(episode.task, episode.episode)) {
            tell(inquirer.look_into(episode, states, samples)?);
        }
    }
    Ok(inquirer.spent)
}

struct Inquirer<'t> {
    team: &'t Team,
    setting: Setting<'t>,
    inquiry: Inquiry,
    spent: Totals,
}

impl Inquirer<'_> {
    fn look_into(
        &mut self,
        episode: &Episode,
        states: &[&State],
        samples: &[Sample],
    ) -> Result<Blame, BlameError> {
        let Inquiry { forks, at_most, margin, measure } = self.inquiry;
        let mut cases: Vec<Case> = states.iter().map(|state| Case::of(state, samples)).collect();
        let mut open: Vec<usize> = (0..cases.len()).collect();
        let mut drawn = 0..forks;
        while !open.is_empty() && !drawn.is_empty() {
            self.fork(&mut cases, &open, drawn.clone())?;
            open.retain(|case| cases[*case].is_open(measure, margin));
            drawn = drawn.end..(2 * drawn.end).min(at_most.max(drawn.end));
        }
        Ok(Blame {
            step: None,
            measure,
            outcome: outcome_of(episode, measure),
            start: self.start(states[0])?,
            rounds: cases.iter().filter_map(|case| case.round(measure)).collect(),
            void: cases.iter().map(Case::void).sum(),
            episode: episode.clone(),
        })
    }

    /// What the task is worth before anybody has answered.
    fn start(&mut self, first: &State) -> Result<StateValue, RolloutError> {
        let seed = first.task.seed.named("start");
        let start = |fork: usize| Start {
            task: TaskSeed { seed: seed.at(fork as u64), ..first.task.clone() },
            position: first.position.clone(),
            answers: Vec::new(),
        };
        let outcomes = self.play((0..self.inquiry.forks).map(start).collect())?;
        Ok(StateValue::of(&outcomes.into_iter().flatten().collect::<Vec<_>>()))
    }

    /// Play further pairs of some cases.
    fn fork(
        &mut self,
        cases: &mut [Case],
        open: &[usize],
        drawn: Range<usize>,
    ) -> Result<(), RolloutError> {
        let of = |&case: &usize| drawn.clone().map(move |fork| (case, fork));
        let places: Vec<(usize, usize)> = open.iter().flat_map(of).collect();
        let starts = places.iter().map(|(case, fork)| cases[*case].start(*fork, &[]));
        let fresh = answer_from(&self.setting, &self.team.policies, starts.collect())?;
        self.spent += fresh.totals;
        let (mut starts, mut owners) = (Vec::new(), Vec::new());
        for ((number, fork), fresh) in places.into_iter().zip(fresh.given) {
            let case = &mut cases[number];
            let (pair, plays) = Pair::of(&case.given, fresh);
            for (play, answers) in plays.iter().enumerate() {
                starts.push(case.start(fork, answers));
                owners.push((number, case.pairs.len(), play));
            }
            case.pairs.push(pair);
        }
        let outcomes = self.play(starts)?;
        for ((case, pair, play), outcome) in owners.into_iter().zip(outcomes) {
            cases[case].pairs[pair].outcomes[play] = outcome;
        }
        Ok(())
    }

    /// The outcomes of forks; none of those that are void.
    fn play(&mut self, starts: Vec<Start>) -> Result<Vec<Option<f64>>, RolloutError> {
        let mut outcomes = vec![None; starts.len()];
        let rollout = collect_from(&self.setting, &self.team.policies, starts)?;
        self.spent += rollout.totals;
        for episode in rollout.episodes.iter().filter(|episode| !episode.is_void()) {
            outcomes[episode.task] = Some(outcome_of(episode, self.inquiry.measure));
        }
        Ok(outcomes)
    }
}

fn outcome_of(episode: &Episode, measure: Measure) -> f64 {
    let earned = |act: &[Event]| match act.first() {
        Some(Event::Acted { reward, .. }) => reward.team,
        _ => 0.0,
    };
    match measure {
        Measure::Solved => f64::from(u8::from(episode.solved())),
        Measure::Reward => episode.acts().map(earned).sum(),
    }
}
