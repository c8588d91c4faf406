//! Everything a configuration names, loaded and checked against each other:
//! families of tasks, roles and policies.

mod critics;
mod distant;
mod ensembles;
mod error;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::family::{Family, set_families};
use crate::rollout::{Demonstrator, Policies, RoleMap, RoleMapError};
use crate::situations::SituationTable;
use troupe_core::config::{Config, MixConfig, PolicyConfig, RemoteConfig, SamplingScheme};
use troupe_core::oci::OciReference;
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Author, Message};
use troupe_guests::plugin::{Plugin, Split};
use troupe_guests::scenario::{Next, Scenario};
use troupe_model::{Device, Policy, PolicyError, RemoteEngine, RemotePolicy, Speaker};
use troupe_sandbox::loading::bind_grants;
use troupe_tinker::TinkerPolicy;
use troupe_trainer::ranks::Ranks;

use critics::check_critics;
pub(crate) use distant::KEPT;
pub use distant::export_distant;
pub use error::TeamError;

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
    /// What policies that are several others are chosen by, where it is a table.
    pub situations: BTreeMap<String, SituationTable>,
    /// How those on servers are spoken to.
    speakers: BTreeMap<String, Speaker>,
    /// The processes that play and learn together.
    pub ranks: Ranks,
}

impl Team {
    /// Load everything.
    ///
    /// # Errors
    /// If a plugin or a policy cannot be loaded, or they do not fit each other or the roles.
    pub fn assemble(config: &Config, device: Device) -> Result<Team, TeamError> {
        Team::with_words(config, device, vocabulary, ask)
    }

    /// The same with no server asked for a policy, to look at what is here: nobody plays in the
    /// place of policies that servers answer for.
    ///
    /// # Errors
    /// As [`Team::assemble`].
    pub fn offline(config: &Config, device: Device) -> Result<Team, TeamError> {
        Team::with_words(config, device, vocabulary, |_, _| Ok(None))
    }

    /// Enough to say what a run would be: nobody is watched to learn words, so policies that are
    /// made here know fewer.
    ///
    /// # Errors
    /// As [`Team::assemble`].
    pub fn outline(config: &Config, device: Device) -> Result<Team, TeamError> {
        let words =
            |families: &[Family], _: &Config| words_of_tasks(families).into_iter().collect();
        Team::with_words(config, device, words, ask)
    }

    fn with_words(
        config: &Config,
        device: Device,
        words: impl FnOnce(&[Family], &Config) -> Vec<String>,
        ask: impl Fn(&str, &RemoteConfig) -> Result<Option<RemotePolicy>, PolicyError>,
    ) -> Result<Team, TeamError> {
        let families = set_families(config)?;
        let names = roles(&families);
        let config = &config.clone().with_implied_policies(&names);
        let named: Vec<String> = config.policies.keys().cloned().collect();
        let mut role_map = RoleMap::new(&config.roles, &names, &named)?;
        for role in config.advantage.roles.keys() {
            role_map.check_role(role)?;
        }
        role_map.check_steps(&config.advantage.then)?;
        if config.rollout.scheme == SamplingScheme::CrossPolicy {
            add_stand_ins(&mut role_map, config);
        }
        ensembles::gather(config, &mut role_map);
        let words = words(&families, config);
        let mut loader = Loader { config, words: &words, device, bases: BTreeMap::new() };
        let (mut policies, mut speakers) = (BTreeMap::new(), BTreeMap::new());
        let critics = config.critics().map(|(name, _)| name.clone());
        for name in role_map.policies().into_keys().chain(critics) {
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
                if let Some(remote) = ask(&name, remote).map_err(failed)? {
                    role_map.connect(&name, Arc::new(remote));
                }
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
        check_critics(config, &families, &policies)?;
        role_map.declare(declared(&families));
        check_allowed(config, &role_map, &policies)?;
        let (engines, distant, ranks) = (BTreeMap::new(), BTreeMap::new(), Ranks::alone());
        let situations = BTreeMap::new();
        let mut team =
            Team { families, role_map, policies, engines, distant, situations, speakers, ranks };
        team.settle_ensembles(config)?;
        Ok(team)
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

    /// Policies that are set and are nothing in this team: what is said of them has no effect.
    pub fn idle<'a>(&self, config: &'a Config) -> Vec<&'a str> {
        let plays =
            |name: &str| self.role_map.policies().contains_key(name) || config.is_critic(name);
        let serves = |base: &str| {
            let over = |(name, policy): (&String, &PolicyConfig)| {
                plays(name) && policy.base.as_deref() == Some(base)
            };
            config.policies.iter().any(over)
        };
        let names = config.policies.keys().map(String::as_str);
        names.filter(|name| !plays(name) && !serves(name)).collect()
    }

    /// The names of all roles, each once.
    pub fn roles(&self) -> Vec<String> {
        roles(&self.families)
    }

    /// The configuration with everything that was left to the plugins filled in.
    pub fn resolve(&self, config: &Config) -> Config {
        let entries = config.families().into_iter().zip(&self.families);
        let families = entries.map(|(entry, family)| resolved(entry, &family.scenario)).collect();
        let config = config.clone().with_families(families);
        let mut config = config.with_implied_policies(&self.roles());
        let plugins: Vec<&Plugin> =
            self.families.iter().flat_map(|family| family.scenario.plugins()).collect();
        bind_grants(&mut config, &plugins);
        let mut files: Vec<PathBuf> = Vec::new();
        for plugin in &plugins {
            if files.iter().all(|known| known != plugin.file()) {
                files.push(plugin.file().to_owned());
            }
        }
        // The others bring interpreters, perhaps.
        for file in &config.plugins.files {
            if files.iter().all(|known| known.file_stem() != file.file_stem()) {
                files.push(file.clone());
            }
        }
        for named in &config.plugins.files {
            let Ok(Some(reference)) = OciReference::of(named) else { continue };
            let pulled = reference.file();
            // The reference says more than where this machine keeps it.
            files.retain(|file| file != named);
            for file in files.iter_mut().filter(|file| Some(&**file) == pulled.as_ref()) {
                file.clone_from(named);
            }
        }
        config.plugins.files = files;
        // On a ladder every rung has the turns that its own settings take: one number for all would
        // make a resumed run another one.
        if let [only] = &self.families[..]
            && !only.climbs()
        {
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

/// Ask the server that is to answer for a policy.
fn ask(name: &str, remote: &RemoteConfig) -> Result<Option<RemotePolicy>, PolicyError> {
    RemotePolicy::connect(name, remote).map(Some)
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
    let mut words = words_of_tasks(families);
    let seed = Seed::new(config.run.seed).named("vocabulary");
    for Family { scenario, .. } in families {
        let demonstrations = Demonstrator::new(scenario, seed, config.imitation.exploration)
            .take(DEMONSTRATIONS_FOR_WORDS)
            .unwrap_or_default();
        for demonstration in demonstrations {
            add_words(&mut words, &demonstration.text);
            add_prompts(&mut words, &demonstration.prompt);
        }
    }
    words.into_iter().collect()
}

/// The same without what experts are told and say on their way.
fn words_of_tasks(families: &[Family]) -> BTreeSet<String> {
    let mut words: BTreeSet<String> = BTreeSet::new();
    for family in families {
        words.extend(family.scenario.workflow_configuration.vocabulary.iter().cloned());
        for scenario in family.rungs.iter().chain([&family.scenario]) {
            words.extend(scenario.environment_configuration.vocabulary.iter().cloned());
        }
        for task in 0..TASKS_FOR_WORDS {
            // A task that fails will be void in the run, too; here it only has no words.
            let Ok(start) = family.scenario.begin(Split::Train, task) else { continue };
            let Next::Asked(position) = start.next else { continue };
            position.due.iter().for_each(|due| add_prompts(&mut words, &due.messages));
        }
    }
    words
}

/// What a policy is told, but for its own answers.
fn add_prompts(words: &mut BTreeSet<String>, messages: &[Message]) {
    let told = messages.iter().filter(|message| message.author == Author::User);
    told.for_each(|message| add_words(words, &message.text));
}

fn add_words(words: &mut BTreeSet<String>, text: &str) {
    words.extend(text.split_whitespace().map(str::to_owned));
}

/// The words that the plugins declare; none if the language of one of them is open.
fn declared(families: &[Family]) -> Vec<String> {
    let mut words: BTreeSet<String> = BTreeSet::new();
    for family in families {
        words.extend(family.scenario.workflow_configuration.vocabulary.iter().cloned());
        for scenario in family.rungs.iter().chain([&family.scenario]) {
            let own = &scenario.environment_configuration.vocabulary;
            if own.is_empty() {
                return Vec::new();
            }
            words.extend(own.iter().cloned());
        }
    }
    words.into_iter().collect()
}

/// Refuse a policy that cannot keep to what answers of its roles may be.
fn check_allowed(
    config: &Config,
    role_map: &RoleMap,
    policies: &Policies,
) -> Result<(), TeamError> {
    let sampling = role_map.sampling(&config.rollout);
    for (name, roles) in role_map.policies() {
        let Some(policy) = policies.get(&name) else { continue };
        for role in roles {
            let failed = |reason| TeamError::Policy { name: name.clone(), reason };
            policy.automaton(sampling.of(&role)).map_err(failed)?;
        }
    }
    Ok(())
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
