//! Plugins: sandboxed WebAssembly components behind the contract in `wit/`.
//!
//! This module turns files into [`EnvironmentPlugin`]s and [`WorkflowPlugin`]s
//! and calls into them. An episode or session between calls is a plain value
//! ([`EnvironmentState`], [`SessionState`]); it is resumed in a fresh instance,
//! so a fork shares nothing with its siblings. Every call has limits, and every
//! way in which one can fail is a [`PluginFailure`]. Nothing outside knows that
//! there is wasmtime, and nothing here knows what a policy is.
//!
//! Calls may come from many threads at once, which best have
//! [`THREAD_STACK_BYTES`] of stack.

mod digest;
mod setting;
mod preset;
mod task;
mod failure;
mod error;
mod log;
mod streams;
mod limiter;
mod ticker;
mod engine;
mod cache;
mod survey;
mod compilation;
mod contract;
mod sandbox;
mod grants;
mod output;
mod wasi;
mod answer;
mod meter;
mod instance;
mod kept;
mod retrieval;
mod component;
#[cfg(test)]
mod probe;
mod episode;
mod environment;
mod session;
mod workflow;
mod interpreter;
mod library;

pub use plugin_sdk::environment::{
    Award, Configuration as EnvironmentConfiguration, Description as EnvironmentDescription,
    Effect, Outcome, Recipient, Task,
};
pub use plugin_sdk::interpreter::Description as InterpreterDescription;
pub use plugin_sdk::rendering::Rendering;
pub use plugin_sdk::types::{
    Action, ActionKind, Configured, Domain, Fault, Move, Needs, Part, Problem, Seat, Setting,
    Split, Status, Value, text_of,
};
pub use plugin_sdk::workflow::{
    Author, Briefing, Call, Configuration as WorkflowConfiguration, Consequence, Credit,
    Description as WorkflowDescription, Directive, Event, Message, Reply, Request, ResultOfMove,
    Returned, Role, Step, Tool, View,
};

use plugin_sdk::bindings::host as bindings;

pub use compilation::announce_compilations;
pub use component::ComponentFile;
pub use component::Plugin;
pub use contract::{CONTRACT, CONTRACT_VERSION, Offer};
pub use engine::{PluginEngine, THREAD_STACK_BYTES, WASM_STACK_BYTES};
pub use environment::EnvironmentPlugin;
pub use episode::{EnvironmentState, LiveEpisode};
pub use error::PluginError;
pub(crate) use failure::Identity;
pub use failure::{Cause, PluginFailure};
pub use grants::{Grant, Granted, Grants, Right, grant_flag};
pub use interpreter::InterpreterPlugin;
pub use library::PluginLibrary;
pub use library::{find_named, find_plugin};
pub use limiter::Limiter;
pub use log::{LogLevel, LogLine};
pub use meter::{Meter, Work};
pub use sandbox::SandboxGrant;
pub use session::{LiveSession, SessionState};
pub use setting::{SettingError, Settings};
pub use task::{action_of, seat_reward, team_reward};
pub use ticker::Ticker;
pub use wasi::link_random;
pub use workflow::WorkflowPlugin;
