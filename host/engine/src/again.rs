//! Steps of a run, computed again in a folder of their own.

use std::fs;
use std::path::Path;

use crate::inventory::manifest;
use crate::report;
use troupe_core::archive::list_tables;
use troupe_core::config::{Config, ConfigError, PolicyConfig};
use troupe_core::storage::{StorageError, create_folder, list_folder};
use troupe_model::Device;
use troupe_training::checkpoint::load_step;
use troupe_training::manifest::{Manifest, Session, Settled, processor};
use troupe_training::run::{Link, RunFolder};
use troupe_training::team::Team;
use troupe_training::training::{Training, plan, settle};

/// Files of a run that steps are added to.
const LOGS: [&str; 5] =
    ["config.toml", "manifest.json", "metrics.jsonl", "outcomes.jsonl", "chain.jsonl"];

/// Why bits cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// A server had part in it.
    #[error("what a server did cannot be repeated here")]
    Server,
    /// It ended by the clock.
    #[error("how far it came depends on the clock (train.budget.seconds)")]
    Clock,
    /// Sums were added up in another order.
    #[error(
        "it was computed by {0} processes and this is one: last digits may differ, and with them \
         what is drawn"
    )]
    Processes(usize),
    /// Last digits are others here.
    #[error(
        "it was computed with the {what} `{there}`, and here is `{here}`: last digits may differ, \
         and with them what is drawn"
    )]
    Digits {
        /// What computed it.
        what: &'static str,
        /// Where the run was made.
        there: String,
        /// On this machine.
        here: String,
    },
    /// Earlier steps are of something that is not here.
    #[error(
        "its steps up to {after} were made before a change to the run was accepted \
         (--accept-changes)"
    )]
    Changed {
        /// The last of them.
        after: usize,
    },
}

impl Obstacle {
    /// Whether steps can be computed even so. What a run was before a change is not here.
    pub fn can_be_ignored(&self) -> bool {
        !matches!(self, Obstacle::Changed { .. })
    }
}

/// Why bits cannot be compared here; nothing if they can. What held before a change that was
/// accepted hinders none of the steps after it.
pub fn obstacle(manifest: &Manifest, config: &Config, device: Device) -> Option<Obstacle> {
    let is_served = !manifest.distant.is_empty()
        || !manifest.servers.is_empty()
        || config.policies.values().any(PolicyConfig::is_served);
    if is_served {
        return Some(Obstacle::Server);
    }
    let mut budgets = manifest.sessions_since_change().map(|session| &session.budget);
    if config.train.budget.seconds.is_some() || budgets.any(|budget| budget.seconds.is_some()) {
        return Some(Obstacle::Clock);
    }
    let processes = manifest.sessions_since_change().map(|session| session.processes).max();
    let processes = processes.unwrap_or(1);
    if processes > 1 {
        return Some(Obstacle::Processes(processes));
    }
    let of_sessions = manifest.sessions_since_change().map(|session| &session.processor);
    digits("device", [&manifest.device], &device.to_string())
        .or_else(|| digits("processor", of_sessions.chain([&manifest.processor]), &processor()))
        .or_else(|| {
            let after = manifest.changed_after().filter(|after| *after > 0)?;
            Some(Obstacle::Changed { after })
        })
}

/// Whether something else computed it than what is here.
fn digits<'m>(
    what: &'static str,
    there: impl IntoIterator<Item = &'m String>,
    here: &str,
) -> Option<Obstacle> {
    let there = there.into_iter().find(|there| *there != here)?;
    Some(Obstacle::Digits { what, there: there.clone(), here: here.to_owned() })
}

/// A run whose steps are computed again.
pub struct Again<'r> {
    pub run: &'r Path,
    pub manifest: &'r Manifest,
    pub device: Device,
}

impl Again<'_> {
    /// The steps after one whose checkpoint was kept, up to another; `take` is given what each
    /// left.
    pub fn compute(
        &self,
        from: usize,
        to: usize,
        mut take: impl FnMut(&Link),
    ) -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("run");
        self.lay_out(&path, from)?;
        let mut training = self.resume(&path, from, &[])?;
        while training.progress().step < to {
            let (_, alarm) = training.step_and_alarm()?;
            if let Some(link) = training.folder().chain().last()? {
                take(&link);
            }
            if training.progress().step == to {
                break;
            }
            // A run goes no further than the step that it ended itself with.
            if let Some(alarm) = alarm {
                return Err(alarm.into());
            }
            training = self.carry_on(&path, training, &[])?;
        }
        Ok(())
    }

    /// The run in another folder, stopped and resumed where something else held from there on.
    pub fn carry_on(
        &self,
        path: &Path,
        training: Training,
        set: &[String],
    ) -> anyhow::Result<Training> {
        let step = training.progress().step;
        if !self.manifest.turns_at(step) {
            return Ok(training);
        }
        training.stop()?;
        self.resume(path, step, set)
    }

    /// The run as it stood when the checkpoint was saved, in another folder.
    pub fn lay_out(&self, path: &Path, from: usize) -> Result<(), StorageError> {
        create_folder(path)?;
        for name in LOGS {
            put(&self.run.join(name), &path.join(name))?;
        }
        let checkpoint = load_step(&self.run.join("checkpoints"), from)?.path;
        let name = checkpoint.file_name().unwrap_or_default();
        put_all(&checkpoint, &path.join("checkpoints").join(name))?;
        create_folder(&path.join("table"))?;
        for (_, table) in list_tables(self.run)?.into_iter().filter(|(step, _)| *step <= from) {
            put(&table, &path.join("table").join(table.file_name().unwrap_or_default()))?;
        }
        Ok(())
    }

    /// Go on in another folder, as the run did then or with other settings.
    pub fn resume(&self, path: &Path, from: usize, set: &[String]) -> anyhow::Result<Training> {
        let held = self.manifest.session_after(from).map(settings).transpose()?;
        let all = [held.unwrap_or_default(), set.to_vec()].concat();
        let config = config_with(path, self.run, &all)?;
        let (settled, team) = self.ready(config, (path, from), !set.is_empty())?;
        let folder = RunFolder::open(path)?;
        let checkpoint = load_step(&folder.checkpoints(), from)?;
        Ok(Training::resume(settled, team, folder, checkpoint)?)
    }

    /// A team, and its configuration with what was settled before.
    fn ready(
        &self,
        config: Config,
        (path, from): (&Path, usize),
        changed: bool,
    ) -> anyhow::Result<(Config, Team)> {
        let team = Team::assemble(&config, self.device)?;
        let config = settle(&team.resolve(&config), &team)?.anchored();
        let planned = self.manifest.settled.apply(config.clone());
        let settled = plan(&planned, &team)?.settle(planned);
        if !changed {
            // What is not what the run was made of is named.
            let here = manifest(&config, Settled::of(&settled), from, &team, self.device)?;
            for difference in RunFolder::open(path)?.settle_manifest(&here, false)? {
                report::note(&format!("note: {difference}"));
            }
        }
        Ok((settled, team))
    }
}

/// What held, as settings.
fn settings(session: &Session) -> Result<Vec<String>, toml::ser::Error> {
    let Session { steps, budget, store, store_mib, .. } = session;
    let (budget, store) = (toml::Value::try_from(budget)?, toml::Value::try_from(store)?);
    Ok(vec![
        format!("train.steps={steps}"),
        format!("train.budget={budget}"),
        format!("rollout.store={store}"),
        format!("rollout.store_mib={store_mib}"),
    ])
}

/// The configuration of a folder. What was bundled with the run lies beside that.
pub fn config_of(folder: &Path, run: &Path) -> Result<Config, ConfigError> {
    config_with(folder, run, &[])
}

/// The same with other settings.
fn config_with(folder: &Path, run: &Path, set: &[String]) -> Result<Config, ConfigError> {
    let mut config = Config::load(Some(&folder.join("config.toml")), set)?;
    for file in &mut config.plugins.files {
        let beside = run.join(&*file);
        if beside.is_file() {
            *file = beside;
        }
    }
    Ok(config)
}

/// The same folder in another place, for steps that go on there. What is only ever replaced as a
/// whole is the same file in both.
pub fn share_all(from: &Path, to: &Path) -> Result<(), StorageError> {
    create_folder(to)?;
    for name in list_folder(from)? {
        let (from, to) = (from.join(&name), to.join(&name));
        match from.is_dir() {
            true => share_all(&from, &to)?,
            false if LOGS.contains(&name.as_str()) => put(&from, &to)?,
            false => fs::hard_link(&from, &to)
                .or_else(|_| fs::copy(&from, &to).map(drop))
                .map_err(StorageError::io("write", &to))?,
        }
    }
    Ok(())
}

/// The same file in another place, if it is there.
pub fn put(from: &Path, to: &Path) -> Result<(), StorageError> {
    if from.is_file() {
        fs::copy(from, to).map_err(StorageError::io("write", to))?;
    }
    Ok(())
}

/// The same folder in another place.
pub fn put_all(from: &Path, to: &Path) -> Result<(), StorageError> {
    create_folder(to)?;
    for name in list_folder(from)? {
        let (from, to) = (from.join(&name), to.join(&name));
        match from.is_dir() {
            true => put_all(&from, &to)?,
            false => put(&from, &to)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::example;

    fn config(overrides: &[&str]) -> Config {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        Config::load(None, &overrides).unwrap()
    }

    /// What hinders a run of one session that begins as this, with something in it changed.
    fn found(overrides: &[&str], change: impl FnOnce(&mut Manifest)) -> Option<Obstacle> {
        let config = config(overrides);
        let mut manifest = example(&config);
        change(&mut manifest);
        obstacle(&manifest, &config, Device::cpu())
    }

    #[test]
    fn a_run_that_a_server_had_part_in_is_not_repeated_here() {
        assert_eq!(found(&["policies.a.train=false"], |_| ()), None);
        let answers = "policies.a.remote.url=http://there/v1";
        assert_eq!(found(&[answers], |_| ()), Some(Obstacle::Server));
        let draws = "policies.a.sampler.url=http://there/v1";
        let adapter = ["policies.b.path=there", "policies.a.base=b", draws];
        assert_eq!(found(&adapter, |_| ()), Some(Obstacle::Server));
    }

    #[test]
    fn every_session_of_a_run_has_to_be_one_that_can_be_repeated_here() {
        let with = |change: fn(&mut Session)| {
            found(&[], |manifest| {
                let mut later = Session { after: 5, ..manifest.sessions[0].clone() };
                change(&mut later);
                manifest.sessions.push(later);
            })
        };
        assert_eq!(with(|session| session.steps = 9), None);
        assert_eq!(with(|session| session.processes = 2), Some(Obstacle::Processes(2)));
        assert_eq!(with(|session| session.budget.seconds = Some(1.0)), Some(Obstacle::Clock));
        let changed = Some(Obstacle::Changed { after: 5 });
        assert_eq!(with(|session| session.became = Some(String::new())), changed);
        let other = with(|session| session.processor = "abacus".to_owned()).unwrap();
        assert!(matches!(other, Obstacle::Digits { what: "processor", .. }), "{other}");
    }

    #[test]
    fn what_held_before_a_change_hinders_no_step_after_it() {
        let since = |change: fn(&mut Session)| {
            found(&[], |manifest| {
                let became = Some(String::new());
                let later = Session { after: 5, became, ..manifest.sessions[0].clone() };
                change(&mut manifest.sessions[0]);
                manifest.sessions.push(later);
            })
        };
        let changed = Some(Obstacle::Changed { after: 5 });
        assert_eq!(since(|session| session.processes = 2), changed);
        assert_eq!(since(|session| session.budget.seconds = Some(1.0)), changed);
        assert_eq!(since(|session| session.processor = "abacus".to_owned()), changed);
    }

    #[test]
    fn a_run_that_recorded_no_session_is_repeated_as_it_is_configured() {
        assert_eq!(found(&[], |manifest| manifest.sessions.clear()), None);
    }

    #[test]
    fn what_held_takes_the_place_of_what_holds_now_with_every_limit_of_a_budget() {
        let then = config(&["train.steps=60", "train.budget.samples=9", "rollout.store=kept"]);
        let now = ["train.budget={ completion_tokens = 5 }".to_owned(), "run.seed=3".to_owned()];
        let held = settings(&Session::of(&then, 0, 1)).unwrap();
        let config = Config::load(None, &[&now[..], &held[..]].concat()).unwrap();
        assert_eq!((config.train.steps, config.run.seed), (60, 3));
        assert_eq!(config.train.budget, then.train.budget);
        assert_eq!(config.rollout.store, then.rollout.store);
        let held = settings(&Session::of(&Config::default(), 0, 1)).unwrap();
        let config = Config::load(None, &[&now[..], &held[..]].concat()).unwrap();
        assert_eq!(config.train.budget, Config::default().train.budget);
    }
}
