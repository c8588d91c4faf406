//! The conformance suite: what every plugin must keep, as a list of checks.
//!
//! A plugin's own tests run it natively, as the crate's front page shows.
//! The suite itself sees plugins through [`EnvironmentUnderTest`] and
//! [`WorkflowUnderTest`], so that a host can put a finished component under the
//! same checks.

mod environment;
mod lazy;
mod native;
mod phrasebook;
mod report;
mod team;
mod walk;
mod workflow;

pub use environment::{EnvironmentUnderTest, EpisodeUnderTest};
pub use lazy::{Earned, Table, Voice};
pub use native::Native;
pub use report::{Finding, Report, Reproducer, Verdict};
pub use workflow::{SessionUnderTest, WorkflowUnderTest};

use crate::environment::Task;
use crate::random::fnv;
use crate::settings;
use crate::types::{Configured, Seat, Setting, Value};
use crate::{Environment, Workflow};

/// Check an environment with its default settings.
pub fn check_environment<E: Environment + 'static>() -> Report {
    Scope::default().check_environment(&Native::<E>::default())
}

/// Check a workflow with its default settings.
pub fn check_workflow<W: Workflow + 'static>() -> Report {
    Scope::default().check_workflow(&Native::<W>::default())
}

/// A digest of what a player sees at the start of these tasks, to be compared
/// with what it was: one version of an environment has the same tasks for ever.
///
/// # Panics
/// If a task cannot be begun.
pub fn digest_of<E: Environment>(tasks: &[Task]) -> String {
    let seen = |task: &Task| {
        let episode = E::start(task).expect("a task that can be begun");
        episode.observe(&Seat::new("player"))
    };
    format!("{:016x}", fnv(tasks.iter().map(seen).collect::<String>().as_bytes()))
}

/// Told before each check how many are done, how many there are, and which one begins.
pub type Watch<'w> = &'w dyn Fn(usize, usize, &'static str);

/// How much is tried, and with which settings.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Settings that are not left at their defaults.
    pub settings: Vec<(String, Value)>,
    /// Dataset records to make tasks of, for environments that are built on
    /// them; used in turn.
    pub entries: Vec<String>,
    /// Tasks per split.
    pub tasks: u32,
    /// Actions in a walk.
    pub steps: usize,
}

impl Default for Scope {
    fn default() -> Self {
        Scope { settings: Vec::new(), entries: Vec::new(), tasks: 4, steps: 60 }
    }
}

impl Scope {
    /// Use another value than the default for one setting.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.settings.push((name.to_owned(), value.into()));
        self
    }

    /// Check an environment.
    pub fn check_environment(&self, environment: &dyn EnvironmentUnderTest) -> Report {
        self.watch_environment(environment, &|_, _, _| {})
    }

    /// Check an environment, and say before each check which it is.
    pub fn watch_environment(
        &self,
        environment: &dyn EnvironmentUnderTest,
        watch: Watch<'_>,
    ) -> Report {
        environment::check(environment, self, watch)
    }

    /// Check a workflow.
    pub fn check_workflow(&self, workflow: &dyn WorkflowUnderTest) -> Report {
        workflow::check(workflow, self)
    }

    /// The dataset record of a task.
    fn entry(&self, seed: u32) -> Option<String> {
        let count = self.entries.len().max(1);
        self.entries.get(seed as usize % count).cloned()
    }

    fn settings(&self, declared: &[Setting]) -> Vec<Configured> {
        let given = self.settings.iter();
        given.fold(settings::defaults(declared), |all, (name, value)| {
            settings::with(all, name, value.clone())
        })
    }
}
