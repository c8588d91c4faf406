//! An episode in progress.

use super::line::{Line, hang};
use super::scheme::Scheme;
use super::setting::Setting;
use super::task::{Start, TaskSeed};
use super::weighing::{Answered, Drawn, Weighing};
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Completion, Ending, Episode, Event};
use troupe_estimators::forks::kind_of;
use troupe_guests::plugin::{PluginFailure, Seat};
use troupe_guests::scenario::{Due, Next, Position, Scenario, Transition};
use troupe_model::RemoteFailureKind;

/// The cause of an episode that is void because its very first prompt fits no policy.
pub const TOO_LONG: &str = "prompt_too_long";

/// Bytes of text that the record of one episode may hold; a run has hundreds
/// of episodes in memory at once.
const EPISODE_TEXT_BYTES: usize = 16 << 20;

/// An episode in progress.
pub(super) struct Attempt {
    index: usize,
    task: TaskSeed,
    /// Root of what is drawn at random in this episode.
    seed: Seed,
    scheme: Scheme,
    phase: Phase,
    events: Vec<Event>,
    rounds: usize,
    line: Line,
}

/// What an episode waits for.
enum Phase {
    /// To begin: with the task, or with answers in the middle of an episode.
    Opening(Option<Box<(Position, Vec<Completion>)>>),
    /// The answers that are due.
    Asking(Box<Position>),
    /// What branches are worth whose future is looked at.
    Weighing(Box<Weighing>),
    /// Nothing more.
    Ended(Ending),
}

/// A request that is due, who answers it, and a seed for every answer.
pub(super) struct Wanted {
    pub(super) due: Due,
    pub(super) policy: String,
    pub(super) seeds: Vec<Seed>,
}

impl Attempt {
    /// The attempts at a list of tasks, none of them begun.
    pub(super) fn list(tasks: &[TaskSeed], setting: &Setting) -> Vec<Attempt> {
        let attempt = |index: usize, repetition: usize| {
            Attempt::new(index, repetition, tasks[index].clone(), setting)
        };
        let repetitions = Scheme::repetitions(setting.config);
        (0..tasks.len())
            .flat_map(|index| (0..repetitions).map(move |repetition| attempt(index, repetition)))
            .collect()
    }

    fn new(index: usize, repetition: usize, task: TaskSeed, setting: &Setting) -> Self {
        Attempt {
            index,
            seed: task.seed.at(repetition as u64),
            scheme: Scheme::new(setting, task.seed),
            task,
            phase: Phase::Opening(None),
            events: Vec::new(),
            rounds: 0,
            line: Line::new(repetition),
        }
    }

    /// One whose episode has begun; it is this repetition of its task.
    pub(super) fn begun(
        task: TaskSeed,
        repetition: usize,
        transition: Transition,
        setting: &Setting,
    ) -> Self {
        let mut attempt = Attempt::new(0, repetition, task, setting);
        attempt.events = transition.events;
        attempt.go_on(transition.next);
        attempt
    }

    /// What has happened so far.
    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    /// How it ended, if it did.
    pub(super) fn ending(&self) -> Option<&Ending> {
        match &self.phase {
            Phase::Ended(ending) => Some(ending),
            Phase::Opening(_) | Phase::Asking(_) | Phase::Weighing(_) => None,
        }
    }

    /// Attempts that begin in the middle of an episode.
    pub(super) fn list_from(starts: Vec<Start>, setting: &Setting) -> Vec<Attempt> {
        let attempt = |(index, Start { task, position, answers }): (usize, Start)| {
            let mut attempt = Attempt::new(index, 0, task, setting);
            attempt.phase = Phase::Opening(Some(Box::new((position, answers))));
            attempt
        };
        starts.into_iter().enumerate().map(attempt).collect()
    }

    /// Where it is played.
    pub(super) fn scenario(&self) -> &Scenario {
        &self.task.scenario
    }

    /// Play up to the first answers that are due.
    pub(super) fn begin(&mut self, setting: &Setting) {
        let opening = std::mem::replace(&mut self.phase, Phase::Ended(Ending::Truncated));
        if let Phase::Opening(Some(start)) = opening {
            let (position, answers) = *start;
            let drawn = |(due, answer): (&Due, Completion)| {
                let policy = setting.role_map.policy_of(due.role()).to_owned();
                Ok(Drawn { due: due.clone(), policy, prompt: [].into(), completions: vec![answer] })
            };
            let answers: Vec<Answered> = position.due.iter().zip(answers).map(drawn).collect();
            self.phase = Phase::Asking(Box::new(position));
            if !answers.is_empty() {
                self.play(answers, setting);
            }
            return;
        }
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
        self.ending().is_none()
    }

    /// Everything that is due, in the order in which answers are to come.
    pub(super) fn wanted(&self, setting: &Setting) -> Vec<Wanted> {
        let ask = |due: &Due, seed: Seed, count: usize| Wanted {
            due: due.clone(),
            policy: setting.player(due, seed.named("policy")).to_owned(),
            seeds: (0..count).map(|branch| seed.at(branch as u64)).collect(),
        };
        match &self.phase {
            Phase::Asking(position) => {
                let family = &self.task.scenario.family;
                let ask = |due: &Due| {
                    let seed = self.seed(due);
                    let kind = kind_of(family, due.role(), due.turn);
                    ask(due, seed, self.scheme.draws(due.role(), setting, (&kind, seed)))
                };
                position.due.iter().map(ask).collect()
            }
            // The same draws in all branches: they differ by what is compared.
            Phase::Weighing(weighing) => {
                weighing.due().map(|due| ask(due, self.seed(due).named("look"), 1)).collect()
            }
            Phase::Opening(_) | Phase::Ended(_) => Vec::new(),
        }
    }

    /// Seed of everything drawn for a request.
    fn seed(&self, due: &Due) -> Seed {
        let Seat { role, instance } = &due.request.seat;
        let seed = self.seed.named(role);
        let seed = match (*instance, due.request.thread.as_str()) {
            (0, "") => seed,
            (instance, thread) => seed.named("seat").at(instance.into()).named(thread),
        };
        seed.at(due.turn as u64)
    }

    /// What the expert answers to a request that is due.
    pub(super) fn demonstrate(&self, due: &Due) -> Result<Option<String>, PluginFailure> {
        match &self.phase {
            Phase::Asking(position) => self.task.scenario.demonstrate(position, due),
            Phase::Opening(_) | Phase::Weighing(_) | Phase::Ended(_) => Ok(None),
        }
    }

    pub(super) fn fail(&mut self, failure: &PluginFailure) {
        self.make_void(failure.cause.word(), failure.to_string());
    }

    /// End without counting for anything.
    pub(super) fn make_void(&mut self, cause: &str, message: String) {
        self.phase = Phase::Ended(Ending::Void { cause: cause.to_owned(), message });
    }

    /// A prompt no longer fits its policy, that of the request at this place among those that are
    /// [wanted](Attempt::wanted). What the policies have said so far made it so: the episode, or the
    /// branch that is looked ahead in, comes to an end there like at any other limit, and what
    /// led there is charged with it. At the first request there are no answers yet, and the
    /// episode is void.
    pub(super) fn outgrow(&mut self, place: usize, message: String, setting: &Setting) {
        match &mut self.phase {
            Phase::Asking(_) if self.rounds == 0 => self.make_void(TOO_LONG, message),
            Phase::Weighing(weighing) => {
                weighing.cut(place);
                if weighing.is_settled() {
                    self.settle_weighing(setting);
                }
            }
            _ => self.phase = Phase::Ended(Ending::Truncated),
        }
    }

    /// Schemes that look ahead go on from one branch, so there are no forks.
    fn settle_weighing(&mut self, setting: &Setting) {
        let phase = std::mem::replace(&mut self.phase, Phase::Ended(Ending::Truncated));
        if let Phase::Weighing(weighing) = phase {
            self.settle(*weighing, setting);
        }
    }

    /// Answers without those whose prompts a server found too long, if there were any: then what
    /// was asked has [outgrown](Attempt::outgrow) its policies.
    fn take_outgrown(
        &mut self,
        mut answers: Vec<Answered>,
        setting: &Setting,
    ) -> Option<Vec<Answered>> {
        let is_long = |answer: &Answered| {
            answer.as_ref().is_err_and(|failure| failure.kind == RemoteFailureKind::TooLong)
        };
        while let Some(place) = answers.iter().position(is_long) {
            let lost = match &self.phase {
                Phase::Weighing(weighing) => weighing.places_beside(place),
                _ => 0..answers.len(),
            };
            let message = answers.drain(lost).nth(0).and_then(Result::err);
            let message = message.map_or(String::new(), |failure| failure.message);
            self.outgrow(place, message, setting);
            if !matches!(self.phase, Phase::Weighing(_)) {
                return None;
            }
        }
        Some(answers)
    }

    /// Play the answers to everything that was due, in its order; returns the
    /// episodes that are forked from this one. An answer that could not be had
    /// makes the episode void; if a fork fails, the branches are not comparable,
    /// and it does so, too.
    pub(super) fn play(&mut self, answers: Vec<Answered>, setting: &Setting) -> Vec<Attempt> {
        let Some(answers) = self.take_outgrown(answers, setting) else { return Vec::new() };
        let answers: Vec<Drawn> = match answers.into_iter().collect::<Result<_, _>>() {
            Ok(answers) => answers,
            Err(failure) => {
                self.make_void(failure.kind.word(), failure.message);
                return Vec::new();
            }
        };
        let phase = std::mem::replace(&mut self.phase, Phase::Ended(Ending::Truncated));
        let scenario = &self.task.scenario;
        let weighing = match phase {
            Phase::Asking(position) => {
                Weighing::begin(scenario, *position, answers, self.scheme.looks_ahead())
            }
            Phase::Weighing(weighing) => weighing.look_on(scenario, answers),
            other @ (Phase::Opening(_) | Phase::Ended(_)) => {
                self.phase = other;
                return Vec::new();
            }
        };
        match weighing {
            Err(failure) => self.fail(&failure),
            Ok(weighing) if weighing.is_settled() => return self.settle(weighing, setting),
            Ok(weighing) => self.phase = Phase::Weighing(Box::new(weighing)),
        }
        Vec::new()
    }

    /// Go on from some of the branches, and keep the answers of all.
    fn settle(&mut self, weighing: Weighing, setting: &Setting) -> Vec<Attempt> {
        let Setting { config, alpha, .. } = *setting;
        let seed = weighing.first().map_or(self.task.seed, |due| self.seed(due)).named("branch");
        let worths = weighing.worths(alpha);
        let kept = self.scheme.keeps(&worths, config, seed);
        let books_later = self.scheme.books_later(weighing.count());
        self.scheme.advance(kept.len());
        let mut forks: Vec<Attempt> = kept[1..].iter().map(|&branch| self.fork(branch)).collect();
        let transitions: Vec<Transition> =
            kept.iter().map(|&branch| weighing.branch(branch).clone()).collect();
        let mut rows = weighing.into_rows(&kept);
        rows.iter_mut().for_each(|row| row.sample.round = self.rounds);
        let mut lines: Vec<&mut Line> = vec![&mut self.line];
        lines.extend(forks.iter_mut().map(|fork| &mut fork.line));
        hang(&mut lines, &kept, rows, books_later);
        let mut transitions = transitions.into_iter();
        for attempt in std::iter::once(&mut *self).chain(&mut forks) {
            transitions.next().into_iter().for_each(|transition| attempt.follow(transition));
        }
        forks
    }

    /// Another episode that has this one's past.
    fn fork(&self, branch: usize) -> Attempt {
        let seed = self.seed.named("fork").at(self.rounds as u64).at(branch as u64);
        Attempt {
            index: self.index,
            task: self.task.clone(),
            seed,
            scheme: self.scheme.clone(),
            phase: Phase::Ended(Ending::Truncated),
            events: self.events.clone(),
            rounds: self.rounds,
            line: self.line.fork(self.rounds, branch),
        }
    }

    /// Take what a round brought about as what happened.
    fn follow(&mut self, transition: Transition) {
        self.events.extend(transition.events);
        self.rounds += 1;
        if self.events.iter().map(Event::text_bytes).sum::<usize>() > EPISODE_TEXT_BYTES {
            let mib = EPISODE_TEXT_BYTES >> 20;
            let message = format!("the texts of its episode come to more than {mib} MiB");
            return self.fail(&self.task.scenario.workflow.failure("advance", message));
        }
        transition.credits.iter().for_each(|credit| self.line.credit(credit));
        transition.others.iter().for_each(|(seat, more)| self.line.award(seat, more));
        self.go_on(transition.next);
    }

    /// The record of it.
    pub(super) fn into_record(self) -> (Line, Episode) {
        let ending = match self.phase {
            Phase::Ended(ending) => ending,
            Phase::Opening(_) | Phase::Asking(_) | Phase::Weighing(_) => Ending::Truncated,
        };
        let episode = Episode {
            task: self.index,
            family: self.task.scenario.family.clone(),
            split: self.task.split.name().to_owned(),
            seed: self.task.task,
            episode: 0,
            events: self.events,
            ending,
        };
        (self.line, episode)
    }
}
