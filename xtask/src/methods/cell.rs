//! A row with a seed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::{Method, Plan, Row};
use crate::process;
use crate::workspace::Workspace;

/// A row with a seed, filled or not.
pub struct Cell {
    pub method: String,
    pub seed: u64,
    row: Row,
    warm: Vec<String>,
    train: Vec<String>,
    /// Where it is worked on.
    folder: PathBuf,
    /// Where the method's warm start of this seed is made.
    warm_folder: PathBuf,
    /// What came of it.
    file: PathBuf,
}

/// What came of a cell.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Found {
    /// The commit that made it, and whether sources were changed.
    pub commit: String,
    pub changed: bool,
    /// Test tasks before and after, in their order: 1 if the greedy answers solved it.
    pub before: String,
    pub after: String,
    /// What all runs of the cell spent.
    pub acts: u64,
    pub completion_tokens: u64,
    pub seconds: f64,
    /// Success on validation tasks by the acts that were made until then.
    pub curve: Vec<(u64, f64)>,
    /// What the last step's line says besides, by name.
    pub figures: BTreeMap<String, f64>,
}

/// Two cells of one seed want one warm start.
static WARMING: Mutex<()> = Mutex::new(());

impl Cell {
    pub fn of(
        workspace: &Workspace,
        plan: &Plan,
        method: &Method,
        (row, seed): (&Row, u64),
        quick: bool,
    ) -> Self {
        let name = if quick { "methods-quick" } else { "methods" };
        let work = workspace.target_dir.join(name).join(&method.name);
        let kept = match quick {
            true => work.join("cells"),
            false => workspace.root.join("docs/methods/cells").join(&method.name),
        };
        Cell {
            method: method.name.clone(),
            seed,
            row: row.clone(),
            warm: method.warm.clone(),
            train: plan.train.clone(),
            folder: work.join(format!("{}-{seed}", row.name)),
            warm_folder: work.join(format!("warm-{seed}")),
            file: kept.join(format!("{}-{seed}.json", row.name)),
        }
    }

    pub fn name(&self) -> String {
        format!("{} {} {}", self.method, self.row.name, self.seed)
    }

    pub fn is_filled(&self) -> bool {
        self.file.exists()
    }

    /// What came of it, if it is filled.
    pub fn found(&self) -> Result<Option<Found>> {
        if !self.is_filled() {
            return Ok(None);
        }
        let text = fs::read_to_string(&self.file)?;
        let found = serde_json::from_str(&text);
        Ok(Some(found.with_context(|| format!("reading `{}`", self.file.display()))?))
    }

    /// Run what is left of its stages, and write down what came of it.
    pub fn fill(&self, workspace: &Workspace) -> Result<()> {
        fs::create_dir_all(&self.folder)?;
        self.warm_up(workspace)?;
        let mut runs = Vec::new();
        for (index, stage) in self.row.stages.iter().enumerate() {
            let run = self.folder.join(index.to_string());
            self.stage(workspace, stage, &run)?;
            runs.push(run);
        }
        let found = found(workspace, &runs)?;
        let folder = self.file.parent().context("a cell has a folder")?;
        fs::create_dir_all(folder)?;
        let unfinished = self.file.with_extension("unfinished");
        fs::write(&unfinished, serde_json::to_string(&found)? + "\n")?;
        fs::rename(&unfinished, &self.file)?;
        fs::remove_dir_all(&self.folder)?;
        Ok(())
    }

    fn warm_up(&self, workspace: &Workspace) -> Result<()> {
        let _alone = WARMING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if self.warm.is_empty() || self.warm_folder.exists() {
            return Ok(());
        }
        let unfinished = self.warm_folder.with_extension("unfinished");
        let mut imitate = host(workspace);
        imitate.arg("imitate").args(&self.warm).args(["--set", &format!("run.seed={}", self.seed)]);
        imitate.arg("--force").arg("--out").arg(&unfinished);
        process::read(&mut imitate)?;
        Ok(fs::rename(&unfinished, &self.warm_folder)?)
    }

    /// One call of the host; a training that was stopped goes on.
    fn stage(&self, workspace: &Workspace, stage: &[String], run: &Path) -> Result<()> {
        if run.join("summary.json").exists() {
            return Ok(());
        }
        let mut command = host(workspace);
        if run.join("checkpoints").exists() {
            command.args(["train", "--resume"]).arg(run);
            process::read(&mut command)?;
            return Ok(());
        }
        if run.exists() {
            fs::remove_dir_all(run)?;
        }
        for argument in stage {
            command.arg(self.filled_in(argument)?);
        }
        let name = run.file_name().unwrap_or_default().to_string_lossy();
        command.args(&self.train).args(["--set", &format!("run.seed={}", self.seed)]);
        command.args(["--set", &format!("run.dir={:?}", self.folder.display().to_string())]);
        process::read(command.args(["--set", &format!("run.name={name:?}")]))?;
        Ok(())
    }

    fn filled_in(&self, argument: &str) -> Result<String> {
        let mut text = argument
            .replace("{warm}", &self.warm_folder.display().to_string())
            .replace("{cell}", &self.folder.display().to_string())
            .replace("{seed}", &self.seed.to_string());
        while let Some((before, rest)) = text.split_once("{last:") {
            let (run, after) = rest.split_once('}').context("`{last:` has no end")?;
            let last = last_checkpoint(&self.folder.join(run))?;
            text = format!("{before}{}{after}", last.display());
        }
        Ok(text)
    }
}

fn host(workspace: &Workspace) -> Command {
    let mut command = Command::new(workspace.target_dir.join("release/host"));
    command.current_dir(&workspace.root);
    command
}

fn last_checkpoint(run: &Path) -> Result<PathBuf> {
    let folder = run.join("checkpoints");
    let entries = fs::read_dir(&folder).with_context(|| format!("`{}`", folder.display()))?;
    let steps = entries.filter_map(|entry| Some(entry.ok()?.path()));
    steps.max().with_context(|| format!("`{}` has no checkpoint", folder.display()))
}

/// What the runs of a cell, one after the other, came to.
fn found(workspace: &Workspace, runs: &[PathBuf]) -> Result<Found> {
    let last = runs.last().context("a row has a stage")?;
    let (commit, changed) = build(workspace)?;
    let mut found = Found {
        commit,
        changed,
        before: outcomes(last, false)?,
        after: outcomes(last, true)?,
        acts: 0,
        completion_tokens: 0,
        seconds: 0.0,
        curve: Vec::new(),
        figures: BTreeMap::new(),
    };
    for run in runs {
        let before = found.acts;
        let lines = lines(&run.join("metrics.jsonl"))?;
        for line in &lines {
            let acts = before + line["totals"]["acts"].as_u64().unwrap_or_default();
            if let Some(success) = line["validation"]["greedy"]["success"].as_f64() {
                found.curve.push((acts, success));
            }
        }
        let line = lines.last().context("a run has lines")?;
        let total = |name: &str| line["totals"][name].as_u64().unwrap_or_default();
        found.acts += total("acts");
        found.completion_tokens += total("completion_tokens");
        found.seconds += line["timing"]["totals"]["cpu_seconds"].as_f64().unwrap_or_default();
        figures("", &line["critics"], &mut found.figures);
        figures("", &line["information"], &mut found.figures);
    }
    Ok(found)
}

/// Every number below a value, by its path.
fn figures(path: &str, value: &Value, all: &mut BTreeMap<String, f64>) {
    if let Some(number) = value.as_f64() {
        all.insert(path.trim_start_matches('.').to_owned(), number);
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        figures(&format!("{path}.{name}"), value, all);
    }
}

/// The greedy outcomes on test tasks, in their order: those of the first step, or the last.
fn outcomes(run: &Path, after: bool) -> Result<String> {
    let lines = lines(&run.join("outcomes.jsonl"))?;
    let of_test = lines
        .iter()
        .filter(|line| line["split"] == "test" && line["answers"] == "greedy")
        .filter_map(|line| Some((line["step"].as_u64()?, line["task"].as_u64()?, &line["solved"])));
    let steps = of_test.clone().map(|(step, ..)| step);
    let Some(step) = (if after { steps.max() } else { steps.min() }) else {
        bail!("`{}` has looked at no test tasks", run.display());
    };
    let of_step = of_test.filter(|(of, ..)| *of == step);
    let tasks: BTreeMap<u64, bool> =
        of_step.map(|(_, task, solved)| (task, solved == &Value::Bool(true))).collect();
    Ok(tasks.values().map(|solved| if *solved { '1' } else { '0' }).collect())
}

fn lines(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| format!("reading `{}`", path.display()))?;
    let line = |line: &str| serde_json::from_str(line).map_err(anyhow::Error::from);
    text.lines().map(line).collect()
}

/// The commit of the sources, and whether any that a program is made of were changed.
fn build(workspace: &Workspace) -> Result<(String, bool)> {
    let git = |arguments: &[&str]| {
        process::read(Command::new("git").args(arguments).current_dir(&workspace.root))
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?.trim().to_owned();
    let changed = git(&["status", "--porcelain", "--", "host", "plugin-sdk", "plugins", "wit"])?;
    Ok((commit, !changed.trim().is_empty()))
}
