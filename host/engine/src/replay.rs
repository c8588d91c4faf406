//! `host replay`: how a run would have gone on if a step had been otherwise.

mod groups;
mod influence;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::again::{Again, Obstacle, config_of, obstacle, share_all};
use super::report;
use troupe_cli::args::{ReplayArgs, Swapped, Weighed};
use troupe_core::config::{Config, Store};
use troupe_core::error::ExitCode;
use troupe_core::storage::{StorageError, read_json};
use troupe_model::{Device, PolicyError};
use troupe_terminal::UsageError;
use troupe_training::checkpoint::steps_of;
use troupe_training::manifest::Manifest;
use troupe_training::metrics::Success;
use troupe_training::training::{Influence, Meddling, Record};
use troupe_training::watch::Alarm;

pub fn run(
    args: &ReplayArgs,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<ExitCode> {
    let config = config_of(&args.run, &args.run)?;
    let manifest: Manifest = read_json(&args.run.join("manifest.json"))?;
    let at = args.at as usize;
    let store = store_of(at, &manifest, &config);
    if args.groups {
        needs_all_rows("--groups", store)?;
        return groups::list(args, &config);
    }
    if !args.swap_sample.is_empty() {
        needs_all_rows("--swap-sample", store)?;
    }
    let meddling = meddling(args);
    let is_changed = !args.set.is_empty() || meddling != meddling_at(at, BTreeMap::new());
    if !is_changed && !args.influence {
        let message = "nothing is to be otherwise; say what with --set, --drop-group, \
                       --weigh-group or --swap-sample, or ask for --influence";
        return Err(UsageError(message.to_owned()).into());
    }
    let device = device()?;
    let obstacle = obstacle(&manifest, &config, device);
    if let Some(obstacle) = obstacle.filter(|obstacle| hinders(obstacle, at)) {
        report::note(&format!("note: the run cannot be repeated exactly here: {obstacle}"));
    }
    let again = Again { run: &args.run, manifest: &manifest, device };
    if args.influence {
        return influence::look(&again, args, &config);
    }
    let crossroads = Crossroads::reach(&again, args.at, args)?;
    let was = crossroads.go_on(&[], meddling_at(at, BTreeMap::new()))?;
    let is = crossroads.go_on(&args.set, meddling)?;
    match args.json {
        true => report::line(&serde_json::to_string(&serde_json::json!({"was": was, "is": is}))?),
        false => show(&was, &is),
    }
    Ok(ExitCode::Success)
}

/// Which answers of a step were stored.
fn store_of(step: usize, manifest: &Manifest, config: &Config) -> Store {
    manifest.session_after(step - 1).map_or(config.rollout.store, |session| session.store)
}

/// Refuse what counts the rows of a table that has not all answers.
fn needs_all_rows(asked: &str, store: Store) -> Result<(), UsageError> {
    if store == Store::All {
        return Ok(());
    }
    Err(UsageError(format!(
        "{asked} counts all answers of a step, and of this one the run did not store them all; it \
         takes a step that was played with rollout.store = \"all\""
    )))
}

/// Whether it keeps a step, and those that follow, from being repeated; a change does not that was
/// accepted before.
fn hinders(obstacle: &Obstacle, step: usize) -> bool {
    !matches!(obstacle, Obstacle::Changed { after } if *after < step)
}

/// The checkpoint from which the run comes to a step as it did. Where it was accepted to be
/// something else before that, none from before the change is one.
fn start(kept: &[usize], before: usize, changed: Option<usize>) -> Option<usize> {
    let since = changed.filter(|after| *after <= before).unwrap_or(0);
    kept.iter().copied().filter(|step| (since..=before).contains(step)).max()
}

fn meddling_at(step: usize, factors: BTreeMap<usize, f32>) -> Meddling {
    Meddling { step, factors, ..Meddling::default() }
}

/// What the step is to teach otherwise.
fn meddling(args: &ReplayArgs) -> Meddling {
    let weighed = args.weigh_group.iter().map(|Weighed(group, factor)| (*group, *factor));
    let dropped = args.drop_group.iter().copied().collect();
    let swaps = args.swap_sample.iter().map(|Swapped(one, other)| (*one, *other)).collect();
    Meddling { swaps, dropped, ..meddling_at(args.at as usize, weighed.collect()) }
}

/// The run as it stood before the step, from where it can go on in several ways.
struct Crossroads<'r> {
    again: &'r Again<'r>,
    folder: tempfile::TempDir,
    /// The step before.
    before: usize,
    steps: usize,
    tasks: usize,
}

/// How it went on.
#[derive(Debug, Serialize)]
struct Future {
    steps: Vec<Seen>,
    /// What the run said where it ended itself with the last of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    alarm: Option<String>,
    /// Success on validation tasks at its end.
    success: Success,
}

impl Future {
    /// The number of its last step.
    fn last(&self) -> usize {
        self.steps.last().map_or(0, |seen| seen.step)
    }
}

/// A step of it.
#[derive(Debug, Serialize)]
struct Seen {
    step: usize,
    /// Mean reward by role.
    rewards: BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    validation: Option<f64>,
}

impl<'r> Crossroads<'r> {
    /// Compute what both futures have in common, once.
    fn reach(again: &'r Again<'r>, at: u32, args: &ReplayArgs) -> anyhow::Result<Self> {
        let (before, steps) = (at as usize - 1, args.steps as usize);
        let kept = steps_of(&args.run.join("checkpoints"))?;
        let from = start(&kept, before, again.manifest.changed_after());
        let from = from.ok_or_else(|| StorageError::Unfit {
            path: args.run.clone(),
            reason: format!(
                "it kept no checkpoint before step {at}, or none since a change to the run was \
                 accepted (--accept-changes)"
            ),
        })?;
        let folder = tempfile::tempdir()?;
        let road = Crossroads { again, folder, before, steps, tasks: args.tasks as usize };
        let path = road.common();
        again.lay_out(&path, from)?;
        if from < before {
            let bar = report::Bar::new("on the way", 0, before - from, "steps");
            let mut training = again.resume(&path, from, &[])?;
            while training.progress().step < before {
                let (record, alarm) = training.step_and_alarm()?;
                if let Some(alarm) = alarm {
                    return Err(ended_with(record.step, &alarm).into());
                }
                bar.step_to(record.step - from, String::new());
                training = again.carry_on(&path, training, &[])?;
            }
            training.stop()?;
            bar.finish();
        }
        Ok(road)
    }

    /// Which groups of the step after `before` did harm, and the alarm that the run ended itself
    /// with there; goes on to that step. Nothing where the run is done.
    fn influence(&self, before: usize) -> anyhow::Result<Option<(Influence, Option<Alarm>)>> {
        let place = tempfile::tempdir_in(self.folder.path())?;
        let path = place.path().join("run");
        share_all(&self.common(), &path)?;
        let training = self.again.resume(&path, before, &[])?;
        if training.is_done() {
            return Ok(None);
        }
        let influence = training.influence(self.tasks)?;
        let mut training = self.again.resume(&self.common(), before, &[])?;
        let (_, alarm) = training.step_and_alarm()?;
        if alarm.is_none() {
            training.stop()?;
        }
        Ok(Some((influence, alarm)))
    }

    fn common(&self) -> PathBuf {
        self.folder.path().join("common")
    }

    /// Go on for some steps with these settings, where the first of them teaches something else.
    fn go_on(&self, set: &[String], meddling: Meddling) -> anyhow::Result<Future> {
        let place = tempfile::tempdir_in(self.folder.path())?;
        let path = place.path().join("run");
        share_all(&self.common(), &path)?;
        let mut training = self.again.resume(&path, self.before, set)?;
        training.meddle(meddling);
        let (mut steps, mut alarm) = (Vec::new(), None);
        while steps.len() < self.steps && alarm.is_none() && !training.is_done() {
            let (record, ended) = training.step_and_alarm()?;
            steps.push(seen(&record));
            if ended.is_none() {
                training = self.again.carry_on(&path, training, set)?;
            }
            alarm = ended;
        }
        if steps.is_empty() {
            let message = format!("the run ends with step {}; name one before", self.before);
            return Err(UsageError(message).into());
        }
        let alarm = alarm.map(|alarm| alarm.to_string());
        Ok(Future { steps, alarm, success: training.success(self.tasks)? })
    }
}

fn ended_with(step: usize, alarm: &Alarm) -> UsageError {
    UsageError(format!(
        "the run ended itself with step {step}; name that one or one before. It said: {alarm}"
    ))
}

fn seen(record: &Record) -> Seen {
    let rewards = record.roles.iter().map(|(role, metrics)| (role.clone(), metrics.reward.mean));
    Seen {
        step: record.step,
        rewards: rewards.collect(),
        validation: record.validation.as_ref().map(|held_out| held_out.greedy.success),
    }
}

fn show(was: &Future, is: &Future) {
    report::table(&["step", "as it was", "otherwise"], &rows(was, is));
    for (name, future) in [("as it was", was), ("otherwise", is)] {
        if let Some(alarm) = &future.alarm {
            let step = future.last();
            report::line(&format!("  {name}, the run ended itself with step {step}: {alarm}"));
        }
    }
    report::line(&format!("  {}", outcome(was, is)));
}

/// Both futures, step by step; one may end before the other.
fn rows(was: &Future, is: &Future) -> Vec<Vec<String>> {
    let cell = |seen: &Seen| {
        let rewards = seen.rewards.iter().map(|(role, reward)| format!("{role} {reward:+.2}"));
        let validation =
            seen.validation.map(|success| format!("solved {}", report::percent(success)));
        rewards.chain(validation).collect::<Vec<_>>().join(", ")
    };
    let longer = if was.steps.len() < is.steps.len() { is } else { was };
    let row = |(place, seen): (usize, &Seen)| {
        let of = |future: &Future| future.steps.get(place).map_or("–".to_owned(), cell);
        vec![seen.step.to_string(), of(was), of(is)]
    };
    longer.steps.iter().enumerate().map(row).collect()
}

/// What both have come to, each at its own end.
fn outcome(was: &Future, is: &Future) -> String {
    let [one, other] = [was, is].map(|future| report::success(&future.success));
    let (tasks, last, otherwise) = (was.success.tasks, was.last(), is.last());
    if last == otherwise {
        return format!(
            "after step {last}, {tasks} validation tasks: {one} as it was, {other} otherwise"
        );
    }
    format!(
        "{tasks} validation tasks: {one} as it was, after step {last}; {other} otherwise, after \
         step {otherwise}"
    )
}

/// The table of the step that is to be otherwise.
pub(super) fn table_of(run: &Path, step: usize) -> PathBuf {
    run.join("table").join(troupe_core::archive::table_file(step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::example;
    use troupe_training::manifest::Session;

    fn future(steps: std::ops::RangeInclusive<usize>, solved: usize) -> Future {
        let seen = |step: usize| Seen {
            step,
            rewards: BTreeMap::from([("solver".to_owned(), step as f64)]),
            validation: None,
        };
        Future { steps: steps.map(seen).collect(), alarm: None, success: Success::new(solved, 256) }
    }

    #[test]
    fn each_future_is_told_of_at_its_own_end() {
        let (was, is) = (future(55..=57, 128), future(55..=59, 192));
        let said = outcome(&was, &is);
        assert!(said.contains("as it was, after step 57;"), "{said}");
        assert!(said.ends_with("otherwise, after step 59"), "{said}");
        let told = rows(&was, &is);
        assert_eq!(told.len(), 5);
        assert_eq!(told[2], ["57", "solver +57.00", "solver +57.00"]);
        assert_eq!(told[4], ["59", "–", "solver +59.00"]);
        assert_eq!(rows(&is, &was)[4], ["59", "solver +59.00", "–"]);
        let said = outcome(&was, &future(55..=57, 192));
        assert!(said.starts_with("after step 57, 256 validation tasks: 50.0 %"), "{said}");
    }

    #[test]
    fn rows_are_counted_only_where_all_were_stored() {
        let stored = Config::default();
        let mut manifest = example(&stored);
        let later = Session { after: 5, store: Store::Kept, ..manifest.sessions[0].clone() };
        manifest.sessions.push(later);
        // What holds now says nothing of steps that were played before.
        for store in [Store::All, Store::Kept] {
            let mut now = stored.clone();
            now.rollout.store = store;
            let asked = |step| needs_all_rows("--groups", store_of(step, &manifest, &now));
            assert!(asked(5).is_ok());
            let said = asked(6).unwrap_err().to_string();
            assert!(said.starts_with("--groups") && said.contains("rollout.store"), "{said}");
        }
        manifest.sessions.clear();
        assert_eq!(store_of(3, &manifest, &stored), stored.rollout.store);
    }

    #[test]
    fn steps_after_a_change_are_repeated_from_a_checkpoint_after_it() {
        let kept = [0, 4, 8, 12];
        assert_eq!(start(&kept, 9, None), Some(8));
        assert_eq!(start(&kept, 9, Some(8)), Some(8));
        assert_eq!(start(&kept, 9, Some(9)), None);
        assert_eq!(start(&kept, 9, Some(10)), Some(8));
        let changed = Obstacle::Changed { after: 8 };
        assert!(hinders(&changed, 8) && !hinders(&changed, 9));
        assert!(hinders(&Obstacle::Processes(2), 9));
    }
}
