//! `host plugin check`: every environment and workflow of a component under
//! the SDK's conformance suite, and every interpreter under some programs.

mod environment;
mod findings;
mod interpreter;
mod records;
mod replay;
mod search;
mod workflow;

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use plugin_sdk::testing::{Finding, Report, Scope, Verdict};

use super::settings::refuse_useless;
use troupe_core::config::{Config, ConfigError};
use troupe_core::error::ExitCode;
use troupe_guests::plugin::{
    Cause, EnvironmentPlugin, Fault, PluginFailure, PluginLibrary, Problem, Settings,
};
use troupe_sandbox::Sandbox;
use troupe_terminal as terminal;

use findings::Told;

/// How long a look takes without `--minutes`, about.
const BUDGET: Duration = Duration::from_secs(20);

/// How much is looked at, and how it is told.
#[derive(Clone, Debug)]
pub struct Effort {
    /// Tasks of each split.
    pub tasks: u32,
    /// Whether to hunt for episodes that earn much and solve nothing.
    pub hunt: bool,
    /// How long to go on with other tasks and settings or, if there is a hunt, to hunt.
    pub minutes: Option<f64>,
    /// Whether a skipped check fails.
    pub strict: bool,
    /// Whether programs read it.
    pub json: bool,
    /// Whether only what is not well is told.
    pub brief: bool,
    /// How the component is named and granted, for commands that show findings.
    pub command: String,
}

/// Check the library's environments, workflows and interpreters with the configuration's
/// settings, and tell what was found.
pub fn run(
    library: &PluginLibrary,
    sandbox: &Sandbox,
    config: &Config,
    effort: &Effort,
) -> anyhow::Result<ExitCode> {
    let reports = look(library, sandbox, config, effort)?;
    let digests = library.plugins().iter().map(|plugin| plugin.digest().to_owned()).collect();
    Ok(tell(&Told { reports: &reports, digests, effort }))
}

/// Check the library's environments, workflows and interpreters; a report of each.
pub fn look(
    library: &PluginLibrary,
    sandbox: &Sandbox,
    config: &Config,
    effort: &Effort,
) -> anyhow::Result<Vec<Report>> {
    refuse_useless(library, config)?;
    if effort.hunt && library.environments().is_empty() {
        let (key, reason) = ("--hunt".to_owned(), "the component brings no environment".to_owned());
        return Err(ConfigError::Invalid { key, reason }.into());
    }
    let mut reports = Vec::new();
    for environment in library.environments() {
        let scope = scope_of(environment, config, effort)?;
        reports.push(search::environment(environment, scope, effort));
    }
    for workflow in library.workflows() {
        let scope = scope(&workflow.settings(&config.workflow)?, effort);
        reports.push(search::workflow(workflow, scope, effort));
    }
    for interpreter in library.interpreters() {
        reports.push(interpreter::check(interpreter.name(), sandbox)?);
    }
    Ok(reports)
}

/// Play one episode again that a finding names.
pub fn replay(
    library: &PluginLibrary,
    config: &Config,
    effort: &Effort,
    seen: &str,
) -> anyhow::Result<ExitCode> {
    refuse_useless(library, config)?;
    let Some(environment) = library.environments().first() else {
        return Err(ConfigError::Invalid {
            key: "--replay".to_owned(),
            reason: "the component brings no environment".to_owned(),
        }
        .into());
    };
    replay::run(environment, &scope_of(environment, config, effort)?, seen)
}

/// What is looked at of an environment: with the user's settings, and their records if there are
/// some.
fn scope_of(
    environment: &EnvironmentPlugin,
    config: &Config,
    effort: &Effort,
) -> anyhow::Result<Scope> {
    let settings = environment.settings(&config.environment)?;
    let entries = records::read(environment, &settings, &config.tasks, effort.tasks)?;
    Ok(Scope { entries, ..scope(&settings, effort) })
}

fn scope(given: &Settings, effort: &Effort) -> Scope {
    let settings = given.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
    Scope { settings, tasks: effort.tasks, budget: Some(BUDGET), ..Scope::default() }
}

/// Print what was found, for people or for programs.
fn tell(told: &Told<'_>) -> ExitCode {
    let Told { reports, effort, .. } = told;
    let passed = told.passed();
    if effort.json {
        terminal::line(&findings::json(told).to_string());
    } else {
        for one in *reports {
            terminal::line(&one.subject);
            let tells = |finding: &&Finding| !effort.brief || finding.verdict != Verdict::Passed;
            for finding in one.findings.iter().filter(tells) {
                terminal::line(&finding.to_string());
                if let Some(command) = findings::command(finding, effort) {
                    terminal::line(&format!("{:24}again: {command}", ""));
                }
            }
            terminal::line(&format!("  grade    {}", findings::grade(one, &told.digests)));
        }
        if effort.strict && !passed && reports.iter().all(Report::passed) {
            terminal::note("nothing failed, but with --strict nothing may be skipped either");
        }
    }
    if passed { ExitCode::Success } else { ExitCode::Check }
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
