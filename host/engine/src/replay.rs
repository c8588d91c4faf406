//! `host replay`: how a run would have gone on if a step had been otherwise.

mod groups;
mod influence;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::again::{Again, config_of, obstacle, share_all};
use super::report;
use troupe_cli::args::{ReplayArgs, Swapped, Weighed};
use troupe_core::error::ExitCode;
use troupe_core::storage::{StorageError, read_json};
use troupe_model::{Device, PolicyError};
use troupe_terminal::UsageError;
use troupe_training::checkpoint::steps_of;
use troupe_training::manifest::Manifest;
use troupe_training::metrics::Success;
use troupe_training::training::{Influence, Meddling, Record};

pub fn run(
    args: &ReplayArgs,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<ExitCode> {
    let config = config_of(&args.run, &args.run)?;
    if args.groups {
        return groups::list(args, &config);
    }
    let meddling = meddling(args);
    let at = args.at as usize;
    let is_changed = !args.set.is_empty() || meddling != meddling_at(at, BTreeMap::new());
    if !is_changed && !args.influence {
        let message = "nothing is to be otherwise; say what with --set, --drop-group, \
                       --weigh-group or --swap-sample, or ask for --influence";
        return Err(UsageError(message.to_owned()).into());
    }
    let manifest: Manifest = read_json(&args.run.join("manifest.json"))?;
    let device = device()?;
    if let Some(obstacle) = obstacle(&manifest, &config, device) {
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
    /// Success on validation tasks at its end.
    success: Success,
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
        let from = kept.iter().copied().filter(|step| *step <= before).max();
        let from = from.ok_or_else(|| StorageError::Unfit {
            path: args.run.clone(),
            reason: format!("it kept no checkpoint before step {at}"),
        })?;
        let folder = tempfile::tempdir()?;
        let road = Crossroads { again, folder, before, steps, tasks: args.tasks as usize };
        let path = road.common();
        again.lay_out(&path, from)?;
        if from < before {
            let bar = report::Bar::new("on the way", 0, before - from, "steps");
            let mut training = again.resume(&path, from, &[])?;
            while training.progress().step < before {
                training.step()?;
                bar.step_to(training.progress().step - from, String::new());
            }
            training.stop()?;
            bar.finish();
        }
        Ok(road)
    }

    /// Which groups of the step after `before` did harm; goes on to that step. Nothing where the
    /// run is done.
    fn influence(&self, before: usize) -> anyhow::Result<Option<Influence>> {
        let place = tempfile::tempdir_in(self.folder.path())?;
        let path = place.path().join("run");
        share_all(&self.common(), &path)?;
        let training = self.again.resume(&path, before, &[])?;
        if training.is_done() {
            return Ok(None);
        }
        let influence = training.influence(self.tasks)?;
        let mut training = self.again.resume(&self.common(), before, &[])?;
        training.step()?;
        training.stop()?;
        Ok(Some(influence))
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
        let mut steps = Vec::new();
        while steps.len() < self.steps && !training.is_done() {
            steps.push(seen(&training.step()?));
        }
        if steps.is_empty() {
            let message = format!("the run ends with step {}; name one before", self.before);
            return Err(UsageError(message).into());
        }
        Ok(Future { steps, success: training.success(self.tasks)? })
    }
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
    let cell = |seen: &Seen| {
        let rewards = seen.rewards.iter().map(|(role, reward)| format!("{role} {reward:+.2}"));
        let validation =
            seen.validation.map(|success| format!("solved {}", report::percent(success)));
        rewards.chain(validation).collect::<Vec<_>>().join(", ")
    };
    let rows = was.steps.iter().zip(&is.steps);
    let rows: Vec<Vec<String>> =
        rows.map(|(was, is)| vec![was.step.to_string(), cell(was), cell(is)]).collect();
    report::table(&["step", "as it was", "otherwise"], &rows);
    let last = was.steps.last().map_or(0, |seen| seen.step);
    report::line(&format!(
        "  after step {last}, {} validation tasks: {} as it was, {} otherwise",
        was.success.tasks,
        report::success(&was.success),
        report::success(&is.success)
    ));
}

/// The table of the step that is to be otherwise.
pub(super) fn table_of(run: &Path, step: usize) -> PathBuf {
    run.join("table").join(troupe_core::archive::table_file(step))
}
