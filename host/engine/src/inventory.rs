//! What a run is made of, taken down as it begins.

use std::collections::BTreeMap;
use std::sync::Arc;

use troupe_core::config::Config;
use troupe_core::provenance::Build;
use troupe_core::storage::{StorageError, digest_file};
use troupe_guests::foreign::ForeignEnvironment;
use troupe_guests::plugin::Plugin;
use troupe_guests::records::RecordsEntry;
use troupe_guests::scenario::Scenario;
use troupe_model::Device;
use troupe_sandbox::loading::interpreters;
use troupe_tinker::{Conduct, TinkerPolicy};
use troupe_training::manifest::{
    Manifest, PluginEntry, PolicyEntry, ServerEntry, Session, Settled, processor,
};
use troupe_training::team::Team;
use troupe_training::training::digests_of_tables;

/// What the run is made of, where it begins or goes on after a step.
pub(super) fn manifest(
    config: &Config,
    settled: Settled,
    after: usize,
    team: &Team,
    device: Device,
) -> anyhow::Result<Manifest> {
    let mut policies = Vec::new();
    let critics = config.critics().map(|(name, _)| (name.clone(), Vec::new()));
    for (name, roles) in team.role_map.policies().into_iter().chain(critics) {
        let (digest, parameters) = match team.role_map.remotes().get(&name) {
            Some(remote) => (remote.identity(), 0),
            None => {
                let policy = &team.policies[&name];
                (policy.digest()?, policy.parameter_count())
            }
        };
        policies.push(PolicyEntry { name, roles, digest, parameters });
    }
    let plugins = plugins(team);
    let records = team.families.iter().filter_map(|family| family.scenario.records.as_ref());
    let mut interpreters = interpreters(config)?;
    interpreters.retain(|_, digest| plugins.iter().all(|plugin| plugin.digest != *digest));
    let mut components = team.families.iter().flat_map(|family| family.scenario.plugins());
    let corpus = components.find_map(|plugin| plugin.granted().corpus.as_ref());
    Ok(Manifest {
        host: env!("CARGO_PKG_VERSION").to_owned(),
        builds: vec![Build::this_with_digest()?],
        sessions: vec![Session::of(config, after, team.ranks.world())],
        begun_as: None,
        seed: config.run.seed,
        device: device.to_string(),
        processor: processor(),
        plugins,
        servers: servers(team),
        interpreters,
        corpus: corpus.map(|corpus| corpus.digests().clone()).unwrap_or_default(),
        records: records
            .map(|records| records.entry())
            .fold(RecordsEntry::default(), RecordsEntry::and),
        tables: tables(config)?,
        policies,
        distant: conducts(team),
        settled,
        config: serde_json::to_value(config)?,
    })
}

/// The tables that are learned from, and those that say which of several policies answers.
fn tables(config: &Config) -> Result<BTreeMap<String, String>, StorageError> {
    let mut tables = digests_of_tables(&config.rollout.tables)?;
    for (name, ensemble) in config.ensembles() {
        if let Some(path) = &ensemble.table {
            tables.insert(format!("policies.{name}.ensemble.table"), digest_file(path)?);
        }
    }
    Ok(tables)
}

/// What servers were found to do with the policies that they train.
fn conducts(team: &Team) -> BTreeMap<String, Conduct> {
    let conduct = |(name, policy): (&String, &Arc<TinkerPolicy>)| {
        Some((name.clone(), policy.conduct()?.clone()))
    };
    team.distant.iter().filter_map(conduct).collect()
}

/// The environments on servers.
fn servers(team: &Team) -> Vec<ServerEntry> {
    let environments = team.families.iter().map(|family| &family.scenario.environment);
    let entry = |foreign: &ForeignEnvironment| ServerEntry {
        name: foreign.description().name.clone(),
        version: foreign.description().version.clone(),
        address: foreign.address(),
        isolated: false,
        reproducible: false,
        forks: foreign.unforkable().is_none(),
    };
    environments.filter_map(|environment| environment.foreign().map(entry)).collect()
}

/// The components of the environment and the workflow of every family, each once.
fn plugins(team: &Team) -> Vec<PluginEntry> {
    let entry = |name: &str, version: &str, plugin: &Plugin| PluginEntry {
        name: name.to_owned(),
        version: version.to_owned(),
        digest: plugin.digest().to_owned(),
    };
    let mut entries = Vec::new();
    for Scenario { environment, workflow, .. } in
        team.families.iter().map(|family| &*family.scenario)
    {
        let (rules, order) = (environment.description(), workflow.description());
        let rules =
            environment.plugin().map(|plugin| entry(environment.name(), &rules.version, plugin));
        let order = entry(workflow.name(), &order.version, workflow.plugin());
        for entry in rules.into_iter().chain([order]) {
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
    }
    entries
}

/// A run that uses nothing but its configuration.
#[cfg(test)]
pub(super) fn example(config: &Config) -> Manifest {
    Manifest {
        host: "0.1.0".to_owned(),
        builds: Vec::new(),
        sessions: vec![Session::of(config, 0, 1)],
        begun_as: None,
        seed: config.run.seed,
        device: Device::cpu().to_string(),
        processor: processor(),
        plugins: Vec::new(),
        servers: Vec::new(),
        interpreters: BTreeMap::new(),
        records: RecordsEntry::default(),
        corpus: BTreeMap::new(),
        tables: BTreeMap::new(),
        policies: Vec::new(),
        distant: BTreeMap::new(),
        settled: Settled::of(config),
        config: serde_json::to_value(config).unwrap_or_default(),
    }
}
