//! `host plugin check`: every environment and workflow of a component under
//! the SDK's conformance suite, and every interpreter under some programs.

mod environment;
mod findings;
mod interpreter;
mod workflow;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use plugin_sdk::testing::{Report, Scope};

use super::super::report::{self, Bar};
use crate::config::{Config, ConfigError};
use crate::error::ExitCode;
use crate::plugin::{Cause, Fault, PluginFailure, PluginLibrary, Problem, Settings, Value};
use crate::sandbox::Sandbox;

use environment::ComponentEnvironment;
use workflow::ComponentWorkflow;

/// Check the library's environments, workflows and interpreters with the configuration's
/// settings.
pub fn run(
    library: &PluginLibrary,
    sandbox: &Sandbox,
    config: &Config,
    tasks: u32,
) -> anyhow::Result<Vec<Report>> {
    refuse_useless(library, config)?;
    let scope = |given: Settings| Scope { settings: chosen(&given), tasks, ..Scope::default() };
    let mut reports = Vec::new();
    for environment in library.environments() {
        let scope = scope(environment.settings(&config.environment)?);
        let bar: OnceCell<Bar> = OnceCell::new();
        let watch = |done: usize, all: usize, check: &str| {
            let bar = bar.get_or_init(|| Bar::new("check", 0, all, "checks"));
            bar.step_to(done, check.to_owned());
        };
        let environment = ComponentEnvironment::new(environment);
        reports.push(scope.watch_environment(&environment, &watch));
        if let Some(bar) = bar.into_inner() {
            bar.finish();
        }
    }
    for workflow in library.workflows() {
        let scope = scope(workflow.settings(&config.workflow)?);
        reports.push(scope.check_workflow(&ComponentWorkflow::new(workflow)));
    }
    for interpreter in library.interpreters() {
        reports.push(interpreter::check(interpreter.name(), sandbox)?);
    }
    Ok(reports)
}

/// Print what was found, for people or for programs.
pub fn tell(reports: &[Report], strict: bool, json: bool) -> ExitCode {
    let good = |report: &Report| if strict { report.passed_strictly() } else { report.passed() };
    let passed = reports.iter().all(good);
    if json {
        report::line(&findings::json(reports, strict, passed).to_string());
    } else {
        reports.iter().for_each(|report| report::line(&report.to_string()));
        if strict && !passed && reports.iter().all(Report::passed) {
            report::note("nothing failed, but with --strict nothing may be skipped either");
        }
    }
    if passed { ExitCode::Success } else { ExitCode::Check }
}

/// Settings of what the component does not bring would silently do nothing.
fn refuse_useless(library: &PluginLibrary, config: &Config) -> Result<(), ConfigError> {
    let tables = [
        ("environment", &config.environment, library.environments().is_empty()),
        ("workflow", &config.workflow, library.workflows().is_empty()),
    ];
    match tables.into_iter().find(|(_, table, missing)| *missing && !table.is_empty()) {
        None => Ok(()),
        Some((kind, ..)) => Err(ConfigError::Invalid {
            key: kind.to_owned(),
            reason: format!("the component brings no {kind}"),
        }),
    }
}

fn chosen(settings: &Settings) -> Vec<(String, Value)> {
    settings.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

/// What the guest said is wrong; every other failure, and what the guest calls
/// its own fault, with the call it happened in.
fn problem(failure: PluginFailure) -> Problem {
    match &failure.cause {
        Cause::Problem { fault, message } if *fault != Fault::Internal => {
            Problem { fault: *fault, message: message.clone() }
        }
        _ => Problem::internal(failure.to_string()),
    }
}

/// What the guests saved, and the host's states that the bytes belong to.
///
/// The suite knows saved states as bytes, the host as bytes with what led to
/// them, which it needs to resume them as it would in a run. Where two states
/// have the same bytes, the later one is as good as the earlier.
struct Archive<S>(RefCell<HashMap<Vec<u8>, S>>);

impl<S: Clone> Archive<S> {
    fn new() -> Self {
        Archive(RefCell::new(HashMap::new()))
    }

    /// Keep the state; the answer is its bytes.
    fn keep(&self, saved: Option<Vec<u8>>, state: S) -> Option<Vec<u8>> {
        if let Some(bytes) = &saved {
            self.0.borrow_mut().insert(bytes.clone(), state);
        }
        saved
    }

    /// The state with these bytes; what to say when nothing was saved so.
    fn find(&self, bytes: &[u8]) -> Result<S, String> {
        let state = self.0.borrow().get(bytes).cloned();
        state.ok_or_else(|| "nothing was saved with these bytes".to_owned())
    }
}
