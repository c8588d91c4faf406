//! Everything a configuration names, loaded and checked against each other:
//! families of tasks, roles and policies.

mod critics;
mod distant;
mod ensembles;
mod error;
mod loader;
mod words;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::family::{Family, set_families};
use crate::rollout::{Policies, RoleMap, RoleMapError};
use crate::situations::SituationTable;
use troupe_core::config::{Config, Dtype, MixConfig, PolicyConfig, SamplingScheme};
use troupe_core::oci::OciReference;
use troupe_guests::plugin::Plugin;
use troupe_guests::scenario::Scenario;
use troupe_model::{Device, PolicyError, RemoteEngine, Speaker};
use troupe_sandbox::loading::bind_grants;
use troupe_tinker::TinkerPolicy;
use troupe_trainer::ranks::Ranks;

use critics::check_critics;
pub(crate) use distant::KEPT;
pub use distant::export_distant;
pub use error::TeamError;
use loader::{Connect, Loader, connect};
pub use words::vocabulary;
use words::{declared, words_of_tasks};

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
        Team::with_words(config, device, vocabulary, connect)
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
        Team::with_words(config, device, words, connect)
    }

    fn with_words(
        config: &Config,
        device: Device,
        words: impl FnOnce(&[Family], &Config) -> Vec<String>,
        connect: Connect,
    ) -> Result<Team, TeamError> {
        let families = set_families(config)?;
        let names = roles(&families);
        let config = &config.clone().with_implied_policies(&names);
        let mut team = Team::vacant(cast(config, &names)?, families);
        let words = words(&team.families, config);
        let mut loader = Loader::new(config, &words, device, connect);
        let critics = config.critics().map(|(name, _)| name.clone());
        for name in team.role_map.policies().into_keys().chain(critics) {
            team.fill(name, &mut loader)?;
        }
        check_critics(config, &team.families, &team.policies)?;
        team.role_map.declare(declared(&team.families));
        check_allowed(config, &team.role_map, &team.policies)?;
        team.settle_ensembles(config)?;
        Ok(team)
    }

    /// Roles without anybody who plays them.
    fn vacant(role_map: RoleMap, families: Vec<Family>) -> Team {
        Team {
            families,
            role_map,
            policies: Policies::new(),
            engines: BTreeMap::new(),
            distant: BTreeMap::new(),
            situations: BTreeMap::new(),
            speakers: BTreeMap::new(),
            ranks: Ranks::alone(),
        }
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
            config.policies.values_mut().for_each(|policy| settle_dtype(policy, suited));
        }
        config
    }
}

/// Put what `auto` stands for in its place. Weights that are made here are of 32 bits everywhere.
fn settle_dtype(policy: &mut PolicyConfig, suited: Dtype) {
    let suited = if policy.path.is_some() { suited } else { Dtype::Float32 };
    policy.dtype = policy.dtype.map(|choice| choice.settle(suited).into());
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

/// Which policy plays which role, as the configuration has it.
fn cast(config: &Config, names: &[String]) -> Result<RoleMap, RoleMapError> {
    let named: Vec<String> = config.policies.keys().cloned().collect();
    let mut role_map = RoleMap::new(&config.roles, names, &named)?;
    let playing = role_map.policies().into_iter().find(|(name, _)| config.is_critic(name));
    if let Some((policy, roles)) = playing {
        return Err(RoleMapError::Critic { policy, role: roles.join("`, `") });
    }
    for role in config.advantage.roles.keys() {
        role_map.check_role(role)?;
    }
    role_map.check_steps(&config.advantage.then)?;
    if config.rollout.scheme == SamplingScheme::CrossPolicy {
        add_stand_ins(&mut role_map, config);
    }
    ensembles::gather(config, &mut role_map);
    Ok(role_map)
}

/// Have the snapshots of every policy that plays answer in its place, too.
fn add_stand_ins(role_map: &mut RoleMap, config: &Config) {
    let playing = role_map.policies();
    for name in config.policies.keys() {
        let source = config.source_of(name).filter(|source| playing.contains_key(*source));
        source.into_iter().for_each(|source| role_map.add_stand_in(source, name));
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::config::DtypeChoice;

    #[test]
    fn what_suits_a_device_is_written_down_for_checkpoints_and_not_for_random_weights() {
        let settled = |path: Option<&str>, dtype| {
            let path = path.map(PathBuf::from);
            let mut policy = PolicyConfig { path, dtype, ..PolicyConfig::default() };
            settle_dtype(&mut policy, Dtype::Bfloat16);
            policy.dtype
        };
        let auto = Some(DtypeChoice::Auto);
        assert_eq!(settled(Some("qwen3"), auto), Some(DtypeChoice::Bfloat16));
        assert_eq!(settled(None, auto), Some(DtypeChoice::Float32));
        let said = Some(DtypeChoice::Bfloat16);
        assert_eq!(settled(None, said), said);
        assert_eq!(settled(None, None), None);
    }

    #[test]
    fn a_critic_plays_no_role_by_its_name_alone_or_by_the_default() {
        let names = ["planner", "executor"].map(str::to_owned);
        let cast = |settings: [&str; 2]| {
            let whole = ["rollout.scheme=trajectory", "advantage.estimator=turn-grpo"];
            let settings: Vec<String> =
                whole.iter().chain(&settings).map(ToString::to_string).collect();
            let config = Config::load(None, &settings).unwrap().with_implied_policies(&names);
            cast(&config, &names).err().map(|error| error.to_string()).unwrap_or_default()
        };
        let per_role = "roles=per-role";
        let error = cast([per_role, "policies.planner.learns=preference"]);
        assert!(error.contains("`planner` is a critic") && error.contains("gives it"), "{error}");
        let error = cast(["roles=shared", "policies.default.learns=preference"]);
        assert!(error.contains("`shared` is a critic"), "{error}");
        assert_eq!(cast([per_role, "policies.critic.learns=preference"]), "");
    }
}
