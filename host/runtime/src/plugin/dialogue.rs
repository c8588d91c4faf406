//! What passes between the host and a workflow: the briefing, events in one
//! direction and directives in the other.

use super::setting::Settings;
use crate::trajectory::{Action, Message, Status};

/// What a session is told at its start.
#[derive(Clone, Debug, PartialEq)]
pub struct Briefing {
    /// The environment's name.
    pub environment: String,
    /// The environment's rules and notation.
    pub rules: String,
    /// The kinds of action the environment understands, each with what its
    /// text must look like.
    pub actions: Vec<(String, String)>,
    /// The workflow's settings.
    pub settings: Settings,
    /// How many turns each role has at most.
    pub max_turns: u32,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The episode begins; this can be seen.
    Begun(String),
    /// A role answered.
    Replied {
        /// The seat.
        role: String,
        /// The whole answer.
        text: String,
        /// Whether the answer ended by itself, not by the length limit.
        complete: bool,
    },
    /// The environment carried out an action.
    Acted {
        /// The seat that acted.
        role: String,
        /// Whether the action was carried out in full.
        accepted: bool,
        /// What the environment said about it.
        feedback: String,
        /// What can be seen now.
        observation: String,
        /// Where the episode stands.
        status: Status,
    },
    /// A program ran.
    Ran {
        /// The seat it was run for.
        role: String,
        /// Whether it ended by itself with exit code 0.
        succeeded: bool,
        /// What it wrote to standard output, perhaps cut.
        stdout: String,
        /// What it wrote to standard error, or how it was stopped.
        stderr: String,
    },
}

/// A role to ask and what to tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The seat; one that the workflow describes.
    pub role: String,
    /// Its prompt; never empty.
    pub messages: Vec<Message>,
}

/// A program for the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The seat it is run for.
    pub role: String,
    /// The language it is written in, such as `python`.
    pub language: String,
    /// The program.
    pub source: String,
    /// Its standard input.
    pub stdin: String,
}

/// What the host is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directive {
    /// Ask these roles, at least one. Their answers do not depend on each
    /// other; report them one at a time, in this order.
    Ask(Vec<Request>),
    /// Carry out an action in the environment.
    Act(Action),
    /// Run a program in the sandbox.
    Run(Program),
    /// Nothing until the next of the answers that are still due.
    Wait,
    /// The session is over.
    Finish,
}
