//! What a run is made of, written down when it begins and compared when it is
//! resumed: a run goes on as what it was, or says what is different.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use troupe_core::config::{Choice, Config, Grantee, rename_in_json};
use troupe_core::provenance::Build;
use troupe_guests::records::RecordsEntry;
use troupe_tinker::Conduct;

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
mod tests {
    use super::*;

    fn manifest(overrides: &[&str]) -> Manifest {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let config = Config::load(None, &overrides).unwrap();
        Manifest {
            host: "0.1.0".to_owned(),
            builds: vec![Build::unknown("0.1.0")],
            seed: config.run.seed,
            device: "cpu".to_owned(),
            processor: processor(),
            plugins: vec![PluginEntry {
                name: "plan-path".to_owned(),
                version: "1.0.0".to_owned(),
                digest: "aa".to_owned(),
            }],
            servers: Vec::new(),
            interpreters: BTreeMap::from([("python.wasm".to_owned(), "bb".to_owned())]),
            records: RecordsEntry::default(),
            corpus: BTreeMap::from([("facts.jsonl".to_owned(), "ee".to_owned())]),
            tables: BTreeMap::from([("0/step-000001.parquet".to_owned(), "dd".to_owned())]),
            distant: BTreeMap::new(),
            policies: vec![PolicyEntry {
                name: "planner".to_owned(),
                roles: vec!["planner".to_owned()],
                digest: "cc".to_owned(),
                parameters: 7,
            }],
            settled: Settled::of(&config),
            config: serde_json::to_value(&config).unwrap(),
        }
    }

    #[test]
    fn what_says_how_long_and_where_may_change_and_all_else_is_named() {
        let before = manifest(&["policies.a.path=x", "environment.walls=3"]);
        let free = [
            "policies.a.path=y",
            "environment.walls=3",
            "train.steps=7",
            "checkpoint.every=2",
            "run.name=other",
            "plugins.files=[\"b\"]",
        ];
        assert_eq!(before.compare(&manifest(&free)), Differences::default());
        let changed = ["run.seed=999", "train.learning_rate=0.5", "policies.a.path=x"];
        assert_eq!(
            before.compare(&manifest(&changed)).grave,
            [
                "`run.seed` was 1 and is 999",
                "`environment.walls` was 3 and is not set",
                "`train.learning_rate` was 0.0 and is 0.5",
            ]
        );
    }

    #[test]
    fn every_build_that_worked_on_a_run_is_remembered() {
        let made_by = |commits: &[&str]| {
            let build = |commit: &&str| Build {
                commit: Some((*commit).to_owned()),
                binary: Some("ff".to_owned()),
                ..Build::unknown("0.1.0")
            };
            Manifest { builds: commits.iter().map(build).collect(), ..manifest(&[]) }
        };
        let builds = |then: &[&str], now: &str| made_by(then).builds_with(&made_by(&[now]));
        assert_eq!(builds(&["a"], "a"), made_by(&["a"]).builds);
        assert_eq!(builds(&["a"], "b"), made_by(&["a", "b"]).builds);
        assert_eq!(builds(&["a", "b"], "a"), made_by(&["a", "b", "a"]).builds);
        // A run older than the record of builds has an unknown one.
        let unknown = builds(&[], "a");
        assert_eq!((unknown.len(), &unknown[0]), (2, &Build::unknown("0.1.0")));
        let said = made_by(&["a"]).compare(&made_by(&["b"])).slight;
        assert_eq!(
            said,
            [
                "the build of the host was 0.1.0 (commit a, program ff) and is 0.1.0 (commit b, program ff)"
            ]
        );
    }

    #[test]
    fn a_grant_is_compared_by_its_names() {
        let granted = |grant: &str| manifest(&[&format!("sandbox.grant={grant}")]);
        let digest = |letter: &str| format!("['quiz@sha256:{}']", letter.repeat(64));
        let before = granted(&digest("a"));
        assert_eq!(before.compare(&granted(&digest("b"))), Differences::default());
        assert_eq!(granted("['quiz']").compare(&before), Differences::default());
        let other = before.compare(&granted("['quiz', 'solo']")).grave;
        assert!(
            matches!(&other[..], [one] if one.starts_with("`sandbox.grant` was [")),
            "{other:?}"
        );
    }

    #[test]
    fn other_weights_plugins_interpreters_and_devices_are_named() {
        let (mut before, mut now) = (manifest(&[]), manifest(&[]));
        before.records.files.insert("a.jsonl".to_owned(), "dd".to_owned());
        now.records.files.insert("a.jsonl".to_owned(), "xx".to_owned());
        now.plugins[0].digest = "xx".to_owned();
        now.policies[0].digest = "xx".to_owned();
        now.interpreters.clear();
        now.corpus.insert("facts.jsonl".to_owned(), "xx".to_owned());
        now.tables.insert("0/step-000001.parquet".to_owned(), "xx".to_owned());
        now.device = "cuda".to_owned();
        now.processor = "abacus".to_owned();
        let differences = before.compare(&now);
        assert_eq!(
            differences.grave,
            [
                "the device was cpu and is cuda",
                "the plugin `plan-path` has another digest",
                "the interpreter `python.wasm` is not there",
                "the record file `a.jsonl` has another digest",
                "the corpus file `facts.jsonl` has another digest",
                "the table `0/step-000001.parquet` has another digest",
                "the policy it began with (its base included) `planner` has another digest",
            ]
        );
        assert!(differences.slight[0].ends_with("and is abacus"));
    }

    #[test]
    fn what_was_left_to_the_machine_is_not_chosen_anew() {
        let overrides = ["train.gradient_checkpointing=on", "rollout.cache_gib=0.5"];
        let chosen = Config::load(None, &overrides.map(str::to_owned)).unwrap();
        assert_eq!(Settled::of(&chosen).apply(Config::default()), chosen);
    }
}
