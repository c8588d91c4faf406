//! An environment that is played without a workflow: an action says as which
//! seat, and all that a seat is told is what it can see.

use std::sync::Arc;

use super::assembly::{open_records, turns};
use super::entry;
use super::error::ScenarioError;
use crate::plugin::{
    Action, EnvironmentConfiguration, EnvironmentPlugin, EnvironmentState, LiveEpisode, Move,
    Outcome, PluginFailure, PluginLibrary, Rendering, Seat, Settings, Split, Status, Task, text_of,
};
use crate::records::Records;
use troupe_core::config::{Audience, Config, MixConfig};
use troupe_core::trajectory::Ending;

/// The player, where the environment does not name its seats.
const ANYBODY: &str = "player";

/// An environment, configured.
#[derive(Clone, Debug)]
pub struct Alone {
    /// The rules.
    pub environment: EnvironmentPlugin,
    /// Its settings.
    pub settings: Settings,
    /// What the environment derived from the settings.
    pub configuration: EnvironmentConfiguration,
    /// The records that tasks are built from, if it needs some.
    pub records: Option<Arc<Records>>,
    /// Actions per seat after which an episode is truncated.
    pub max_turns: usize,
}

/// An episode between two actions.
#[derive(Clone, Debug)]
pub struct AloneState {
    state: EnvironmentState,
    /// How often each seat has acted.
    turns: Vec<usize>,
}

/// The result of an action, or of the beginning.
#[derive(Clone, Debug)]
pub struct AloneStep {
    /// The action's outcome; none at the beginning.
    pub outcome: Option<Outcome>,
    /// The observation of each seat, in the order of the seats.
    pub views: Vec<String>,
    /// The next state, or how the episode ended.
    pub next: Result<AloneState, Ending>,
}

impl Alone {
    /// The environment of a family of tasks, with its settings.
    ///
    /// # Errors
    /// If it is not there, refuses its settings, or has no records where it needs
    /// some.
    pub fn assemble(
        config: &Config,
        entry: &MixConfig,
        audience: Audience,
        library: &PluginLibrary,
    ) -> Result<Self, ScenarioError> {
        let environment = library.environment(entry.environment.as_deref())?.clone();
        let settings = environment.settings_for(audience, &entry.settings)?;
        let configuration = environment.configure(&settings)?;
        let records = open_records(&entry.tasks, environment.name(), &configuration)?;
        let max_turns = turns(config, &configuration);
        Ok(Alone { environment, settings, configuration, records, max_turns })
    }

    /// The seats.
    pub fn seats(&self) -> Vec<Seat> {
        match self.configuration.expected_seats() {
            seats if seats.is_empty() => vec![Seat::new(ANYBODY)],
            seats => seats,
        }
    }

    /// Begin a task: what every seat is told of the rules, and what it sees.
    ///
    /// # Errors
    /// If the environment fails; the episode is void.
    pub fn begin(
        &self,
        split: Split,
        seed: u32,
    ) -> Result<(Vec<String>, AloneStep), PluginFailure> {
        let record = entry::read(self.records.as_deref(), split, seed)
            .map_err(|cause| self.environment.failed("start", cause))?;
        let settings = self.settings.configured().to_vec();
        let (seats, entry) = (self.seats(), record.as_ref().map(|record| record.text.clone()));
        let turns = vec![0; seats.len()];
        let started = self.environment.start(&Task { split, seed, settings, seats, entry });
        let mut episode = started.map_err(|failure| entry::placed(failure, record.as_ref()))?;
        let rules = self.for_each_seat(|seat| episode.rules(seat))?;
        let views = self.for_each_seat(|seat| Ok(text_of(&episode.observe(seat)?)))?;
        let next = Ok(AloneState { state: episode.save()?, turns });
        Ok((rules, AloneStep { outcome: None, views, next }))
    }

    /// Carry out an action of the seat that has this place.
    ///
    /// # Errors
    /// If the environment fails; the episode is void.
    pub fn act(
        &self,
        from: &AloneState,
        place: usize,
        action: Action,
    ) -> Result<AloneStep, PluginFailure> {
        let mut episode = self.environment.resume(&from.state)?;
        let seat = self.seats()[place].clone();
        let outcome = episode.act(vec![Move { seat, action }])?;
        let views = self.for_each_seat(|seat| Ok(text_of(&episode.observe(seat)?)))?;
        let next = match outcome.status {
            Status::Solved => Err(Ending::Solved),
            Status::Failed => Err(Ending::Failed),
            Status::Ongoing => self.go_on(from, place, &mut episode)?,
        };
        Ok(AloneStep { outcome: Some(outcome), views, next })
    }

    /// How the episode looks; nothing if the environment does not draw.
    ///
    /// # Errors
    /// If drawing fails.
    pub fn render(&self, state: &AloneState) -> Result<Option<Rendering>, PluginFailure> {
        self.environment.render(&state.state)
    }

    fn go_on(
        &self,
        from: &AloneState,
        place: usize,
        episode: &mut LiveEpisode,
    ) -> Result<Result<AloneState, Ending>, PluginFailure> {
        let mut turns = from.turns.clone();
        turns[place] += 1;
        if turns[place] >= self.max_turns {
            return Ok(Err(Ending::Truncated));
        }
        Ok(Ok(AloneState { state: episode.save()?, turns }))
    }

    /// Asks once a seat, or once in all if seats see the same.
    fn for_each_seat(
        &self,
        mut ask: impl FnMut(&Seat) -> Result<String, PluginFailure>,
    ) -> Result<Vec<String>, PluginFailure> {
        let seats = self.seats();
        if self.configuration.is_private {
            return seats.iter().map(ask).collect();
        }
        let for_all = ask(&seats[0])?;
        Ok(vec![for_all; seats.len()])
    }
}
