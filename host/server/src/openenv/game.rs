//! What is served: an environment by itself, or a team that plays it.

use serde_json::Value;

use super::action::Action;
use super::invalid::Invalid;
use super::team::TeamPosition;
use super::turn::StepResult;
use troupe_guests::plugin::{
    ActionKind, EnvironmentDescription, PluginFailure, Rendering, Seat, Split,
};
use troupe_guests::records::Records;
use troupe_guests::scenario::{Alone, AloneState, Scenario};

/// What is served.
pub enum Game {
    /// An environment; the client acts in it.
    Alone(Box<Alone>),
    /// An environment and a workflow; the client answers for the roles.
    Team(Box<Scenario>),
}

/// An episode between two messages.
#[derive(Clone)]
pub(super) enum Position {
    Alone(AloneState),
    Team(Box<TeamPosition>),
}

/// Why a step was not made.
pub(super) enum Refused {
    /// The client said something wrong; the episode stands where it stood.
    Invalid(Invalid),
    /// A plugin failed; the episode is void.
    Failed(PluginFailure),
}

impl From<PluginFailure> for Refused {
    fn from(failure: PluginFailure) -> Self {
        Refused::Failed(failure)
    }
}

impl From<Invalid> for Refused {
    fn from(invalid: Invalid) -> Self {
        Refused::Invalid(invalid)
    }
}

impl Game {
    /// The environment's name.
    pub fn name(&self) -> &str {
        &self.environment().name
    }

    /// The rules.
    pub(super) fn environment(&self) -> &EnvironmentDescription {
        match self {
            Game::Alone(alone) => alone.environment.description(),
            Game::Team(scenario) => scenario.environment.description(),
        }
    }

    /// The workflow, if there is one.
    pub(super) fn workflow(&self) -> Option<&str> {
        match self {
            Game::Alone(_) => None,
            Game::Team(scenario) => Some(scenario.workflow.name()),
        }
    }

    /// The seats.
    pub(super) fn seats(&self) -> Vec<Seat> {
        match self {
            Game::Alone(alone) => alone.seats(),
            Game::Team(scenario) => scenario.seats(),
        }
    }

    /// The kinds of action that a client chooses from; none where a workflow does.
    pub(super) fn kinds(&self) -> &[ActionKind] {
        match self {
            Game::Alone(alone) => &alone.environment.description().actions,
            Game::Team(_) => &[],
        }
    }

    /// What the tasks are built from, if they are counted.
    pub(super) fn records(&self) -> Option<&Records> {
        match self {
            Game::Alone(alone) => alone.records.as_deref(),
            Game::Team(scenario) => scenario.records.as_deref(),
        }
    }

    /// Begins a task.
    pub(super) fn begin(&self, split: Split, seed: u32) -> Result<StepResult, PluginFailure> {
        match self {
            Game::Alone(alone) => super::alone::begin(alone, split, seed),
            Game::Team(scenario) => super::team::begin(scenario, split, seed),
        }
    }

    /// Reads what a client does.
    pub(super) fn read(&self, data: Option<&Value>) -> Result<Action, Invalid> {
        let known = match self {
            Game::Alone(_) => super::alone::FIELDS,
            Game::Team(_) => super::team::FIELDS,
        };
        let limits = match self {
            Game::Alone(alone) => alone.environment.plugin().limits(),
            Game::Team(scenario) => scenario.environment.limits(),
        };
        let longest = limits.longest_answer();
        Action::parse(data, known, longest)
    }

    /// Does it.
    pub(super) fn step(&self, from: &Position, action: Action) -> Result<StepResult, Refused> {
        match (self, from) {
            (Game::Alone(alone), Position::Alone(from)) => super::alone::step(alone, from, action),
            (Game::Team(scenario), Position::Team(from)) => {
                super::team::step(scenario, from, action)
            }
            // A position is made by the game that it is given back to.
            _ => Err(Invalid::value("", "the episode is another game's").into()),
        }
    }

    /// Draws the episode; nothing if the environment does not draw.
    pub(super) fn render(&self, position: &Position) -> Result<Option<Rendering>, PluginFailure> {
        match (self, position) {
            (Game::Alone(alone), Position::Alone(state)) => alone.render(state),
            (Game::Team(scenario), Position::Team(state)) => scenario.render(&state.position),
            _ => Ok(None),
        }
    }
}

/// The place of the seat that is named, among these.
pub(super) fn place_of(seats: &[Seat], name: &str) -> Result<usize, Invalid> {
    let place = seats.iter().position(|seat| seat.to_string() == name);
    place.ok_or_else(|| {
        let known: Vec<String> = seats.iter().map(|seat| format!("`{seat}`")).collect();
        let message = format!("no `{name}` is to act now; there is {}", known.join(", "));
        Invalid::value("role", message)
    })
}
