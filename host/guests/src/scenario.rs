//! An environment and a workflow side by side, and how answers move both.
//!
//! Between two rounds of answers an episode is a `Position`: two saved states and
//! the requests that are due. Nothing lives in between, so a position can be
//! forked, moved between threads and played again; every fork is played in
//! fresh instances and therefore depends on nothing but the position and the
//! answers.

mod alone;
mod assembly;
mod entry;
mod environment;
mod error;
mod play;
mod request;
mod tool;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use play::Play;

pub use alone::{Alone, AloneState, AloneStep};
pub use environment::{Environment, Episode, EpisodeState};
pub use error::ScenarioError;
pub use request::Due;
pub use tool::offered as offered_tools;

use crate::plugin::{
    Action, Briefing, Credit, EnvironmentConfiguration, Meter, Plugin, PluginFailure, Rendering,
    Role, Seat, SessionState, Settings, Split, Task, Tool, View, WorkflowConfiguration,
    WorkflowPlugin,
};
use crate::records::Records;
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Completion, Ending, Event, Reward, StopReason};

/// An environment and a workflow, configured for a run.
#[derive(Clone)]
pub struct Scenario {
    /// The name of this kind of task in metrics.
    pub family: String,
    /// The rules.
    pub environment: Environment,
    /// The environment's settings.
    pub environment_settings: Settings,
    /// What follows from them.
    pub environment_configuration: EnvironmentConfiguration,
    /// The workflow.
    pub workflow: WorkflowPlugin,
    /// The workflow's settings.
    pub workflow_settings: Settings,
    /// What follows from them.
    pub workflow_configuration: WorkflowConfiguration,
    /// The records that tasks are built from, if the environment needs some.
    pub records: Option<Arc<Records>>,
    /// The tools that the workflow may call.
    pub tools: Vec<Tool>,
    /// Turns per seat and conversation after which an episode is truncated.
    pub max_turns: usize,
    /// The same of roles that have a limit of their own.
    pub max_turns_of: BTreeMap<String, usize>,
    /// Directives that may follow one answer.
    pub actions_per_answer: usize,
    /// Whether what only critics may see is kept with every request.
    pub keeps_hints: bool,
}

/// An episode at a moment when answers are due.
#[derive(Clone)]
pub struct Position {
    environment: EpisodeState,
    session: SessionState,
    counts: Counts,
    /// The requests due, in the order in which they will be reported.
    pub due: Vec<Due>,
}

/// What has been asked and answered so far.
#[derive(Clone, Default)]
struct Counts {
    /// How often each seat was asked in each conversation.
    turns: BTreeMap<String, usize>,
    /// Requests so far; the next one has this number.
    asked: u32,
    /// Answers whose worth was said to be open when they were asked for.
    open: BTreeSet<u32>,
    /// How the rules have ended the episode, if a judge is still asked.
    over: Option<Ending>,
}

impl Position {
    /// Digest of the states of environment and session.
    pub fn digest(&self) -> u64 {
        self.environment.digest() ^ self.session.digest().rotate_left(32)
    }

    /// The same position without what the remotes saved: it is resumed by replaying
    /// moves and events.
    #[must_use]
    pub fn as_replay(&self) -> Self {
        let (environment, session) = (self.environment.as_replay(), self.session.as_replay());
        Position { environment, session, ..self.clone() }
    }
}

/// What comes after a round of answers.
#[derive(Clone)]
pub enum Next {
    /// More answers are due.
    Asked(Position),
    /// The episode is over.
    Ended(Ending),
}

/// The result of a round's answers, or of the beginning.
#[derive(Clone)]
pub struct Transition {
    /// The team's reward.
    pub team: Reward,
    /// The reward of each answer, the team's share included, in the order of the requests.
    pub rewards: Vec<Reward>,
    /// The local rewards of seats that gave none of these answers.
    pub others: Vec<(Seat, Reward)>,
    /// The workflow's credits for earlier answers.
    pub credits: Vec<Credit>,
    /// For each answer, whether all actions of its seat were carried out in full.
    pub accepted: Vec<bool>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// What comes after it.
    pub next: Next,
}

/// An answer as a session gets it.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The whole answer.
    pub text: &'a str,
    /// Whether it ended by itself.
    pub complete: bool,
    /// Whether some of it was inserted, not drawn.
    pub forced: bool,
}

impl<'a> From<&'a Completion> for Answer<'a> {
    fn from(completion: &'a Completion) -> Self {
        Answer {
            text: &completion.text,
            complete: completion.stop != StopReason::Length,
            forced: !completion.forced.is_empty(),
        }
    }
}

impl Scenario {
    /// The workflow's roles.
    pub fn roles(&self) -> &[Role] {
        &self.workflow_configuration.roles
    }

    /// Turns of a role, per seat and conversation, after which an episode is truncated.
    pub fn max_turns_of(&self, role: &str) -> usize {
        self.max_turns_of.get(role).copied().unwrap_or(self.max_turns)
    }

    /// Turns that every role has, which is what a workflow is told: an episode ends where any of
    /// them is asked once more than it may be.
    pub fn max_turns_of_all(&self) -> usize {
        let of_roles = self.roles().iter().map(|role| self.max_turns_of(&role.name));
        of_roles.min().unwrap_or(self.max_turns)
    }

    /// Its components.
    pub fn plugins(&self) -> impl Iterator<Item = &Plugin> {
        self.environment.plugin().into_iter().chain([self.workflow.plugin()])
    }

    /// The meters of environment and workflow.
    pub fn meters(&self) -> [&Arc<Meter>; 2] {
        [self.environment.meter(), self.workflow.plugin().meter()]
    }

    /// All seats of all roles.
    pub fn seats(&self) -> Vec<Seat> {
        let seats = |role: &Role| (0..role.seats).map(|n| Seat::numbered(&role.name, n)).collect();
        self.roles().iter().flat_map(|role| -> Vec<Seat> { seats(role) }).collect()
    }

    /// Begins a task. If tasks are made of records, the seed says of which.
    ///
    /// # Errors
    /// If a plugin or a server fails, or the record cannot be read; the episode is void.
    pub fn begin(&self, split: Split, seed: u32) -> Result<Transition, PluginFailure> {
        let record = entry::read(self.records.as_deref(), split, seed)
            .map_err(|cause| self.environment.failed("start", cause))?;
        let entry = record.as_ref().map(|record| record.text.clone());
        self.begin_with(split, seed, entry)
            .map_err(|failure| entry::placed(failure, record.as_ref()))
    }

    /// The kinds of actions that answer a [question](Scenario::ask); none if no question can
    /// become a task.
    pub fn answers_to_questions(&self) -> Vec<&str> {
        plugin_questions::answers(&self.environment_configuration)
    }

    /// Starts an episode whose task is a question that somebody asks, and plays up to the first
    /// answers that are due. Nobody knows what is right, so it cannot be solved.
    ///
    /// # Errors
    /// If the question cannot be asked, or a plugin or a server fails.
    pub fn ask(&self, question: &str) -> Result<Transition, PluginFailure> {
        self.begin_with(Split::Test, 0, Some(plugin_questions::entry(question)))
    }

    fn begin_with(
        &self,
        split: Split,
        seed: u32,
        entry: Option<String>,
    ) -> Result<Transition, PluginFailure> {
        let settings = self.environment_settings.configured().to_vec();
        let seats = self.seats();
        let mut episode = self.environment.start(&Task { split, seed, settings, seats, entry })?;
        let roles: Arc<[Role]> = self.roles().into();
        let session = self.workflow.start(&roles, &self.briefing(&mut *episode)?);
        let session = session.map_err(|failure| tool::explained(&self.workflow, failure))?;
        Play::new(self, episode, session, Counts::default()).begin()
    }

    /// How many tasks a split has, if they are counted.
    pub fn tasks(&self, split: Split) -> Option<usize> {
        self.records.as_ref().map(|records| records.count(split))
    }

    /// Which task a run trains on at this place: the next record, or any of the
    /// tasks there are without end.
    pub fn training_task(&self, position: u64, order: Seed, any: Seed) -> u32 {
        let records = self.records.as_ref();
        records.map_or_else(|| any.value_u32(), |records| records.training_index(position, order))
    }

    /// Reports the answers to all requests that are due, in a fork of the position.
    ///
    /// # Errors
    /// If a plugin or a server fails; the episode is void.
    pub fn answer(
        &self,
        position: &Position,
        answers: &[Answer],
    ) -> Result<Transition, PluginFailure> {
        let mut episode = self.environment.resume(&position.environment)?;
        let mut session = self.workflow.resume(&position.session)?;
        // What was written while actions were replayed was kept when they were new.
        episode.take_log();
        session.take_log();
        Play::new(self, episode, session, position.counts.clone()).round(&position.due, answers)
    }

    /// The expert's answer to one of the requests that are due; none if there is no expert, or the
    /// workflow cannot phrase it.
    ///
    /// # Errors
    /// If a plugin fails; the episode is void.
    pub fn demonstrate(
        &self,
        position: &Position,
        due: &Due,
    ) -> Result<Option<String>, PluginFailure> {
        // Its session is not to be taken from the branch that continues.
        if self.environment.foreign().is_some() {
            return Ok(None);
        }
        let seat = &due.request.seat;
        let expert: Option<Action> =
            self.environment.resume(&position.environment)?.demonstrate(seat)?;
        let Some(expert) = expert else { return Ok(None) };
        self.workflow.resume(&position.session)?.demonstrate(seat, &expert)
    }

    /// How the episode looks; nothing if the environment does not draw.
    ///
    /// # Errors
    /// If drawing fails.
    pub fn render(&self, position: &Position) -> Result<Option<Rendering>, PluginFailure> {
        self.environment.render(&position.environment)
    }

    fn briefing(&self, episode: &mut dyn Episode) -> Result<Briefing, PluginFailure> {
        let description = self.environment.description();
        let rules = match self.environment_configuration.is_private {
            false => vec![(None, episode.rules(&self.first_seat())?)],
            true => self
                .seats()
                .into_iter()
                .map(|seat| Ok((Some(seat.clone()), episode.rules(&seat)?)))
                .collect::<Result<_, PluginFailure>>()?,
        };
        Ok(Briefing {
            environment: description.name.clone(),
            rules,
            actions: description.actions.clone(),
            settings: self.workflow_settings.configured().to_vec(),
            max_turns: u32::try_from(self.max_turns_of_all()).unwrap_or(u32::MAX),
            tools: self.tools.clone(),
            revealed: episode.reveal()?,
        })
    }

    /// What can be seen now, from every seat; once for all if all see the same.
    fn views(&self, episode: &mut dyn Episode) -> Result<Vec<View>, PluginFailure> {
        if !self.environment_configuration.is_private {
            let parts = episode.observe(&self.first_seat())?;
            return Ok(vec![View { seat: None, parts }]);
        }
        let view = |seat: Seat| {
            let parts = episode.observe(&seat)?;
            Ok(View { seat: Some(seat), parts })
        };
        self.seats().into_iter().map(view).collect()
    }

    /// The seat whose view all share, where all see the same.
    fn first_seat(&self) -> Seat {
        Seat::new(self.roles().first().map_or("", |role| &role.name))
    }
}
