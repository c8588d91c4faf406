//! Everything a configuration names, loaded and checked against each other:
//! families of tasks, roles and policies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::family::{Family, FamilyError, set_families};
use crate::rollout::{Demonstrator, Policies, RoleMap, RoleMapError};
use troupe_core::config::{Config, MixConfig, PolicyConfig, SamplingScheme, TrainConfig};
use troupe_core::error::{Coded, ExitCode};
use troupe_core::seed::Seed;
use troupe_core::storage::{StorageError, read_json};
use troupe_core::trajectory::Author;
use troupe_guests::plugin::{Plugin, Split};
use troupe_guests::scenario::{Next, Scenario};
use troupe_model::{Device, Policy, PolicyError, RemoteEngine, RemotePolicy, Speaker};
use troupe_sandbox::loading::bind_grants;
use troupe_tinker::{Conducts, TinkerFailure, TinkerPolicy};
use troupe_trainer::ranks::Ranks;

/// The file in which a checkpoint says where a distant policy is kept.
pub(crate) const KEPT: &str = "tinker.json";
/// Tasks whose texts are looked through for words.
const TASKS_FOR_WORDS: u32 = 64;
/// Demonstrations per role that are looked through for words.
const DEMONSTRATIONS_FOR_WORDS: usize = 256;

/// The families, roles and policies of a run.
pub struct Team {
    /// The kinds of tasks; one at least.
    pub families: Vec<Family>,
    /// Role → policy.
    pub role_map: RoleMap,
    /// The policies the role map names, but for those on servers.
    pub policies: Policies,
    /// Engines on servers, by the policy in training that each draws answers for.
    pub engines: BTreeMap<String, Arc<RemoteEngine>>,
    /// Policies that servers have and train, once they are there.
    pub distant: BTreeMap<String, Arc<TinkerPolicy>>,
    /// How those are spoken to.
    speakers: BTreeMap<String, Speaker>,
    /// The processes that play and learn together.
    pub ranks: Ranks,
}

/// Why there is no team.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// The families of tasks cannot be set up.
    #[error(transparent)]
    Family(#[from] FamilyError),
    /// The roles cannot be filled.
    #[error(transparent)]
    RoleMap(#[from] RoleMapError),
    /// A policy cannot be loaded or made.
    #[error("the policy `{name}` cannot be used: {reason}")]
    Policy {
        /// Its name.
        name: String,
        /// Why.
        reason: PolicyError,
    },
    /// A policy cannot be made, or brought back, on the server that is to train it.
    #[error("the policy `{name}` cannot be had at {url}: {failure}")]
    Distant {
        /// Its name.
        name: String,
        /// The server.
        url: String,
        /// Why.
        failure: TinkerFailure,
    },
    /// A server is told by one process what to do.
    #[error(
        "the policy `{policy}` is trained over Tinker's wire, which a run of several processes \
         cannot do; run one"
    )]
    DistantRanks {
        /// The policy.
        policy: String,
    },
    /// What a checkpoint says of a policy cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
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
    /// A policy that answers here cannot be asked while it or another learns here.
    #[error(
        "`rollout.staleness` cannot be 1: the policy `{policy}` answers here, and answers are \
         drawn ahead on servers only; give it a `sampler`, or leave the setting out"
    )]
    Stale {
        /// The policy.
        policy: String,
    },
    /// Processes play together.
    #[error(
        "`rollout.staleness` cannot be 1 in a run of several processes; leave the setting out, or \
         run one"
    )]
    StaleRanks,
}

impl Coded for TeamError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            TeamError::Family(error) => error.code(),
            TeamError::RoleMap(error) => error.code(),
            TeamError::Policy { reason, .. } => reason.code(),
            TeamError::Distant { failure, .. } => failure.code(),
            TeamError::Storage(error) => error.code(),
            TeamError::DistantRanks { .. } => Some(ExitCode::Usage),
            TeamError::Tokenizer { .. } => Some(ExitCode::Policy),
            TeamError::Stale { .. } | TeamError::StaleRanks => Some(ExitCode::Usage),
        }
    }
}

impl Team {
    /// Load everything.
    pub fn assemble(config: &Config, device: Device) -> Result<Team, TeamError> {
        let families = set_families(config)?;
        let seats = roles(&families);
        let named: Vec<String> = config.policies.keys().cloned().collect();
        let mut role_map = RoleMap::new(&config.roles, &seats, &named)?;
        if config.rollout.scheme == SamplingScheme::CrossPolicy {
            add_stand_ins(&mut role_map, config);
        }
        let words = vocabulary(&families, config);
        let mut loader = Loader { config, words: &words, device, bases: BTreeMap::new() };
        let (mut policies, mut speakers) = (BTreeMap::new(), BTreeMap::new());
        for name in role_map.policies().into_keys() {
            let failed = |reason| TeamError::Policy { name: name.clone(), reason };
            if let Some(of) = config.source_of(&name)
                && !role_map.policies().contains_key(of)
            {
                let of = of.to_owned();
                return Err(RoleMapError::IdleSource { policy: name, of }.into());
            }
            if !config.trains(&name) {
                role_map.freeze(&name);
            }
            if let Some(remote) = config.policies.get(&name).and_then(|p| p.remote.as_ref()) {
                let remote = RemotePolicy::connect(&name, remote).map_err(failed)?;
                role_map.connect(&name, Arc::new(remote));
                continue;
            }
            if let Some(tinker) = config.policies.get(&name).and_then(|p| p.tinker.as_ref()) {
                let mut speaker = Speaker::load(&tinker.tokenizer).map_err(failed)?;
                if let Some(chat) = &config.policies[&name].chat {
                    speaker.set_chat_options(chat.into());
                }
                let unknown = speaker.unknown_words(&words.join(" "));
                check_tokenizer(&name, &unknown, &families, &words)?;
                speakers.insert(name, speaker);
                continue;
            }
            let policy = loader.load(&name).map_err(failed)?;
            check_tokenizer(&name, &policy.unknown_words(&words.join(" ")), &families, &words)?;
            policies.insert(name, policy);
        }
        let (engines, distant, ranks) = (BTreeMap::new(), BTreeMap::new(), Ranks::alone());
        Ok(Team { families, role_map, policies, engines, distant, speakers, ranks })
    }

    /// Have the servers make those policies that they are to have, or bring them back; if they
    /// are to `learn`, it is found out what the servers do. Those that are there are left alone.
    ///
    /// # Errors
    /// If a server does not answer, or cannot be right for the configuration.
    pub fn open_distant(&mut self, config: &Config, learn: bool) -> Result<(), TeamError> {
        let mut conducts = Conducts::new();
        let speakers: Vec<(String, Speaker)> = (self.speakers.iter())
            .filter(|(name, _)| !self.distant.contains_key(*name))
            .map(|(name, speaker)| (name.clone(), speaker.clone()))
            .collect();
        for (name, speaker) in speakers {
            let Some(tinker) = config.policies.get(&name).and_then(|it| it.tinker.as_ref()) else {
                continue;
            };
            if !self.ranks.is_alone() {
                return Err(TeamError::DistantRanks { policy: name });
            }
            let is_there = |name: &&String| {
                let other = config.policies.get(*name).and_then(|it| it.tinker.as_ref());
                other.is_some_and(|other| other.url == tinker.url)
            };
            let there = self.speakers.keys().filter(is_there).count();
            let learning = learn.then_some((&config.train, there));
            let policy =
                Arc::new(distant_policy(config, (&name, speaker), learning, &mut conducts)?);
            self.role_map.connect(&name, policy.clone());
            self.distant.insert(name, policy);
        }
        Ok(())
    }

    /// Find the servers that are to draw answers while their policies are trained; those that are
    /// found already are not asked again.
    ///
    /// # Errors
    /// If one does not answer or cannot do its part.
    pub fn find_engines(&mut self, config: &Config) -> Result<(), TeamError> {
        let sampler_of = |name: &String| config.policies.get(name)?.sampler.as_ref();
        for (name, policy) in self.policies.iter().filter(|(name, _)| config.trains(name)) {
            let Some(sampler) = sampler_of(name).filter(|_| !self.engines.contains_key(name))
            else {
                continue;
            };
            let beside = self.policies.iter().filter(|(other, _)| {
                sampler_of(other).is_some_and(|other| other.url == sampler.url)
            });
            // While one version answers the next one is loaded.
            let adapters = 2 * beside.clone().count();
            let rank = beside.map(|(_, other)| other.adapter_rank()).max().unwrap_or(0);
            let engine = RemoteEngine::connect(sampler, policy, (adapters, rank));
            let engine =
                engine.map_err(|reason| TeamError::Policy { name: name.clone(), reason })?;
            self.engines.insert(name.clone(), Arc::new(engine));
        }
        Ok(())
    }

    /// Have every snapshot that is due after `step` be what its source is now.
    ///
    /// # Errors
    /// If there is no memory for a copy.
    pub fn take_snapshots(&mut self, config: &Config, step: usize) -> Result<(), PolicyError> {
        let names: Vec<String> = self.policies.keys().cloned().collect();
        for name in names {
            let Some(source) = config.source_of(&name) else { continue };
            let is_due = step.is_multiple_of(config.policies[&name].every);
            if let Some(source) = self.policies.get(source).filter(|_| is_due) {
                let snapshot = source.duplicate()?;
                self.policies.insert(name, snapshot);
            }
        }
        Ok(())
    }

    /// The names of all roles, each once.
    pub fn roles(&self) -> Vec<String> {
        roles(&self.families)
    }

    /// The configuration with everything that was left to the plugins filled in.
    pub fn resolve(&self, config: &Config) -> Config {
        let entries = config.families().into_iter().zip(&self.families);
        let families = entries.map(|(entry, family)| resolved(entry, &family.scenario)).collect();
        let mut config = config.clone().with_families(families);
        let plugins: Vec<&Plugin> =
            self.families.iter().flat_map(|family| family.scenario.plugins()).collect();
        bind_grants(&mut config, &plugins);
        let mut files: Vec<PathBuf> = Vec::new();
        // The others bring interpreters, perhaps.
        for file in plugins
            .iter()
            .map(|plugin| plugin.file())
            .chain(config.plugins.files.iter().map(PathBuf::as_path))
        {
            if files.iter().all(|known| known.file_stem() != file.file_stem()) {
                files.push(file.to_owned());
            }
        }
        config.plugins.files = files;
        if let [only] = &self.families[..] {
            config.rollout.max_turns = only.scenario.max_turns;
        }
        for name in self.policies.keys() {
            config.policies.entry(name.clone()).or_default();
        }
        if let Some(policy) = self.policies.values().next() {
            let suited = policy.device().suited_dtype();
            for dtype in config.policies.values_mut().filter_map(|policy| policy.dtype.as_mut()) {
                *dtype = dtype.settle(suited).into();
            }
        }
        config
    }
}

/// A policy on its server: fresh, or as a checkpoint has it.
fn distant_policy(
    config: &Config,
    (name, speaker): (&str, Speaker),
    learning: Option<(&TrainConfig, usize)>,
    conducts: &mut Conducts,
) -> Result<TinkerPolicy, TeamError> {
    let own = config.policies.get(name).and_then(|policy| policy.tinker.clone());
    let tinker = own.unwrap_or_default();
    let seed = Seed::new(config.run.seed).named("policy").named(name).named("adapter");
    let (name, url) = (name.to_owned(), tinker.url.clone());
    let failed = |failure| TeamError::Distant { name, url, failure };
    let policy = match TinkerPolicy::open(&tinker, speaker, learning, conducts, seed) {
        Ok(policy) => policy,
        Err(failure) => return Err(failed(failure)),
    };
    if let Some(folder) = &tinker.path {
        policy.restore(&read_json(&folder.join(KEPT))?).map_err(failed)?;
    }
    Ok(policy)
}

/// Write the adapter of a policy that a server has, as a checkpoint has it, into a folder that
/// `peft` reads.
///
/// # Errors
/// If the server does not answer or no longer has that state, or the folder cannot be written.
pub fn export_distant(config: &Config, name: &str, folder: &Path) -> Result<(), TeamError> {
    let tokenizer = config.policies.get(name).and_then(|it| Some(&it.tinker.as_ref()?.tokenizer));
    let failed = |reason| TeamError::Policy { name: name.to_owned(), reason };
    let speaker = Speaker::load(tokenizer.map_or(Path::new(""), |it| it)).map_err(failed)?;
    let policy = distant_policy(config, (name, speaker), None, &mut Conducts::new())?;
    let exported = policy.export(folder).map_err(failed);
    // What is left is dropped by the server in time.
    let _ = policy.close();
    exported
}

/// What `--print-config` shows of policies that are loaded: their own shapes.
pub fn with_shapes(mut config: Config, team: &Team) -> Config {
    let loaded = |policy: &PolicyConfig| policy.path.is_some() || policy.base.is_some();
    for (name, policy) in &mut config.policies {
        let Some(model) = team.policies.get(name).filter(|_| loaded(policy)) else { continue };
        let shape = model.config();
        policy.hidden_size = shape.hidden_size;
        policy.layers = shape.num_hidden_layers;
        policy.heads = shape.num_attention_heads;
        policy.key_value_heads = shape.num_key_value_heads;
        policy.head_size = shape.head_dim;
        policy.intermediate_size = shape.intermediate_size;
        policy.rope_theta = shape.rope_theta();
    }
    config
}

/// A family's entry with everything that was left to its plugins filled in.
fn resolved(entry: MixConfig, scenario: &Scenario) -> MixConfig {
    MixConfig {
        family: Some(scenario.family.clone()),
        environment: Some(scenario.environment.name().to_owned()),
        workflow: Some(scenario.workflow.name().to_owned()),
        settings: scenario.environment_settings.to_table(),
        workflow_settings: scenario.workflow_settings.to_table(),
        ..entry
    }
}

/// The names of all roles, each once.
fn roles(families: &[Family]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for role in families.iter().flat_map(|family| family.scenario.roles()) {
        if !names.contains(&role.name) {
            names.push(role.name.clone());
        }
    }
    names
}

/// Have the snapshots of every policy that plays answer in its place, too.
fn add_stand_ins(role_map: &mut RoleMap, config: &Config) {
    let playing = role_map.policies();
    for name in config.policies.keys() {
        let source = config.source_of(name).filter(|source| playing.contains_key(*source));
        source.into_iter().for_each(|source| role_map.add_stand_in(source, name));
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
        // A snapshot begins as what it is a snapshot of begins as.
        let name = self.config.source_of(name).unwrap_or(name);
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
            Some(path) => {
                let suited = self.device.suited_dtype();
                let dtype = settings.dtype.map(|choice| choice.settle(suited));
                Policy::load_in(path, dtype, self.device)
            }
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
pub fn vocabulary(families: &[Family], config: &Config) -> Vec<String> {
    let mut words: BTreeSet<String> = BTreeSet::new();
    for family in families {
        words.extend(family.scenario.workflow_configuration.vocabulary.iter().cloned());
        for scenario in family.rungs.iter().chain([&family.scenario]) {
            words.extend(scenario.environment_configuration.vocabulary.iter().cloned());
        }
        read_tasks(&family.scenario, config, &mut |text| {
            words.extend(text.split_whitespace().map(str::to_owned));
        });
    }
    words.into_iter().collect()
}

/// What policies are told and should answer in some training tasks.
fn read_tasks(scenario: &Scenario, config: &Config, read: &mut dyn FnMut(&str)) {
    for task in 0..TASKS_FOR_WORDS {
        // A task that fails will be void in the run, too; here it only has no words.
        let Ok(start) = scenario.begin(Split::Train, task) else { continue };
        let Next::Asked(position) = start.next else { continue };
        let prompts = position.due.iter().flat_map(|due| due.messages.iter());
        prompts.filter(|message| message.author == Author::User).for_each(|m| read(&m.text));
    }
    let seed = Seed::new(config.run.seed).named("vocabulary");
    let demonstrations = Demonstrator::new(scenario, seed, config.imitation.exploration)
        .take(DEMONSTRATIONS_FOR_WORDS)
        .unwrap_or_default();
    for demonstration in demonstrations {
        read(&demonstration.text);
        let prompt = demonstration.prompt.iter().filter(|message| message.author == Author::User);
        prompt.for_each(|message| read(&message.text));
    }
}

fn check_tokenizer(
    name: &str,
    unknown: &[String],
    families: &[Family],
    words: &[String],
) -> Result<(), TeamError> {
    if unknown.is_empty() {
        return Ok(());
    }
    let examples: Vec<String> = unknown.iter().take(3).map(|word| format!("`{word}`")).collect();
    let names: Vec<&str> =
        families.iter().map(|family| family.scenario.environment.name()).collect();
    Err(TeamError::Tokenizer {
        name: name.to_owned(),
        environment: names.join("`, `"),
        unknown: unknown.len(),
        words: words.len(),
        examples: examples.join(", "),
    })
}
