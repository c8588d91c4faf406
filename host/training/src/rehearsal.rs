//! Whether a run can begin: what would end it at its beginning is said before
//! there is a folder.
//!
//! A task of each family is begun, and the warm start, if there is to be one, is
//! given some answers of the expert.

use std::collections::BTreeSet;

use crate::family::Family;
use crate::rollout::{DemonstrationError, Demonstrator};
use crate::team::Team;
use troupe_core::config::Config;
use troupe_core::error::{Coded, ExitCode};
use troupe_core::seed::Seed;
use troupe_guests::plugin::PluginFailure;
use troupe_guests::scenario::{Environment, Scenario};

/// Tasks of a family that are begun until one can be.
const TASKS: u32 = 64;
/// Answers of the expert in each role that are looked at.
const DEMONSTRATIONS: usize = 128;
/// Words that are named.
const NAMED: usize = 3;

/// Why a run would not get anywhere.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    /// No task can be begun.
    #[error("no task of `{family}` can be begun: {failure}")]
    Task {
        /// The family.
        family: String,
        /// What became of the first one.
        failure: PluginFailure,
    },
    /// Nothing would be learned.
    #[error(
        "`{policy}` is several policies that stay as they are, and no role is played by one that \
         learns; examine it with `host eval`, or give a role to a policy that is trained"
    )]
    NothingLearns {
        /// The policy.
        policy: String,
    },
    /// There is nothing to imitate.
    #[error(
        "no demonstration for the role `{role}`, with which a tiny policy would begin: the \
         environment `{environment}` has no expert whose action the workflow `{workflow}` can \
         phrase; use a language model (`policies.<name>.path`), or begin without a warm start: \
         `--set imitation.enabled=false`"
    )]
    NoExpert {
        /// The role.
        role: String,
        /// The environment's name.
        environment: String,
        /// The workflow's name.
        workflow: String,
    },
    /// The expert fails in every task.
    #[error("the expert of `{family}` cannot be imitated: {failure}")]
    Expert {
        /// The family.
        family: String,
        /// How.
        failure: PluginFailure,
    },
    /// What there is to be said is open text, and the policy knows a list of words.
    #[error(
        "the policy `{policy}` knows a list of words, and `{environment}` is answered in open text, \
         such as {examples}; {advice}"
    )]
    OpenText {
        /// The policy.
        policy: String,
        /// The environment.
        environment: String,
        /// Some words that it does not know.
        examples: String,
        /// What to do.
        advice: String,
    },
}

impl Coded for RehearsalError {
    fn code(&self) -> Option<ExitCode> {
        Some(match self {
            RehearsalError::Task { .. } | RehearsalError::Expert { .. } => ExitCode::Plugin,
            RehearsalError::NoExpert { .. } | RehearsalError::NothingLearns { .. } => {
                ExitCode::Usage
            }
            RehearsalError::OpenText { .. } => ExitCode::Policy,
        })
    }
}

/// Begins a task of each family and looks at what the warm start would learn from.
///
/// # Errors
/// If no task can be begun, nothing would be learned, or a policy that is to imitate the expert
/// could not.
pub fn rehearse(config: &Config, team: &Team) -> Result<(), RehearsalError> {
    check_learners(config, team)?;
    team.families.iter().try_for_each(check_beginning)?;
    let beginners = beginners(config, team);
    if beginners.is_empty() {
        return Ok(());
    }
    let check = |family: &Family| check_expert(config, team, &beginners, &family.scenario);
    team.families.iter().filter(|family| family.is_trained()).try_for_each(check)
}

/// The policies that can imitate: those that play and are trained.
pub fn pupils(config: &Config, team: &Team) -> BTreeSet<String> {
    let plays = |name: &&String| config.trains(name) && !config.is_critic(name);
    team.policies.keys().filter(plays).cloned().collect()
}

/// The policies that imitate the expert before they learn by themselves: those that play and know
/// nothing yet, or all that play if pretrained ones are to as well.
pub fn beginners(config: &Config, team: &Team) -> BTreeSet<String> {
    let knows_nothing = |name: &String| config.imitation.pretrained || config.is_random(name);
    let asked = pupils(config, team).into_iter().filter(knows_nothing);
    asked.filter(|_| config.imitation.enabled).collect()
}

/// Several policies in the place of one are examined, not trained.
fn check_learners(config: &Config, team: &Team) -> Result<(), RehearsalError> {
    let critic_learns = config.critics().any(|(name, _)| config.trains(name));
    let nothing_learns = team.role_map.trained_roles().is_empty() && !critic_learns;
    let ensemble = team.role_map.ensembles().keys().next().filter(|_| nothing_learns);
    ensemble.map_or(Ok(()), |policy| Err(RehearsalError::NothingLearns { policy: policy.clone() }))
}

fn check_beginning(family: &Family) -> Result<(), RehearsalError> {
    let mut first = None;
    for task in 0..TASKS {
        match family.scenario.begin(family.first_split(), task) {
            Ok(_) => return Ok(()),
            Err(failure) => first.get_or_insert(failure),
        };
    }
    let family = family.scenario.family.clone();
    first.map_or(Ok(()), |failure| Err(RehearsalError::Task { family, failure }))
}

fn check_expert(
    config: &Config,
    team: &Team,
    beginners: &BTreeSet<String>,
    scenario: &Scenario,
) -> Result<(), RehearsalError> {
    let seed = Seed::new(config.run.seed).named("rehearsal");
    let mut expert = Demonstrator::new(scenario, seed, config.imitation.exploration);
    let shown = expert.take(DEMONSTRATIONS).map_err(|error| match error {
        DemonstrationError::Plugin(failure) => {
            RehearsalError::Expert { family: scenario.family.clone(), failure }
        }
        DemonstrationError::NoExpert { role, environment, workflow } => {
            RehearsalError::NoExpert { role, environment, workflow }
        }
    })?;
    let learners = team.policies.iter().filter(|(name, _)| beginners.contains(*name));
    for (name, policy) in learners {
        let of_policy = shown.iter().filter(|d| team.role_map.policy_of(&d.role) == name);
        let unknown: BTreeSet<String> =
            of_policy.flat_map(|d| policy.unknown_words(&d.text)).collect();
        if unknown.is_empty() {
            continue;
        }
        let examples: Vec<String> =
            unknown.iter().take(NAMED).map(|word| format!("`{word}`")).collect();
        return Err(RehearsalError::OpenText {
            policy: name.clone(),
            environment: scenario.environment.name().to_owned(),
            examples: examples.join(", "),
            advice: advice(&scenario.environment, name),
        });
    }
    Ok(())
}

/// A preset with which all is said in words of a list, or else a policy that knows more.
fn advice(environment: &Environment, policy: &str) -> String {
    let description = environment.description();
    let speaks_words = |preset: &String| {
        let settings = environment.preset(preset).ok();
        let configured = settings.and_then(|settings| environment.configure(&settings).ok());
        configured.is_some_and(|configured| !configured.vocabulary.is_empty())
    };
    let mut names = description.presets().into_iter().map(|preset| preset.name);
    match names.find(speaks_words) {
        Some(preset) => format!(
            "have it speak in words with `--set environment.preset={preset}`, or use a language \
             model (`policies.{policy}.path`)"
        ),
        None => format!(
            "that takes a language model: `--set policies.{policy}.path=FOLDER` (docs/policies.md)"
        ),
    }
}
