//! One episode on its way.

use std::collections::BTreeMap;

use super::collect::TaskSeed;
use super::request::Due;
use super::role_map::RoleMap;
use super::sampler::Answered;
use super::scenario::{Next, Position};
use super::weighing::{Drawn, Weighing};
use crate::config::{RolloutConfig, SamplingScheme};
use crate::plugin::{PluginFailure, Seat};
use crate::seed::Seed;
use crate::trajectory::{Ending, Episode, Event, Reward, Sample};

/// Bytes of text that the record of one episode may hold; a run has hundreds
/// of episodes in memory at once.
const EPISODE_TEXT_BYTES: usize = 16 << 20;

/// What all attempts of a rollout have in common.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) role_map: &'a RoleMap,
    pub(super) config: &'a RolloutConfig,
    /// Weight of the team reward.
    pub(super) alpha: f64,
}

/// One episode on its way.
pub(super) struct Attempt {
    index: usize,
    episode: usize,
    task: TaskSeed,
    /// How many completions of a role that learns are drawn in each state.
    branches: usize,
    phase: Phase,
    events: Vec<Event>,
    samples: Vec<Sample>,
    rounds: usize,
    /// Of every answer, which sample it is, if the whole episode is one branch.
    numbers: BTreeMap<u32, usize>,
}

/// What an episode waits for.
enum Phase {
    /// The answers that are due.
    Asking(Box<Position>),
    /// What branches are worth whose answers were asked for as open.
    Weighing(Box<Weighing>),
    /// Nothing more.
    Ended(Ending),
}

/// A request that is due, and a seed for every answer to it.
pub(super) struct Asked {
    pub(super) due: Due,
    pub(super) seeds: Vec<Seed>,
}

impl Attempt {
    /// The attempts at a list of tasks, none of them begun.
    pub(super) fn list(tasks: &[TaskSeed], config: &RolloutConfig) -> Vec<Attempt> {
        let (episodes, branches) = match config.sampling {
            SamplingScheme::Tree => (1, config.branches),
            SamplingScheme::Trajectory => (config.branches, 1),
        };
        let attempt = |index: usize, episode: usize| Attempt {
            index,
            episode,
            task: tasks[index].clone(),
            branches,
            phase: Phase::Ended(Ending::Truncated),
            events: Vec::new(),
            samples: Vec::new(),
            rounds: 0,
            numbers: BTreeMap::new(),
        };
        (0..tasks.len())
            .flat_map(|index| (0..episodes).map(move |episode| attempt(index, episode)))
            .collect()
    }

    /// Play up to the first answers that are due.
    pub(super) fn begin(&mut self) {
        match self.task.scenario.begin(self.task.split, self.task.task) {
            Ok(transition) => {
                self.events = transition.events;
                self.go_on(transition.next);
            }
            Err(failure) => self.fail(&failure),
        }
    }

    fn go_on(&mut self, next: Next) {
        self.phase = match next {
            Next::Asked(position) => Phase::Asking(Box::new(position)),
            Next::Ended(ending) => Phase::Ended(ending),
        };
    }

    pub(super) fn is_waiting(&self) -> bool {
        !matches!(self.phase, Phase::Ended(_))
    }

    /// Everything that is due, in the order in which answers are to come. A role
    /// that does not learn is asked once: there is nothing to compare its
    /// answers for.
    pub(super) fn asked(&self, learns: impl Fn(&str) -> bool) -> Vec<Asked> {
        match &self.phase {
            Phase::Asking(position) => {
                let asked = |due: &Due| {
                    let count = if learns(due.role()) { self.branches } else { 1 };
                    let seed = self.seed(due);
                    let seeds = (0..count).map(|branch| seed.at(branch as u64)).collect();
                    Asked { due: due.clone(), seeds }
                };
                position.due.iter().map(asked).collect()
            }
            Phase::Weighing(weighing) => {
                // The same draws in all branches: they differ by what is compared.
                let asked = |due: &Due| Asked {
                    due: due.clone(),
                    seeds: vec![self.seed(due).named("look").at(0)],
                };
                weighing.due().map(asked).collect()
            }
            Phase::Ended(_) => Vec::new(),
        }
    }

    /// Seed of everything drawn for a request.
    fn seed(&self, due: &Due) -> Seed {
        let Seat { role, instance } = &due.request.seat;
        let seed = self.task.seed.at(self.episode as u64).named(role);
        let seed = match (*instance, due.request.thread.as_str()) {
            (0, "") => seed,
            (instance, thread) => seed.named("seat").at(instance.into()).named(thread),
        };
        seed.at(due.turn as u64)
    }

    fn fail(&mut self, failure: &PluginFailure) {
        self.make_void(failure.cause.word(), failure.to_string());
    }

    /// End without counting for anything.
    pub(super) fn make_void(&mut self, cause: &str, message: String) {
        self.phase = Phase::Ended(Ending::Void { cause: cause.to_owned(), message });
    }

    /// Play the answers to everything that was due, in its order. An answer
    /// that could not be had makes the episode void; if a fork fails, the
    /// branches are not comparable, and it does so, too.
    pub(super) fn play(&mut self, answers: Vec<Answered>, setting: &Setting) {
        let answers: Vec<Drawn> = match answers.into_iter().collect::<Result<_, _>>() {
            Ok(answers) => answers,
            Err(failure) => return self.make_void(failure.kind.word(), failure.message),
        };
        let phase = std::mem::replace(&mut self.phase, Phase::Ended(Ending::Truncated));
        let scenario = &self.task.scenario;
        let weighing = match phase {
            Phase::Asking(position) => {
                Weighing::begin(scenario, *position, answers, self.branches > 1)
            }
            Phase::Weighing(weighing) => weighing.look_on(scenario, answers),
            ended @ Phase::Ended(_) => {
                self.phase = ended;
                return;
            }
        };
        match weighing {
            Err(failure) => self.fail(&failure),
            Ok(weighing) if weighing.is_settled() => self.settle(weighing, setting),
            Ok(weighing) => self.phase = Phase::Weighing(Box::new(weighing)),
        }
    }

    /// Go on from one of the branches, and keep the samples of all.
    fn settle(&mut self, weighing: Weighing, setting: &Setting) {
        let Setting { role_map, config, alpha } = *setting;
        let seed = weighing.first().map_or(self.task.seed, |due| self.seed(due)).named("branch");
        let kept = weighing.choose(config, alpha, seed);
        let branch = weighing.branch(kept);
        self.events.extend(branch.events.iter().cloned());
        if self.events.iter().map(Event::text_bytes).sum::<usize>() > EPISODE_TEXT_BYTES {
            let mib = EPISODE_TEXT_BYTES >> 20;
            let message = format!("the texts of its episode come to more than {mib} MiB");
            return self.fail(&self.task.scenario.workflow.failure("advance", message));
        }
        let (credits, others) = (branch.credits.clone(), branch.others.clone());
        self.go_on(branch.next.clone());
        for row in weighing.into_rows(kept) {
            self.numbers.insert(row.number, self.samples.len());
            self.samples.push(Sample {
                task: self.index,
                episode: self.episode,
                round: self.rounds,
                policy: role_map.policy_of(&row.sample.role).to_owned(),
                ..row.sample
            });
        }
        self.rounds += 1;
        if self.branches == 1 {
            // The whole episode is one branch, so what comes later counts for what was earlier.
            for credit in credits {
                self.reward_later(self.numbers.get(&credit.answer).copied(), |reward| {
                    reward.credit(&credit.name, credit.value);
                });
            }
            for (seat, more) in others {
                let own =
                    |sample: &Sample| sample.role == seat.role && sample.instance == seat.instance;
                let last = self.samples.iter().rposition(own);
                self.reward_later(last, |reward| reward.add(&more));
            }
        }
    }

    fn reward_later(&mut self, sample: Option<usize>, add: impl FnOnce(&mut Reward)) {
        if let Some(sample) = sample.and_then(|index| self.samples.get_mut(index)) {
            add(&mut sample.reward);
        }
    }

    /// The record of it.
    pub(super) fn into_record(self) -> (Vec<Sample>, Episode) {
        let ending = match self.phase {
            Phase::Ended(ending) => ending,
            Phase::Asking(_) | Phase::Weighing(_) => Ending::Truncated,
        };
        let episode = Episode {
            task: self.index,
            family: self.task.scenario.family.clone(),
            split: self.task.split.name().to_owned(),
            seed: self.task.task,
            episode: self.episode,
            events: self.events,
            ending,
        };
        let samples = if episode.is_void() { Vec::new() } else { self.samples };
        (samples, episode)
    }
}
