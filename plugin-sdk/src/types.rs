//! The nouns that environments and workflows share.

pub use crate::bindings::contract::types::{
    Action, ActionKind, Configured, Domain, Extra, Fault, Image, Move, Needs, Part, Problem, Seat,
    Setting, Split, Status, Value,
};

use std::fmt;

use crate::random::hash;
use crate::settings::SettingError;
use crate::state::StateError;

impl Split {
    /// Every split.
    pub const ALL: [Split; 3] = [Split::Train, Split::Validation, Split::Test];

    /// Its name in the contract, such as `train`.
    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Validation => "validation",
            Split::Test => "test",
        }
    }

    /// The split that has a name.
    pub fn named(name: &str) -> Option<Split> {
        Split::ALL.into_iter().find(|split| split.name() == name)
    }

    /// The split that a generated problem belongs to: eight in ten belong to
    /// `Train`, one each to the others. An environment that draws problems
    /// until one belongs to its task's split has disjoint splits by construction.
    pub fn owning(problem: &[u8]) -> Split {
        match hash(problem) % 10 {
            0 => Split::Validation,
            1 => Split::Test,
            _ => Split::Train,
        }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl Seat {
    /// The first, or only, seat of a role.
    pub fn new(role: &str) -> Self {
        Seat::numbered(role, 0)
    }

    /// One of several seats of a role, counted from 0.
    pub fn numbered(role: &str, instance: u32) -> Self {
        Seat { role: role.to_owned(), instance }
    }
}

impl From<&str> for Seat {
    fn from(role: &str) -> Self {
        Seat::new(role)
    }
}

impl From<&Seat> for Seat {
    fn from(seat: &Seat) -> Self {
        seat.clone()
    }
}

/// The role's name; from the second seat on with a number, as in `debater 2`.
impl fmt::Display for Seat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.instance {
            0 => out.write_str(&self.role),
            instance => write!(out, "{} {}", self.role, instance + 1),
        }
    }
}

impl Action {
    /// An action of this kind.
    pub fn new(kind: impl Into<String>, text: impl Into<String>) -> Self {
        Action { kind: kind.into(), text: text.into() }
    }
}

impl Move {
    /// The seat carries out this action.
    pub fn new(seat: impl Into<Seat>, kind: &str, text: &str) -> Self {
        Move { seat: seat.into(), action: Action::new(kind, text) }
    }
}

impl Part {
    /// What a reader of text is told: the text, or what a picture shows.
    pub fn text(&self) -> &str {
        match self {
            Part::Text(text) => text,
            Part::Image(image) => &image.description,
        }
    }
}

/// The parts as text, one behind the other, pictures by their descriptions.
pub fn text_of(parts: &[Part]) -> String {
    parts.iter().map(Part::text).collect::<Vec<_>>().join("\n")
}

/// The parts that are text, one behind the other: what stands beside pictures.
pub fn written(parts: &[Part]) -> String {
    let text = |part: &Part| match part {
        Part::Text(text) => Some(text.clone()),
        Part::Image(_) => None,
    };
    parts.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

impl Needs {
    /// Nothing beyond the usual.
    pub const NOTHING: Needs = Needs { memory_mib: None, fuel: None };
}

impl Problem {
    /// The settings contradict each other, cannot be met, or do not fit the
    /// plugin on the other side.
    pub fn settings(message: impl Into<String>) -> Self {
        Problem { fault: Fault::Settings, message: message.into() }
    }

    /// The task cannot be built.
    pub fn task(message: impl Into<String>) -> Self {
        Problem { fault: Fault::Task, message: message.into() }
    }

    /// The saved state is not one of this version's.
    pub fn state(message: impl Into<String>) -> Self {
        Problem { fault: Fault::State, message: message.into() }
    }

    /// The call cannot follow those before it.
    pub fn order(message: impl Into<String>) -> Self {
        Problem { fault: Fault::Order, message: message.into() }
    }

    /// The plugin itself went wrong.
    pub fn internal(message: impl Into<String>) -> Self {
        Problem { fault: Fault::Internal, message: message.into() }
    }

    /// It in a sentence.
    pub fn sentence(&self) -> String {
        format!("{}: {}", self.fault.words(), self.message)
    }

    /// The workflow sent a kind of action that the environment never described.
    pub fn unknown_kind(action: &Action) -> Self {
        Problem::order(format!("there is no action of kind `{}` here", action.kind))
    }
}

impl Fault {
    /// Its name in files, such as `invalid_settings`.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Settings => "invalid_settings",
            Fault::Task => "invalid_task",
            Fault::State => "invalid_state",
            Fault::Order => "out_of_order",
            Fault::Internal => "internal",
        }
    }

    /// The fault in words.
    pub fn words(self) -> &'static str {
        match self {
            Fault::Settings => "invalid settings",
            Fault::Task => "invalid task",
            Fault::State => "invalid state",
            Fault::Order => "out of order",
            Fault::Internal => "internal problem",
        }
    }
}

impl From<SettingError> for Problem {
    fn from(error: SettingError) -> Self {
        Problem::settings(error.to_string())
    }
}

impl From<StateError> for Problem {
    fn from(error: StateError) -> Self {
        Problem::state(error.to_string())
    }
}
