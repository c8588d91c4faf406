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
use super::work::{Places, Work};
use crate::process;
use crate::workspace::Workspace;

/// A row with a seed, filled or not.
pub struct Cell {
    pub method: String,
    pub seed: u64,
    quick: bool,
    row: Row,
    /// What the method's rows of this seed begin with.
    warm: Work,
    work: Work,
    /// What came of it.
    file: PathBuf,
}

/// What came of a cell.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Found {
    /// The commit that made it, and whether sources were changed.
    pub commit: String,
    pub changed: bool,
    /// Of the test tasks in their order, in how many of `of` files greedy answers solved each;
    /// before the last run, and after everything. Empty if nothing was asked of test tasks.
    pub before: String,
    pub after: String,
    pub of: u8,
    /// What all runs of the cell spent.
    pub acts: u64,
    pub completion_tokens: u64,
    pub seconds: f64,
    /// Success on validation tasks by the acts that were made until then.
    pub curve: Vec<(u64, f64)>,
    /// Numbers by their paths: what the last step's line says of critics and information, and what
    /// calls that are no runs printed.
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
        let folder = workspace.target_dir.join(name).join(&method.name);
        let kept = match quick {
            true => folder.join("cells"),
            false => workspace.root.join("docs/methods/cells").join(&method.name),
        };
        let work = folder.join(format!("{}-{seed}", row.name));
        Cell {
            method: method.name.clone(),
            seed,
            quick,
            row: row.clone(),
            warm: Work::of(
                &folder.join(format!("warm-{seed}")),
                &method.warm,
                (plan, method),
                seed,
            ),
            work: Work::of(&work, &row.stages, (plan, method), seed),
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
        let (warm, cell) = (&*self.warm.folder, &*self.work.folder);
        let places = Places { warm, cell, seed: self.seed, quick: self.quick };
        {
            let _alone = WARMING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            self.warm.finish(workspace, &places)?;
        }
        self.work.finish(workspace, &places)?;
        let found = self.harvest(workspace)?;
        let folder = self.file.parent().context("a cell has a folder")?;
        fs::create_dir_all(folder)?;
        let unfinished = self.file.with_extension("unfinished");
        fs::write(&unfinished, serde_json::to_string(&found)? + "\n")?;
        fs::rename(&unfinished, &self.file)?;
        fs::remove_dir_all(&self.work.folder)?;
        Ok(())
    }

    /// What its calls came to.
    fn harvest(&self, workspace: &Workspace) -> Result<Found> {
        let (commit, changed) = build(workspace)?;
        let mut found = Found { commit, changed, ..Found::nothing() };
        for stage in &self.work.stages {
            match stage.command.as_str() {
                "train" => found.take_in(&self.work.made_by(stage))?,
                "imitate" => {}
                _ => {
                    let text = fs::read_to_string(self.work.printed_by(stage))?;
                    if let Ok(value) = serde_json::from_str(&text) {
                        figures(&stage.name, &value, &mut found.figures);
                    }
                }
            }
        }
        if !self.row.outcomes.is_empty() {
            (found.after, found.of) = self.solved()?;
        }
        Ok(found)
    }

    /// Of each task, in how many files it is solved, or whether in any; and of how many.
    fn solved(&self) -> Result<(String, u8)> {
        let mut counts: BTreeMap<u64, u8> = BTreeMap::new();
        for name in &self.row.outcomes {
            let file = self.work.folder.join(name);
            let found = lines(&file)?;
            for line in found.iter().filter(|line| line["answers"] == "greedy") {
                let task = line["task"].as_u64().context("an outcome has a task")?;
                *counts.entry(task).or_default() += u8::from(line["solved"] == true);
            }
        }
        let files = u8::try_from(self.row.outcomes.len())?;
        let of = if self.row.any { 1 } else { files };
        Ok((counts.values().map(|count| char::from(b'0' + (*count).min(of))).collect(), of))
    }
}

impl Found {
    fn nothing() -> Self {
        Found {
            commit: String::new(),
            changed: false,
            before: String::new(),
            after: String::new(),
            of: 1,
            acts: 0,
            completion_tokens: 0,
            seconds: 0.0,
            curve: Vec::new(),
            figures: BTreeMap::new(),
        }
    }

    /// A number by its path, in which `*` stands for any key; of several the mean. `acts to 0.8` is
    /// how many acts were made when that share of validation tasks was first solved.
    pub fn figure(&self, path: &str) -> Option<f64> {
        if let Some(share) = path.strip_prefix("acts to ") {
            let share: f64 = share.parse().ok()?;
            let reached = self.curve.iter().find(|(_, success)| *success >= share);
            return reached.map(|(acts, _)| *acts as f64);
        }
        let is_meant = |name: &str| {
            let (asked, keys) = (path.split('.'), name.split('.'));
            let alike = |(asked, key): (&str, &str)| asked == "*" || asked == key;
            asked.clone().count() == keys.clone().count() && asked.zip(keys).all(alike)
        };
        let meant = self.figures.iter().filter(|(name, _)| is_meant(name));
        let numbers: Vec<f64> = meant.map(|(_, number)| *number).collect();
        (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
    }

    /// Add what a run came to, after those before it.
    fn take_in(&mut self, run: &Path) -> Result<()> {
        (self.before, self.after) = (outcomes(run, false)?, outcomes(run, true)?);
        let lines = lines(&run.join("metrics.jsonl"))?;
        for line in &lines {
            let acts = self.acts + line["totals"]["acts"].as_u64().unwrap_or_default();
            if let Some(success) = line["validation"]["greedy"]["success"].as_f64() {
                self.curve.push((acts, success));
            }
        }
        let line = lines.last().context("a run has lines")?;
        let total = |name: &str| line["totals"][name].as_u64().unwrap_or_default();
        self.acts += total("acts");
        self.completion_tokens += total("completion_tokens");
        self.seconds += line["timing"]["totals"]["cpu_seconds"].as_f64().unwrap_or_default();
        figures("critics", &line["critics"], &mut self.figures);
        figures("information", &line["information"], &mut self.figures);
        Ok(())
    }
}

/// Every number below a value, by its path; of a list, by place. Ends of intervals over tasks are
/// left out: what is shown are intervals over seeds.
fn figures(path: &str, value: &Value, all: &mut BTreeMap<String, f64>) {
    if path.ends_with(".low") || path.ends_with(".high") {
        return;
    }
    if let Some(number) = value.as_f64() {
        all.insert(path.to_owned(), number);
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        figures(&format!("{path}.{name}"), value, all);
    }
    for (place, value) in value.as_array().into_iter().flatten().enumerate() {
        figures(&format!("{path}.{place}"), value, all);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_found_by_its_path_and_averaged_over_any_key() {
        let mut found = Found::nothing();
        let printed = serde_json::json!({"truth": {"stored": {
            "one": {"right": 0.5, "off": 9}, "two": {"right": 0.7},
        }}, "curve": [{"k": 1}, {"k": 2}]});
        figures("late", &printed, &mut found.figures);
        assert_eq!(found.figure("late.truth.stored.one.right"), Some(0.5));
        assert_eq!(found.figure("late.truth.stored.*.right"), Some(0.6));
        assert_eq!(found.figure("late.curve.1.k"), Some(2.0));
        assert_eq!(found.figure("late.truth.stored"), None);
        found.curve = vec![(0, 0.2), (50, 0.85), (90, 0.8)];
        assert_eq!(found.figure("acts to 0.8"), Some(50.0));
        assert_eq!(found.figure("acts to 0.9"), None);
    }
}
