//! The one way in which a call into a plugin fails.
//!
//! A failure is never a reward: the episode it happens in is void. It says
//! which plugin it was, in which call, and by which of the ways a guest can
//! fail, each with a word to count it by.

use std::sync::Arc;

use plugin_sdk::types::Fault;

use troupe_core::error::{Coded, ExitCode};

/// A plugin's name and version, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) name: Arc<str>,
    pub(crate) version: Arc<str>,
}

impl Identity {
    pub(crate) fn new(name: &str, version: &str) -> Self {
        Identity { name: name.into(), version: version.into() }
    }
}

/// A call into a plugin that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} failed in `{call}`: {cause}", named(plugin, version))]
pub struct PluginFailure {
    /// The plugin's name; the file's, before it could say its own.
    pub plugin: Arc<str>,
    /// Its version; empty before it could say.
    pub version: Arc<str>,
    /// The function that was called.
    pub call: &'static str,
    /// How it failed.
    pub cause: Cause,
}

impl Coded for PluginFailure {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Plugin)
    }
}

impl PluginFailure {
    pub(crate) fn new(plugin: &Identity, call: &'static str, cause: Cause) -> Self {
        PluginFailure { plugin: plugin.name.clone(), version: plugin.version.clone(), call, cause }
    }
}

fn named(name: &str, version: &str) -> String {
    format!("plugin `{name}` {version}").trim_end().to_owned()
}

/// The ways in which a guest fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// It executed what WebAssembly forbids; a panic ends so, too.
    #[error("it crashed: {message}")]
    Trap {
        /// What wasmtime said, and the last line the plugin logged in the call.
        message: String,
    },
    /// It did more work in one call than `plugins.limits.fuel` allows.
    #[error(
        "it ran out of fuel ({fuel} units a call); raise `plugins.limits.fuel` if the work is honest"
    )]
    OutOfFuel {
        /// The limit.
        fuel: u64,
    },
    /// It took longer over one call than `plugins.limits.timeout_ms` allows.
    #[error(
        "it ran out of time ({timeout_ms} ms a call); raise `plugins.limits.timeout_ms` if the machine is slow"
    )]
    OutOfTime {
        /// The limit.
        timeout_ms: u64,
    },
    /// It wanted more memory than `plugins.limits.memory_mib` allows and did
    /// not get by without.
    #[error(
        "it ran out of memory ({memory_mib} MiB an instance); raise `plugins.limits.memory_mib` if it needs more"
    )]
    OutOfMemory {
        /// The limit.
        memory_mib: usize,
    },
    /// Its calls nested too deeply.
    #[error("it ran out of stack ({} KiB); it recurses too deeply", super::WASM_STACK_BYTES >> 10)]
    StackOverflow,
    /// It returned more text or bytes than `plugins.limits.text_kib` allows.
    #[error(
        "{what} is too long (at most {text_kib} KiB); raise `plugins.limits.text_kib` if it is meant"
    )]
    TextTooLong {
        /// What it returned.
        what: String,
        /// The limit.
        text_kib: usize,
    },
    /// It returned what the contract rules out.
    #[error("it gave an invalid answer: {message}")]
    InvalidAnswer {
        /// What is wrong with it.
        message: String,
    },
    /// It said itself why it cannot serve the call.
    #[error("{}: {message}", .fault.words())]
    Problem {
        /// Whose fault it is, in its view.
        fault: Fault,
        /// What it said.
        message: String,
    },
    /// It ended its own process.
    #[error("it exited with code {code}; a plugin must return instead")]
    Exit {
        /// The exit code.
        code: i32,
    },
    /// The sandbox could not run what the plugin wanted run.
    #[error("a program could not be run for it: {message}")]
    Sandbox {
        /// What the sandbox said.
        message: String,
    },
    /// The server of a foreign environment did not do what was asked.
    #[error("{message}")]
    Foreign {
        /// A short word for counting.
        word: &'static str,
        /// What went wrong.
        message: String,
    },
    /// The host had no room for one more instance.
    #[error("it could not be instantiated: {message}")]
    NoInstance {
        /// What wasmtime said.
        message: String,
    },
}

impl Cause {
    /// A short word for counting.
    pub fn word(&self) -> &'static str {
        match self {
            Cause::Trap { .. } => "trap",
            Cause::OutOfFuel { .. } => "out_of_fuel",
            Cause::OutOfTime { .. } => "out_of_time",
            Cause::OutOfMemory { .. } => "out_of_memory",
            Cause::StackOverflow => "stack_overflow",
            Cause::TextTooLong { .. } => "text_too_long",
            Cause::InvalidAnswer { .. } => "invalid_answer",
            Cause::Problem { fault, .. } => fault.name(),
            Cause::Exit { .. } => "exit",
            Cause::Sandbox { .. } => "sandbox",
            Cause::Foreign { word, .. } => word,
            Cause::NoInstance { .. } => "no_instance",
        }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Cause::InvalidAnswer { message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_plugin_version_call_and_limit() {
        let plugin = Identity::new("sudoku", "1.2.0");
        let failure = PluginFailure::new(&plugin, "act", Cause::OutOfFuel { fuel: 5 });
        assert_eq!(
            failure.to_string(),
            "plugin `sudoku` 1.2.0 failed in `act`: it ran out of fuel (5 units a call); \
             raise `plugins.limits.fuel` if the work is honest"
        );
        assert_eq!(failure.cause.word(), "out_of_fuel");
        let unnamed =
            PluginFailure::new(&Identity::new("x.wasm", ""), "describe", Cause::StackOverflow);
        assert!(unnamed.to_string().starts_with("plugin `x.wasm` failed in `describe`"));
    }
}
