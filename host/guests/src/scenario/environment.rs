//! The rules of a scenario: those of a component, or those of a server. What plays
//! in them does not know which.

use std::path::Path;
use std::sync::Arc;

use plugin_sdk::preset::PRESET;

use crate::foreign::{ForeignEnvironment, ForeignEpisode, ForeignState};
use crate::plugin::{
    Action, Cause, EnvironmentConfiguration, EnvironmentDescription, EnvironmentPlugin,
    EnvironmentState, LiveEpisode, LogLine, Meter, Move, Outcome, Part, Plugin, PluginError,
    PluginFailure, Rendering, Seat, Settings, Task,
};
use troupe_core::config::{Audience, Limits};

/// The rules of a scenario.
#[derive(Clone, Debug)]
pub enum Environment {
    /// A component's.
    Component(EnvironmentPlugin),
    /// A server's.
    Foreign(ForeignEnvironment),
}

/// An episode between calls.
#[derive(Clone, Debug)]
pub enum EpisodeState {
    /// A component's state.
    Component(EnvironmentState),
    /// A state of a server's session.
    Foreign(Box<ForeignState>),
}

/// An episode alive. Every method is one call, and a failure makes the episode void.
pub trait Episode: Send {
    /// The rules and the notation, in the words for this seat.
    fn rules(&mut self, seat: &Seat) -> Result<String, PluginFailure>;
    /// What the seat can see now.
    fn observe(&mut self, seat: &Seat) -> Result<Vec<Part>, PluginFailure>;
    /// Carries out moves.
    fn act(&mut self, moves: Vec<Move>) -> Result<Outcome, PluginFailure>;
    /// Whether a limit of its own has ended it, and not its rules: no component says so.
    fn is_cut_off(&self) -> bool {
        false
    }
    /// The expert's next action for the seat; nothing if there is no expert.
    fn demonstrate(&mut self, seat: &Seat) -> Result<Option<Action>, PluginFailure>;
    /// What only a critic may see, if there is something.
    fn reveal(&mut self) -> Result<Option<String>, PluginFailure>;
    /// The episode as a value; the last call.
    fn save(&mut self) -> Result<EpisodeState, PluginFailure>;
    /// The lines logged since the last time.
    fn take_log(&mut self) -> Vec<LogLine>;
}

impl Episode for LiveEpisode {
    fn rules(&mut self, seat: &Seat) -> Result<String, PluginFailure> {
        LiveEpisode::rules(self, seat)
    }

    fn observe(&mut self, seat: &Seat) -> Result<Vec<Part>, PluginFailure> {
        LiveEpisode::observe(self, seat)
    }

    fn act(&mut self, moves: Vec<Move>) -> Result<Outcome, PluginFailure> {
        LiveEpisode::act(self, moves)
    }

    fn demonstrate(&mut self, seat: &Seat) -> Result<Option<Action>, PluginFailure> {
        LiveEpisode::demonstrate(self, seat)
    }

    fn reveal(&mut self) -> Result<Option<String>, PluginFailure> {
        LiveEpisode::reveal(self)
    }

    fn save(&mut self) -> Result<EpisodeState, PluginFailure> {
        LiveEpisode::save(self).map(EpisodeState::Component)
    }

    fn take_log(&mut self) -> Vec<LogLine> {
        LiveEpisode::take_log(self)
    }
}

/// A server has no expert, reveals nothing and logs nothing here.
impl Episode for ForeignEpisode {
    fn rules(&mut self, seat: &Seat) -> Result<String, PluginFailure> {
        Ok(ForeignEpisode::rules(self, seat))
    }

    fn observe(&mut self, seat: &Seat) -> Result<Vec<Part>, PluginFailure> {
        Ok(ForeignEpisode::observe(self, seat))
    }

    fn act(&mut self, moves: Vec<Move>) -> Result<Outcome, PluginFailure> {
        ForeignEpisode::act(self, moves)
    }

    fn is_cut_off(&self) -> bool {
        ForeignEpisode::is_cut_off(self)
    }

    fn demonstrate(&mut self, _seat: &Seat) -> Result<Option<Action>, PluginFailure> {
        Ok(None)
    }

    fn reveal(&mut self) -> Result<Option<String>, PluginFailure> {
        Ok(None)
    }

    fn save(&mut self) -> Result<EpisodeState, PluginFailure> {
        Ok(EpisodeState::Foreign(Box::new(ForeignEpisode::save(self))))
    }

    fn take_log(&mut self) -> Vec<LogLine> {
        Vec::new()
    }
}

impl EpisodeState {
    /// A number for the state: the same task and moves give the same number.
    pub fn digest(&self) -> u64 {
        match self {
            EpisodeState::Component(state) => state.digest(),
            EpisodeState::Foreign(state) => state.digest(),
        }
    }

    /// The same state, to be resumed by replaying the moves.
    #[must_use]
    pub fn as_replay(&self) -> Self {
        match self {
            EpisodeState::Component(state) => EpisodeState::Component(state.as_replay()),
            EpisodeState::Foreign(state) => EpisodeState::Foreign(Box::new(state.as_replay())),
        }
    }
}

impl Environment {
    /// Its description of itself.
    pub fn description(&self) -> &EnvironmentDescription {
        match self {
            Environment::Component(plugin) => plugin.description(),
            Environment::Foreign(foreign) => foreign.description(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.description().name
    }

    /// The component, if it is one.
    pub fn plugin(&self) -> Option<&Plugin> {
        match self {
            Environment::Component(plugin) => Some(plugin.plugin()),
            Environment::Foreign(_) => None,
        }
    }

    /// The rules of a component, if they are one's.
    pub fn component(&self) -> Option<&EnvironmentPlugin> {
        match self {
            Environment::Component(plugin) => Some(plugin),
            Environment::Foreign(_) => None,
        }
    }

    /// The server, if it is one's.
    pub fn foreign(&self) -> Option<&ForeignEnvironment> {
        match self {
            Environment::Component(_) => None,
            Environment::Foreign(foreign) => Some(foreign),
        }
    }

    /// The file of the component, if it is one.
    pub(super) fn file(&self) -> Option<&Path> {
        self.plugin().map(Plugin::file)
    }

    /// Counts what is done in it.
    pub fn meter(&self) -> &Arc<Meter> {
        match self {
            Environment::Component(plugin) => plugin.plugin().meter(),
            Environment::Foreign(foreign) => foreign.meter(),
        }
    }

    /// The limits of one call.
    pub fn limits(&self) -> &Limits {
        match self {
            Environment::Component(plugin) => plugin.plugin().limits(),
            Environment::Foreign(foreign) => foreign.limits(),
        }
    }

    /// The user's `[environment]` table, checked and completed.
    ///
    /// # Errors
    /// If there is no such setting or preset, or a value does not fit.
    pub fn settings_for(
        &self,
        audience: Audience,
        table: &toml::Table,
    ) -> Result<Settings, PluginError> {
        match self {
            Environment::Component(plugin) => plugin.settings_for(audience, table),
            Environment::Foreign(foreign) => Ok(foreign.settings().clone()),
        }
    }

    /// Checks a table that has a value for every setting.
    ///
    /// # Errors
    /// If there is no such setting, or a value does not fit.
    pub fn settings(&self, table: &toml::Table) -> Result<Settings, PluginError> {
        match self {
            Environment::Component(plugin) => plugin.settings(table),
            Environment::Foreign(foreign) => Ok(foreign.settings().clone()),
        }
    }

    /// The settings of a preset, all others at their defaults.
    ///
    /// # Errors
    /// If there is no such preset.
    pub fn preset(&self, name: &str) -> Result<Settings, PluginError> {
        let table = toml::Table::from_iter([(PRESET.to_owned(), name.into())]);
        self.settings_for(Audience::Words, &table)
    }

    /// What follows from the settings: turns, seats, kinds of action.
    ///
    /// # Errors
    /// If the environment does not accept the settings, or fails.
    pub fn configure(
        &self,
        settings: &Settings,
    ) -> Result<EnvironmentConfiguration, PluginFailure> {
        match self {
            Environment::Component(plugin) => plugin.configure(settings),
            Environment::Foreign(foreign) => Ok(foreign.configuration()),
        }
    }

    /// Begins a task.
    ///
    /// # Errors
    /// If the environment fails.
    pub fn start(&self, task: &Task) -> Result<Box<dyn Episode>, PluginFailure> {
        Ok(match self {
            Environment::Component(plugin) => Box::new(plugin.start(task)?),
            Environment::Foreign(foreign) => Box::new(foreign.start(task)?),
        })
    }

    /// Resumes a state of this environment.
    ///
    /// # Errors
    /// If the environment fails.
    pub fn resume(&self, state: &EpisodeState) -> Result<Box<dyn Episode>, PluginFailure> {
        match (self, state) {
            (Environment::Component(plugin), EpisodeState::Component(state)) => {
                Ok(Box::new(plugin.resume(state)?))
            }
            (Environment::Foreign(foreign), EpisodeState::Foreign(state)) => {
                Ok(Box::new(foreign.resume(state)?))
            }
            _ => Err(self.failed("resume", another())),
        }
    }

    /// Draws a state; nothing if the environment does not draw.
    ///
    /// # Errors
    /// If drawing fails.
    pub fn render(&self, state: &EpisodeState) -> Result<Option<Rendering>, PluginFailure> {
        match (self, state) {
            (Environment::Component(plugin), EpisodeState::Component(state)) => {
                plugin.render(state)
            }
            _ => Ok(None),
        }
    }

    /// A failure of a call of this environment, for the cause given.
    pub fn failed(&self, call: &'static str, cause: Cause) -> PluginFailure {
        match self {
            Environment::Component(plugin) => plugin.failed(call, cause),
            Environment::Foreign(foreign) => foreign.failed(call, cause),
        }
    }
}

/// A state is made by the environment that it is given back to.
fn another() -> Cause {
    Cause::InvalidAnswer { message: "the state is another environment's".to_owned() }
}
