//! Families: the kinds of tasks of a run. Each is an environment and a workflow,
//! set up as the configuration says, and perhaps a ladder of settings that
//! training climbs.

use std::sync::Arc;

use troupe_core::config::{Config, CurriculumConfig};
use troupe_core::error::{Coded, ExitCode, suggestion};
use troupe_guests::plugin::{Split, WorkflowPlugin};
use troupe_guests::scenario::{Scenario, ScenarioError};
use troupe_sandbox::loading::{LoadError, load_plugins};

/// The kinds of tasks of a run, and how much of each there is.
#[derive(Clone)]
pub struct Family {
    /// As the configuration has it; what held-out tasks are played on.
    pub scenario: Arc<Scenario>,
    /// What training tasks are played on: the rungs of the curriculum's ladder,
    /// or the same scenario.
    pub rungs: Vec<Arc<Scenario>>,
    /// When training goes from one rung to the next.
    pub curriculum: CurriculumConfig,
    /// Share of the training tasks, in proportion to the other families'; with 0 it is examined
    /// only.
    pub weight: f64,
    /// The workflow that would play if it had been granted what it calls.
    pub passed_over: Option<WorkflowPlugin>,
}

impl Family {
    /// Whether it is learned from.
    pub fn is_trained(&self) -> bool {
        self.weight > 0.0
    }

    /// Whether its training tasks have the settings of a curriculum, and not its own.
    pub fn climbs(&self) -> bool {
        !self.curriculum.settings.is_empty()
    }

    /// Whether its tasks of this part are played. Of a family that nothing is learned from only
    /// the test tasks are: what is chosen on validation tasks is not chosen by it.
    pub fn is_played(&self, split: Split) -> bool {
        self.is_trained() || split == Split::Test
    }

    /// The part of its tasks that a run begins with.
    pub fn first_split(&self) -> Split {
        if self.is_trained() { Split::Train } else { Split::Test }
    }
}

/// Why there are no families.
#[derive(Debug, thiserror::Error)]
pub enum FamilyError {
    /// The plugins cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A plugin, its settings or its records cannot be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// An unknown family.
    #[error("there is no family `{family}`{suggestion}")]
    Unknown {
        /// The name.
        family: String,
        /// The nearest right one.
        suggestion: String,
    },
    /// A rung of the curriculum's ladder cannot be stood on.
    #[error("the curriculum of `{family}` cannot be climbed: with {settings} {reason}")]
    Rung {
        /// The family.
        family: String,
        /// The settings of the rung.
        settings: String,
        /// What the environment said.
        reason: String,
    },
}

impl Coded for FamilyError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            FamilyError::Load(error) => error.code(),
            FamilyError::Scenario(error) => error.code(),
            FamilyError::Unknown { .. } | FamilyError::Rung { .. } => Some(ExitCode::Usage),
        }
    }
}

/// Load the configuration's plugins and set up every family of tasks.
///
/// # Errors
/// If a plugin, its settings, its records or a rung of a curriculum cannot be used.
pub fn set_families(config: &Config) -> Result<Vec<Family>, FamilyError> {
    let (library, _) = load_plugins(config)?;
    let mut families = Vec::new();
    for entry in config.families() {
        let scenario = Scenario::assemble(config, &entry, config.audience(), &library)?;
        let rungs = match rungs(&scenario, &entry.curriculum, config)? {
            rungs if rungs.is_empty() => vec![Arc::new(scenario.clone())],
            rungs => rungs,
        };
        let (scenario, curriculum) = (Arc::new(scenario), entry.curriculum);
        let weight = entry.weight;
        let passed_over = match entry.workflow {
            None => scenario.passed_over(&library),
            Some(_) => None,
        };
        families.push(Family { scenario, rungs, curriculum, weight, passed_over });
    }
    Ok(families)
}

/// The scenario of the family of this name, or the first.
///
/// # Errors
/// If the families cannot be set up, or none has the name.
pub fn scenario_of(config: &Config, family: Option<&str>) -> Result<Arc<Scenario>, FamilyError> {
    let families = set_families(config)?;
    let wanted =
        families.iter().find(|known| family.is_none_or(|name| known.scenario.family == name));
    wanted.map(|family| family.scenario.clone()).ok_or_else(|| {
        let family = family.unwrap_or_default();
        let names = families.iter().map(|known| known.scenario.family.as_str());
        let suggestion = suggestion(family, names);
        FamilyError::Unknown { family: family.to_owned(), suggestion }
    })
}

/// The scenario at every step of the curriculum, the first one first; all are tried
/// now, so that none fails in the middle of a run.
fn rungs(
    scenario: &Scenario,
    curriculum: &CurriculumConfig,
    config: &Config,
) -> Result<Vec<Arc<Scenario>>, FamilyError> {
    (0..curriculum.rungs())
        .map(|rung| {
            let settings = curriculum.settings_on(rung);
            let refused = |reason: String| FamilyError::Rung {
                family: scenario.family.clone(),
                settings: settings.to_string().trim().replace('\n', ", "),
                reason,
            };
            if scenario.environment.foreign().is_some() {
                return Err(refused("settings of an environment on a server do not change".into()));
            }
            let mut all = scenario.environment_settings.to_table();
            all.extend(settings.clone());
            let environment_settings =
                scenario.environment.settings(&all).map_err(|error| refused(error.to_string()))?;
            let rung = scenario.with_settings(environment_settings, config);
            Ok(Arc::new(rung.map_err(|failure| refused(failure.to_string()))?))
        })
        .collect()
}
