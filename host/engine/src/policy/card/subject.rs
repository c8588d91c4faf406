//! What a card is about: a policy, and the run that made it.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::super::export::trained;
use super::{name_of, read};
use crate::eval::config_and_step;
use troupe_cli::args::{CheckpointName, ConfigArgs};
use troupe_core::archive::find_config;
use troupe_core::config::{Config, TinkerConfig};
use troupe_core::storage::{StorageError, read_json};
use troupe_model::Policy;
use troupe_terminal::UsageError;
use troupe_training::checkpoint::{Progress, load_step};
use troupe_training::manifest::{Manifest, PolicyEntry};

/// The licence of what nobody has said it of.
pub const UNKNOWN: &str = "unknown";

/// What an adapter says of itself.
const ADAPTER: &str = "adapter_config.json";

/// A policy, and where it comes from.
pub struct Subject {
    /// Its folder.
    pub folder: PathBuf,
    /// The run that trained it; nothing if it lies in none.
    pub origin: Option<Origin>,
    /// Whether its adapter has become part of it.
    pub merged: bool,
}

/// The run that trained a policy.
pub struct Origin {
    pub run: PathBuf,
    /// The policy's name in it.
    pub name: String,
    /// Its configuration.
    pub config: Config,
    /// What it was made of, if that was written down.
    pub manifest: Option<Manifest>,
    /// How far it had come.
    pub progress: Progress,
}

/// What a policy was made from.
#[derive(Serialize)]
pub struct Base {
    /// What others call it, so far as its folder says so.
    pub name: String,
    /// How the policy comes from it.
    pub relation: &'static str,
    /// By its own card.
    pub license: String,
    #[serde(skip)]
    pub folder: PathBuf,
}

impl Subject {
    /// The policy of a run, or the one in a folder, of which there is neither a choice of names nor
    /// of steps.
    pub fn find(
        place: &Path,
        name: Option<&str>,
        step: Option<CheckpointName>,
    ) -> anyhow::Result<Self> {
        if find_config(place).is_ok() {
            return Subject::of_run(place, name, step.unwrap_or(CheckpointName::Best));
        }
        if !Policy::is_in(place) && !place.join(ADAPTER).is_file() {
            let reason = "there is neither a run nor a policy in it".to_owned();
            return Err(StorageError::Unfit { path: place.to_owned(), reason }.into());
        }
        if name.is_some() || step.is_some() {
            let reason = format!(
                "`{}` is the folder of one policy: leave out `--policy` and `--step`, which choose \
                 from those of a run",
                place.display()
            );
            return Err(UsageError(reason).into());
        }
        let origin = whence(place).and_then(|(run, step, name)| Origin::of(&run, name, step).ok());
        Ok(Subject { folder: place.to_owned(), origin, merged: false })
    }

    fn of_run(run: &Path, name: Option<&str>, step: CheckpointName) -> anyhow::Result<Self> {
        let (config, step) = config_and_step(&ConfigArgs::default(), Some(run), step)?;
        let name = trained(&config, name, run)?;
        let own = &config.policies[&name];
        let adapter = own.lora.as_ref().and_then(|lora| lora.path.clone());
        let distant = own.tinker.as_ref().and_then(|tinker| tinker.path.clone());
        let folder = adapter.or(distant).or_else(|| own.path.clone()).unwrap_or_default();
        let origin = Some(Origin::of(run, name, step.unwrap_or_default())?);
        Ok(Subject { folder, origin, merged: false })
    }

    /// Whether it is an adapter, which needs its base.
    pub fn is_adapter(&self) -> bool {
        let is_distant = self.origin.as_ref().is_some_and(|origin| origin.tinker().is_some());
        !self.merged && (is_distant || self.folder.join(ADAPTER).is_file())
    }

    /// What it was made from; nothing if it began as random weights, or if that is not known.
    pub fn base(&self) -> Option<Base> {
        let named = read(&self.folder, ADAPTER, "/base_model_name_or_path");
        let named = named.as_ref().and_then(Value::as_str).map(PathBuf::from);
        let folder = self.origin.as_ref().and_then(Origin::base).or(named)?;
        let relation = if self.is_adapter() { "adapter" } else { "finetune" };
        let (name, license) = match self.origin.as_ref().and_then(Origin::tinker) {
            Some(tinker) => (name_there(&tinker.base), license(&folder)),
            None => (public_name(&folder), license(&folder)),
        };
        Some(Base { name, relation, license, folder })
    }

    /// The licence that its base's card names, or its own if it is nobody's here.
    pub fn license(&self, base: Option<&Base>) -> String {
        match (base, &self.origin) {
            (Some(base), _) => base.license.clone(),
            (None, None) => license(&self.folder),
            (None, Some(_)) => UNKNOWN.to_owned(),
        }
    }

    /// What kind of network it is.
    pub fn architecture(&self) -> Option<String> {
        let of = |folder: &Path| read(folder, "config.json", "/architectures/0");
        let found = of(&self.folder).or_else(|| of(&self.base()?.folder))?;
        found.as_str().map(str::to_owned)
    }
}

impl Origin {
    fn of(run: &Path, name: String, step: usize) -> anyhow::Result<Self> {
        let config = Config::load(Some(&find_config(run)?), &[])?;
        let manifest = read_json(&run.join("manifest.json")).ok();
        let progress = load_step(&run.join("checkpoints"), step)?.progress;
        Ok(Origin { run: run.to_owned(), name, config, manifest, progress })
    }

    /// What the manifest says of the policy.
    pub fn entry(&self) -> Option<&PolicyEntry> {
        self.manifest.as_ref()?.policies.iter().find(|entry| entry.name == self.name)
    }

    /// The roles it plays.
    pub fn roles(&self) -> Vec<String> {
        self.entry().map(|entry| entry.roles.clone()).unwrap_or_default()
    }

    /// Steps that the run was to make.
    pub fn steps(&self) -> usize {
        self.config.train.steps.max(self.progress.step)
    }

    /// How answers were compared.
    pub fn estimator(&self) -> String {
        let name = serde_json::to_value(self.config.advantage.estimator).unwrap_or_default();
        name.as_str().unwrap_or_default().to_owned()
    }

    /// The server that has its weights, if one has.
    pub fn tinker(&self) -> Option<&TinkerConfig> {
        self.config.policies.get(&self.name)?.tinker.as_ref()
    }

    /// The folder that the policy, or what it is an adapter over, was read from; of a base on a
    /// server there is the tokenizer's.
    fn base(&self) -> Option<PathBuf> {
        if let Some(tinker) = self.tinker() {
            return Some(tinker.tokenizer.clone());
        }
        let own = self.config.policies.get(&self.name)?;
        match &own.base {
            Some(base) => self.config.policies.get(base)?.path.clone(),
            None => own.path.clone(),
        }
    }
}

/// The run, step and name of a policy in `RUN/checkpoints/step-000012/policies/NAME`.
fn whence(folder: &Path) -> Option<(PathBuf, usize, String)> {
    let folder = folder.canonicalize().ok()?;
    let step = folder.parent()?.parent()?;
    let number = step.file_name()?.to_str()?.strip_prefix("step-")?.parse().ok()?;
    let run = step.parent()?.parent()?.to_owned();
    Some((run, number, folder.file_name()?.to_str()?.to_owned()))
}

/// What a server calls its base, which for some is the path of a folder.
fn name_there(base: &str) -> String {
    let folder = Path::new(base);
    if folder.is_dir() { public_name(folder) } else { base.to_owned() }
}

/// `owner/name` where the folder says so, else what the folder is called.
fn public_name(folder: &Path) -> String {
    let said = read(folder, "config.json", "/_name_or_path");
    let said = said.as_ref().and_then(Value::as_str).unwrap_or_default();
    let parts: Vec<&str> = said.split('/').collect();
    match parts[..] {
        [owner, name] if !owner.is_empty() && !owner.starts_with('.') && !name.is_empty() => {
            said.to_owned()
        }
        _ => name_of(folder),
    }
}

/// The licence that a base's own card names.
fn license(base: &Path) -> String {
    let card = std::fs::read_to_string(base.join(super::README)).unwrap_or_default();
    let mut lines = card.lines();
    let front = lines.next() == Some("---");
    let mut front = lines.take_while(|line| front && *line != "---");
    let named = front.find_map(|line| line.strip_prefix("license:"));
    let named = named.map(|name| name.trim().trim_matches(['"', '\''])).unwrap_or_default();
    if named.is_empty() { UNKNOWN.to_owned() } else { named.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_on_a_server_is_an_adapter_over_what_the_server_calls_its_base() {
        let folder = tempfile::tempdir().unwrap();
        let shape = r#"{"architectures": ["Qwen3ForCausalLM"]}"#;
        std::fs::write(folder.path().join("config.json"), shape).unwrap();
        let set = [
            "url=http://127.0.0.1:8000".to_owned(),
            "base=Qwen/Qwen3-32B".to_owned(),
            format!("tokenizer={}", folder.path().display()),
        ];
        let set = set.map(|set| format!("policies.planner.tinker.{set}"));
        let origin = Origin {
            run: PathBuf::from("run"),
            name: "planner".to_owned(),
            config: Config::load(None, &set).unwrap(),
            manifest: None,
            progress: Progress::default(),
        };
        let kept = folder.path().join("kept");
        let subject = Subject { folder: kept, origin: Some(origin), merged: false };
        let base = subject.base().unwrap();
        assert!(subject.is_adapter());
        assert_eq!((base.name.as_str(), base.relation), ("Qwen/Qwen3-32B", "adapter"));
        assert_eq!(subject.architecture().as_deref(), Some("Qwen3ForCausalLM"));
    }
}
