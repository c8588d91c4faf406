//! The conformance suite: what every plugin must keep, as a list of checks.
//!
//! A plugin's own tests run it natively, as the crate's front page shows.
//! The suite itself sees plugins through [`EnvironmentUnderTest`] and
//! [`WorkflowUnderTest`], so that a host can put a finished component under the
//! same checks.

mod environment;
mod forms;
mod garbage;
mod hunt;
mod lazy;
mod native;
mod pace;
mod phrasebook;
mod rehearsal;
mod report;
mod shrinking;
mod starts;
mod tasks;
mod team;
mod walk;
mod workflow;

pub use environment::{EnvironmentUnderTest, EpisodeUnderTest};
pub use forms::check_forms;
pub use hunt::Hunt;
pub use lazy::{Earned, Table, Voice};
pub use native::Native;
pub use rehearsal::Rehearsal;
pub use report::{Finding, Report, Reproducer, Tried, Verdict};
pub use starts::Starts;
pub use tasks::{assert_that_what_is_revealed_solves, digests_of, first_tasks, judge_answers};
pub use workflow::{SessionUnderTest, WorkflowUnderTest, kinds_beside};

use std::time::Duration;

use crate::environment::Task;
use crate::random::fnv;
use crate::settings;
use crate::types::{Configured, Domain, Problem, Seat, Setting, Value};
use crate::{Environment, Workflow};

/// The suite's version: another one may find what this one does not.
pub const SUITE: &str = "4";

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
    /// The first task's seed.
    pub from: u32,
    /// Actions in a walk.
    pub steps: usize,
    /// How long to look, about; without a limit by default.
    pub budget: Option<Duration>,
    /// Beginnings of tasks that were seen, also in other scopes.
    pub starts: Starts,
}

impl Default for Scope {
    fn default() -> Self {
        Scope {
            settings: Vec::new(),
            entries: Vec::new(),
            tasks: 4,
            from: 0,
            steps: 60,
            budget: None,
            starts: Starts::default(),
        }
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

    /// Hunt for episodes that earn much and solve nothing.
    pub fn hunt(
        &self,
        environment: &dyn EnvironmentUnderTest,
        effort: Hunt,
        watch: Watch<'_>,
    ) -> Report {
        hunt::hunt(environment, self, effort, watch)
    }

    /// Check a type under each word of its setting `observation`.
    ///
    /// # Panics
    /// If a check failed, or there is no such setting.
    pub fn assert_every_view_passes<E: Environment + 'static>(&self) {
        self.assert_every_choice_passes::<E>("observation");
    }

    /// Check a type under each word of one of its settings.
    ///
    /// # Panics
    /// If a check failed, or the setting is no choice.
    pub fn assert_every_choice_passes<E: Environment + 'static>(&self, name: &str) {
        let settings = E::describe().settings;
        let setting = settings.into_iter().find(|setting| setting.name == name);
        let Some(Domain::Choice(words)) = setting.map(|setting| setting.domain) else {
            panic!("`{name}` is no choice");
        };
        for word in &words {
            let scope = self.clone().with(name, word.as_str());
            scope.check_environment(&Native::<E>::default()).assert_passed();
        }
    }

    /// Whether an environment takes the scope's settings together, and would not refuse them.
    pub fn suits_environment(&self, environment: &dyn EnvironmentUnderTest) -> bool {
        environment::takes(environment, self)
    }

    /// Look at one episode again, with the eyes of the check that found something: under its
    /// settings, among the same tasks, and for as long as that takes.
    pub fn replay(
        &self,
        environment: &dyn EnvironmentUnderTest,
        check: &str,
        seen: &Reproducer,
    ) -> Result<Finding, Problem> {
        let settings = seen.settings.iter().map(|one| (one.name.clone(), one.value.clone()));
        let scope =
            Scope { settings: settings.collect(), from: seen.from, budget: None, ..self.clone() };
        environment::replay(environment, &scope, check, seen)
    }

    /// Check a workflow.
    pub fn check_workflow(&self, workflow: &dyn WorkflowUnderTest) -> Report {
        workflow::check(workflow, self)
    }

    /// Whether a workflow takes the scope's settings together, and would not refuse them.
    pub fn suits_workflow(&self, workflow: &dyn WorkflowUnderTest) -> bool {
        workflow::takes(workflow, self)
    }

    /// The dataset record of a task.
    fn entry(&self, seed: u32) -> Option<String> {
        let count = self.entries.len().max(1);
        self.entries.get(seed as usize % count).cloned()
    }

    /// The same scope in a later round: other tasks and, every other time, other
    /// settings, but for those that were chosen and for texts.
    #[must_use]
    pub fn elsewhere(&self, declared: &[Setting], round: u32) -> Self {
        let from = self.from.saturating_add(round.saturating_mul(self.tasks));
        let mut settings = self.settings.clone();
        let is_default = |setting: &Setting| {
            let chosen = settings.iter().find(|(name, _)| *name == setting.name);
            chosen.is_none_or(|(_, value)| *value == setting.default)
        };
        let free = declared.iter().filter(|one| one.domain != Domain::Text && is_default(one));
        let free: Vec<Setting> = free.cloned().collect();
        if round.is_multiple_of(2) {
            for Configured { name, value } in environment::combination(&free, round) {
                settings.retain(|(known, _)| *known != name);
                settings.push((name, value));
            }
        }
        Scope { settings, from, ..self.clone() }
    }

    /// Seeds of its tasks.
    fn seeds(&self) -> std::ops::Range<u32> {
        self.from..self.from.saturating_add(self.tasks)
    }

    /// All settings: its own, and the defaults of the others.
    pub fn configured(&self, declared: &[Setting]) -> Vec<Configured> {
        let given = self.settings.iter();
        given.fold(settings::defaults(declared), |all, (name, value)| {
            settings::with(all, name, value.clone())
        })
    }
}
