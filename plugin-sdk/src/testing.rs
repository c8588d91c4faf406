//! The conformance suite: what every plugin must keep, as a list of checks.
//!
//! A plugin's own tests run it natively:
//!
//! ```
//! # use plugin_sdk::environment::{Action, Description, Environment, Outcome, Problem, Task};
//! # struct Coin;
//! # impl Environment for Coin {
//! #     fn describe() -> Description {
//! #         Description::new("coin", "0.1.0", "Say heads.").action("side", "`heads` or `tails`")
//! #     }
//! #     fn start(_: &Task) -> Result<Self, Problem> { Ok(Coin) }
//! #     fn rules(&self) -> String { "Say `heads`.".to_owned() }
//! #     fn observe(&self) -> String { "a coin".to_owned() }
//! #     fn act(&mut self, _: &str, action: &Action) -> Result<Outcome, Problem> {
//! #         Ok(match action.text.as_str() {
//! #             "heads" => Outcome::accepted().team("won", 1.0).solved(),
//! #             "tails" => Outcome::accepted().failed(),
//! #             _ => Outcome::rejected("That is no side of a coin."),
//! #         })
//! #     }
//! # }
//! let report = plugin_sdk::testing::check_environment::<Coin>();
//! report.assert_passed();
//! println!("{report}");
//! ```
//!
//! The suite itself sees plugins through [`EnvironmentUnderTest`] and
//! [`WorkflowUnderTest`], so that a host can put a finished component under the
//! same checks.

mod environment;
mod native;
mod report;
mod walk;
mod workflow;

pub use environment::{EnvironmentUnderTest, EpisodeUnderTest};
pub use native::Native;
pub use report::{Finding, Report, Verdict};
pub use workflow::{SessionUnderTest, WorkflowUnderTest};

use crate::settings::{Setting, Settings, Value};
use crate::{Environment, Workflow};

/// Check an environment with its default settings.
pub fn check_environment<E: Environment + 'static>() -> Report {
    Scope::default().check_environment(&Native::<E>::default())
}

/// Check a workflow with its default settings.
pub fn check_workflow<W: Workflow + 'static>() -> Report {
    Scope::default().check_workflow(&Native::<W>::default())
}

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
        environment::check(environment, self)
    }

    /// Check a workflow.
    pub fn check_workflow(&self, workflow: &dyn WorkflowUnderTest) -> Report {
        workflow::check(workflow, self)
    }

    fn settings(&self, declared: &[Setting]) -> Settings {
        let defaults = Settings::defaults(declared);
        self.settings.iter().fold(defaults, |all, (name, value)| all.with(name, value.clone()))
    }
}
