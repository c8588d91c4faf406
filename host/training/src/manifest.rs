//! What a run is made of, written down when it begins and compared when it is
//! resumed: a run goes on as what it was, or says what is different.

mod session;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use troupe_core::config::{Choice, Config, Grantee, rename_in_json};
use troupe_core::provenance::Build;
use troupe_core::storage::digest;
use troupe_guests::records::RecordsEntry;
use troupe_tinker::Conduct;

pub use session::Session;

/// Settings that may change while a run is stopped: they say how long it goes
/// on, where it is and what it leaves. Files are judged by their digests.
const FREE: [&str; 47] = [
    "run.name",
    "run.dir",
    "run.recorded_episodes",
    "rollout.store",
    "rollout.store_mib",
    "rollout.tables",
    "plugins.files",
    "plugins.path",
    "sandbox.interpreters",
    "sandbox.jobs",
    "retrieval.corpus",
    "tasks.files",
    "tasks.train",
    "tasks.validation",
    "tasks.test",
    "mix.*.tasks.files",
    "mix.*.tasks.train",
    "mix.*.tasks.validation",
    "mix.*.tasks.test",
    "environment.openenv",
    "environment.token_file",
    "policies.*.path",
    "policies.*.lora.path",
    "policies.*.ensemble.table",
    "policies.*.sampler.url",
    "policies.*.sampler.model",
    "policies.*.sampler.api_key_env",
    "policies.*.sampler.timeout_seconds",
    "policies.*.sampler.retries",
    "policies.*.sampler.concurrency",
    "policies.*.sampler.tolerance",
    "policies.*.tinker.url",
    "policies.*.tinker.tokenizer",
    "policies.*.tinker.path",
    "policies.*.tinker.api_key_env",
    "policies.*.tinker.timeout_seconds",
    "policies.*.tinker.retry_seconds",
    "policies.*.tinker.patience_seconds",
    "policies.*.tinker.concurrency",
    "policies.*.tinker.tolerance",
    "train.steps",
    "train.budget.completion_tokens",
    "train.budget.samples",
    "train.budget.seconds",
    "validation.knock_out",
    "checkpoint.every",
    "checkpoint.keep",
];

/// Lists of plugin files that were granted something.
const GRANTS: [&str; 2] = ["sandbox.grant", "retrieval.grant"];

/// What a run is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the host.
    pub host: String,
    /// The builds of the host that worked on it, in their order.
    #[serde(default)]
    pub builds: Vec<Build>,
    /// What held from which step on, in their order; none of a run that did not record it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<Session>,
    /// SHA-256 of what the run was made of as it began, if it was accepted later to be something
    /// else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_as: Option<String>,
    /// Root of all randomness.
    pub seed: u64,
    /// Where tensors live: `cpu` or `cuda`.
    pub device: String,
    /// What the last digits of a sum depend on: the processor's instructions.
    pub processor: String,
    /// The plugins.
    pub plugins: Vec<PluginEntry>,
    /// The environments that are played on a server, each with what cannot be said for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerEntry>,
    /// SHA-256 of the interpreters that granted plugins can reach, by file name.
    pub interpreters: BTreeMap<String, String>,
    /// The records that tasks are built from.
    #[serde(default)]
    pub records: RecordsEntry,
    /// BLAKE3 of each file of the corpus that plugins may search.
    #[serde(default)]
    pub corpus: BTreeMap<String, String>,
    /// SHA-256 of the tables of other runs that are learned from, and of those by which one of
    /// several policies is chosen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, String>,
    /// The policies as training began.
    pub policies: Vec<PolicyEntry>,
    /// What the servers were found to do that train some of them; neither what they draw nor what
    /// they sum can be repeated here to the bit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub distant: BTreeMap<String, Conduct>,
    /// What was chosen where the configuration leaves it to the machine.
    pub settled: Settled,
    /// The resolved configuration.
    pub config: Value,
}

/// What is chosen by the memory there is, once for the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// `train.gradient_checkpointing`.
    pub gradient_checkpointing: Choice,
    /// `train.offload_optimizer`.
    pub offload_optimizer: Choice,
    /// `rollout.cache_gib`.
    pub cache_gib: f64,
}

impl Settled {
    /// What a configuration says that leaves nothing to the machine.
    pub fn of(config: &Config) -> Self {
        Settled {
            gradient_checkpointing: config.train.gradient_checkpointing,
            offload_optimizer: config.train.offload_optimizer,
            cache_gib: config.rollout.cache_gib,
        }
    }

    /// The configuration with what was chosen before.
    #[must_use]
    pub fn apply(&self, mut config: Config) -> Config {
        config.train.gradient_checkpointing = self.gradient_checkpointing;
        config.train.offload_optimizer = self.offload_optimizer;
        config.rollout.cache_gib = self.cache_gib;
        config
    }
}

/// A plugin of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginEntry {
    /// Its name.
    pub name: String,
    /// Its author's version.
    pub version: String,
    /// SHA-256 of the component.
    pub digest: String,
}

/// An environment of a run that is played on a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerEntry {
    /// What the server calls it.
    pub name: String,
    /// The version that the server says.
    pub version: String,
    /// Where it is.
    pub address: String,
    /// Whether the host bounds what it can do; it does not.
    pub isolated: bool,
    /// Whether the same run would see the same, which cannot be known.
    pub reproducible: bool,
    /// Whether it repeated itself when it was tried, so that states can be gone back to.
    pub forks: bool,
}

/// A policy of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyEntry {
    /// Its name.
    pub name: String,
    /// The roles it plays.
    pub roles: Vec<String>,
    /// SHA-256 of its weights before the first step, those of its base
    /// included; of a remote one, its model and address.
    pub digest: String,
    /// Number of parameters; 0 of a remote one.
    pub parameters: usize,
}

/// How a run that is resumed differs from what it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// With these it is another run.
    pub grave: Vec<String>,
    /// With these its numbers may differ in the last digits.
    pub slight: Vec<String>,
}

impl Manifest {
    /// SHA-256 of what the run is made of. Who works on it, and how far it is to go, is no part of
    /// that.
    pub fn made_of(&self) -> String {
        let mut made_of = serde_json::to_value(self).unwrap_or_default();
        if let Value::Object(fields) = &mut made_of {
            for field in ["sessions", "begun_as"] {
                fields.shift_remove(field);
            }
            // These leave their places to the last ones; chains are tied to that order.
            for field in ["builds", "host"] {
                fields.swap_remove(field);
            }
        }
        digest(made_of.to_string().as_bytes())
    }

    /// The builds that have worked on the run, now that those of `now` resume it. For a run
    /// that recorded none, the first is unknown.
    pub fn builds_with(&self, now: &Manifest) -> Vec<Build> {
        let mut builds = self.builds.clone();
        if builds.is_empty() {
            builds.push(Build::unknown(&self.host));
        }
        let last = builds.last().cloned();
        builds.extend(now.builds.iter().filter(|build| last.as_ref() != Some(build)).cloned());
        builds
    }

    /// What is different now.
    pub fn compare(&self, now: &Manifest) -> Differences {
        let mut grave = Vec::new();
        let mut then = self.config.clone();
        rename_in_json(&mut then);
        compare_values("", &then, &now.config, &mut grave);
        if self.device != now.device {
            grave.push(format!("the device was {} and is {}", self.device, now.device));
        }
        let digests = |entries: &[PluginEntry]| -> BTreeMap<String, String> {
            entries.iter().map(|entry| (entry.name.clone(), entry.digest.clone())).collect()
        };
        compare_digests("plugin", &digests(&self.plugins), &digests(&now.plugins), &mut grave);
        compare_digests("interpreter", &self.interpreters, &now.interpreters, &mut grave);
        let files = |entry: &RecordsEntry| entry.files.clone();
        compare_digests("record file", &files(&self.records), &files(&now.records), &mut grave);
        compare_digests("corpus file", &self.corpus, &now.corpus, &mut grave);
        compare_digests("table", &self.tables, &now.tables, &mut grave);
        let digests = |entries: &[PolicyEntry]| -> BTreeMap<String, String> {
            entries.iter().map(|entry| (entry.name.clone(), entry.digest.clone())).collect()
        };
        let policies = "policy it began with (its base included)";
        compare_digests(policies, &digests(&self.policies), &digests(&now.policies), &mut grave);
        let mut slight = Vec::new();
        let build = |manifest: &Manifest| {
            manifest.builds.last().map_or(manifest.host.clone(), ToString::to_string)
        };
        for then in self.servers.iter().filter(|then| !now.servers.contains(then)) {
            slight.push(format!("the server of `{}` says something else of itself", then.name));
        }
        for (what, then, now) in [
            ("processor", &self.processor, &now.processor),
            ("build of the host", &build(self), &build(now)),
        ] {
            if then != now {
                slight.push(format!("the {what} was {then} and is {now}"));
            }
        }
        Differences { grave, slight }
    }
}

fn compare_digests(
    what: &str,
    then: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
    differences: &mut Vec<String>,
) {
    for (name, digest) in then {
        match now.get(name) {
            None => differences.push(format!("the {what} `{name}` is not there")),
            Some(other) if other != digest => {
                differences.push(format!("the {what} `{name}` has another digest"));
            }
            Some(_) => {}
        }
    }
    let new = now.keys().filter(|name| !then.contains_key(*name));
    differences.extend(new.map(|name| format!("the {what} `{name}` is new")));
}

fn compare_values(key: &str, then: &Value, now: &Value, differences: &mut Vec<String>) {
    if then == now || is_free(key) || is_granted_to_the_same(key, then, now) {
        return;
    }
    if let (Value::Array(then), Value::Array(now)) = (then, now)
        && then.len() == now.len()
        && then.iter().all(Value::is_object)
    {
        for (index, (then, now)) in then.iter().zip(now).enumerate() {
            compare_values(&format!("{key}.{index}"), then, now, differences);
        }
        return;
    }
    if let (Value::Object(then), Value::Object(now)) = (then, now) {
        let names = then.keys().chain(now.keys().filter(|name| !then.contains_key(*name)));
        for name in names {
            let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            let of = |table: &serde_json::Map<String, Value>| table.get(name).cloned();
            let (then, now) = (of(then).unwrap_or_default(), of(now).unwrap_or_default());
            compare_values(&key, &then, &now, differences);
        }
        return;
    }
    let shown = |value: &Value| match value {
        Value::Null => "not set".to_owned(),
        value => value.to_string(),
    };
    differences.push(format!("`{key}` was {} and is {}", shown(then), shown(now)));
}

/// Whether both are grants to the same names. A plugin's other digest is said of
/// the plugin, and not again of what it was granted.
fn is_granted_to_the_same(key: &str, then: &Value, now: &Value) -> bool {
    let names = |grants: &Value| -> Option<BTreeSet<String>> {
        let grantees: Vec<Grantee> = serde_json::from_value(grants.clone()).ok()?;
        Some(grantees.into_iter().map(|grantee| grantee.name).collect())
    };
    GRANTS.contains(&key) && names(then).is_some_and(|then| names(now) == Some(then))
}

fn is_free(key: &str) -> bool {
    FREE.iter().any(|free| {
        let (mut free, mut key) = (free.split('.'), key.split('.'));
        loop {
            match (free.next(), key.next()) {
                (None, None) => return true,
                (Some(free), Some(part)) if free == part || free == "*" => {}
                _ => return false,
            }
        }
    })
}

/// The instructions that libtorch chooses its code by, and what is set to
/// choose it otherwise.
pub fn processor() -> String {
    let mut features = vec![std::env::consts::ARCH.to_owned()];
    #[cfg(target_arch = "x86_64")]
    for (there, name) in [
        (is_x86_feature_detected!("avx2"), "avx2"),
        (is_x86_feature_detected!("fma"), "fma"),
        (is_x86_feature_detected!("avx512f"), "avx512f"),
        (is_x86_feature_detected!("avx512vnni"), "avx512vnni"),
        (is_x86_feature_detected!("avx512bf16"), "avx512bf16"),
    ] {
        if there {
            features.push(name.to_owned());
        }
    }
    for name in ["ATEN_CPU_CAPABILITY", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS"] {
        if let Ok(value) = std::env::var(name) {
            features.push(format!("{name}={value}"));
        }
    }
    features.join(" ")
}

#[cfg(test)]
pub(crate) mod tests;
