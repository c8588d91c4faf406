//! Everything a configuration names, loaded and checked against each other:
//! environment, workflow, roles and policies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::config::{Config, PolicyConfig};
use crate::loading::{LoadError, load_plugins};
use crate::plugin::{EnvironmentPlugin, PluginError, PluginFailure, Split};
use crate::policy::{Device, Policy, PolicyError, RemotePolicy};
use crate::records::{RecordError, Records};
use crate::rollout::{Cast, CastError, Demonstrator, Policies, Progress, Stage, offered_tools};
use crate::seed::Seed;
use crate::trajectory::Author;

/// Tasks whose texts are looked through for words.
const TASKS_FOR_WORDS: u32 = 64;
/// Demonstrations per role that are looked through for words.
const DEMONSTRATIONS_FOR_WORDS: usize = 256;

/// Who plays what, with what.
pub struct Team {
    /// Environment and workflow.
    pub stage: Stage,
    /// Role → policy.
    pub cast: Cast,
    /// The policies the cast names, but for those on servers.
    pub policies: Policies,
}

/// Why there is no team.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// A plugin cannot be loaded or does not fit.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// A plugin failed while it was being looked at.
    #[error(transparent)]
    Failure(#[from] PluginFailure),
    /// The plugins cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The records cannot be used.
    #[error(transparent)]
    Records(#[from] RecordError),
    /// The environment builds its tasks from records, and none are named.
    #[error(
        "the environment `{environment}` builds its tasks from records; name files of them with \
         `tasks.files`, or with `tasks.train`, `tasks.validation` and `tasks.test`"
    )]
    NoRecords {
        /// Its name.
        environment: String,
    },
    /// Records that nobody reads.
    #[error("the environment `{environment}` reads no records; leave out the table [tasks]")]
    UselessRecords {
        /// Its name.
        environment: String,
    },
    /// The roles cannot be filled.
    #[error(transparent)]
    Cast(#[from] CastError),
    /// A policy cannot be loaded or made.
    #[error("the policy `{name}` cannot be used: {reason}")]
    Policy {
        /// Its name.
        name: String,
        /// Why.
        reason: PolicyError,
    },
    /// A policy has no words for what it will be told.
    #[error(
        "the tokenizer of the policy `{name}` does not fit the environment `{environment}`: it \
         does not know {unknown} of {words} words, such as {examples}; make a policy for it with \
         `host policy new`, or use one with an open vocabulary"
    )]
    Tokenizer {
        /// The policy.
        name: String,
        /// The environment.
        environment: String,
        /// How many words are unknown.
        unknown: usize,
        /// How many words were tried.
        words: usize,
        /// A few of them.
        examples: String,
    },
}

/// Load the configuration's plugins and set them up with its settings.
pub fn set_stage(config: &Config) -> Result<Stage, TeamError> {
    let plugins = &config.plugins;
    let (library, _) = load_plugins(config)?;
    let environment = library.environment(plugins.environment.as_deref())?.clone();
    let workflow = library.workflow(plugins.workflow.as_deref(), &environment)?;
    let environment_settings = environment.settings(&config.environment)?;
    let environment_configuration = environment.configure(&environment_settings)?;
    let workflow_settings = workflow.settings(&config.workflow)?;
    let workflow_configuration =
        workflow.configure(&workflow_settings, &environment.description().actions)?;
    let records = open_records(config, &environment, environment_configuration.needs_records)?;
    let max_turns = match config.rollout.max_turns {
        0 => environment_configuration.max_turns as usize,
        turns => turns,
    };
    Ok(Stage {
        environment_settings,
        environment_configuration,
        workflow_settings,
        workflow_configuration,
        records,
        tools: offered_tools(&workflow),
        environment,
        workflow,
        max_turns,
        actions_per_answer: plugins.limits.actions_per_answer,
    })
}

/// The records of the configuration, if the environment builds tasks from some.
fn open_records(
    config: &Config,
    environment: &EnvironmentPlugin,
    needs_records: bool,
) -> Result<Option<Arc<Records>>, TeamError> {
    let name = || environment.name().to_owned();
    match (Records::open(&config.tasks)?, needs_records) {
        (None, true) => Err(TeamError::NoRecords { environment: name() }),
        (Some(_), false) => Err(TeamError::UselessRecords { environment: name() }),
        (records, _) => Ok(records.map(Arc::new)),
    }
}

impl Team {
    /// Load everything.
    pub fn assemble(config: &Config, device: Device) -> Result<Team, TeamError> {
        let stage = set_stage(config)?;
        let seats: Vec<String> = stage.roles().iter().map(|role| role.name.clone()).collect();
        let named: Vec<String> = config.policies.keys().cloned().collect();
        let mut cast = Cast::new(&config.roles, &seats, &named)?;
        let words = vocabulary(&stage, config)?;
        let mut loader = Loader { config, words: &words, device, bases: BTreeMap::new() };
        let mut policies = BTreeMap::new();
        for name in cast.policies().into_keys() {
            let failed = |reason| TeamError::Policy { name: name.clone(), reason };
            if !config.trains(&name) {
                cast.freeze(&name);
            }
            if let Some(remote) = config.policies.get(&name).and_then(|p| p.remote.as_ref()) {
                let guest = RemotePolicy::connect(&name, remote).map_err(failed)?;
                cast.invite(&name, Arc::new(guest));
                continue;
            }
            let policy = loader.load(&name).map_err(failed)?;
            check_tokenizer(&name, &policy, &stage, &words)?;
            policies.insert(name, policy);
        }
        Ok(Team { stage, cast, policies })
    }

    /// The configuration with everything that was left to the plugins filled in.
    pub fn resolve(&self, config: &Config) -> Config {
        let mut config = config.clone();
        let plugins = [self.stage.environment.plugin(), self.stage.workflow.plugin()];
        let known = plugins.map(|plugin| plugin.file().to_owned());
        // The others bring interpreters, perhaps.
        let others =
            |file: &PathBuf| known.iter().all(|known| known.file_stem() != file.file_stem());
        let others: Vec<PathBuf> =
            config.plugins.files.iter().filter(|file| others(file)).cloned().collect();
        config.plugins.files = known.into_iter().chain(others).collect();
        config.plugins.files.dedup();
        config.plugins.environment = Some(self.stage.environment.name().to_owned());
        config.plugins.workflow = Some(self.stage.workflow.name().to_owned());
        config.environment = self.stage.environment_settings.to_table();
        config.workflow = self.stage.workflow_settings.to_table();
        config.rollout.max_turns = self.stage.max_turns;
        for name in self.policies.keys() {
            config.policies.entry(name.clone()).or_default();
        }
        config
    }
}

/// Loads policies; a base that several share only once.
struct Loader<'a> {
    config: &'a Config,
    words: &'a [String],
    device: Device,
    bases: BTreeMap<String, Policy>,
}

impl Loader<'_> {
    fn load(&mut self, name: &str) -> Result<Policy, PolicyError> {
        let mut policy = self.load_weights(name)?;
        if let Some(chat) = &self.settings(name).chat {
            policy.set_chat_options(chat.into());
        }
        Ok(policy)
    }

    fn load_weights(&mut self, name: &str) -> Result<Policy, PolicyError> {
        let settings = self.settings(name);
        if let Some(base) = &settings.base {
            let lora = settings.lora.unwrap_or_default();
            let seed = self.seed(name).named("adapter");
            return self.base(base)?.adapt(&lora, seed);
        }
        match self.config.is_base(name) {
            true => self.base(name)?.share(),
            false => self.load_whole(name),
        }
    }

    fn base(&mut self, name: &str) -> Result<&Policy, PolicyError> {
        if !self.bases.contains_key(name) {
            let policy = self.load_whole(name)?;
            self.bases.insert(name.to_owned(), policy);
        }
        Ok(&self.bases[name])
    }

    fn load_whole(&self, name: &str) -> Result<Policy, PolicyError> {
        let settings = self.settings(name);
        match &settings.path {
            Some(path) => Policy::load_in(path, settings.dtype, self.device),
            None => Policy::random(&settings, self.words, self.seed(name), self.device),
        }
    }

    fn settings(&self, name: &str) -> PolicyConfig {
        self.config.policies.get(name).cloned().unwrap_or_default()
    }

    fn seed(&self, name: &str) -> Seed {
        Seed::new(self.config.run.seed).named("policy").named(name)
    }
}

/// Every word that policies are told or should say: those the plugins declare,
/// and those found in the texts of some training tasks.
pub fn vocabulary(stage: &Stage, config: &Config) -> Result<Vec<String>, TeamError> {
    let mut words: BTreeSet<String> = BTreeSet::new();
    words.extend(stage.environment_configuration.vocabulary.iter().cloned());
    words.extend(stage.workflow_configuration.vocabulary.iter().cloned());
    let mut read = |text: &str| words.extend(text.split_whitespace().map(str::to_owned));
    for task in 0..TASKS_FOR_WORDS {
        // A task that fails will be void in the run, too; here it only has no words.
        let Ok(start) = stage.begin(Split::Train, task) else { continue };
        let Progress::Asked(scene) = start.progress else { continue };
        let told = scene.due.iter().flat_map(|due| due.messages.iter());
        told.filter(|message| message.author == Author::User).for_each(|m| read(&m.text));
    }
    let seed = Seed::new(config.run.seed).named("vocabulary");
    let demonstrations = Demonstrator::new(stage, seed, config.imitation.exploration)
        .take(DEMONSTRATIONS_FOR_WORDS)
        .unwrap_or_default();
    for demonstration in demonstrations {
        read(&demonstration.text);
        let told = demonstration.prompt.iter().filter(|message| message.author == Author::User);
        told.for_each(|message| read(&message.text));
    }
    Ok(words.into_iter().collect())
}

fn check_tokenizer(
    name: &str,
    policy: &Policy,
    stage: &Stage,
    words: &[String],
) -> Result<(), TeamError> {
    let unknown = policy.unknown_words(&words.join(" "));
    if unknown.is_empty() {
        return Ok(());
    }
    let examples: Vec<String> = unknown.iter().take(3).map(|word| format!("`{word}`")).collect();
    Err(TeamError::Tokenizer {
        name: name.to_owned(),
        environment: stage.environment.name().to_owned(),
        unknown: unknown.len(),
        words: words.len(),
        examples: examples.join(", "),
    })
}
