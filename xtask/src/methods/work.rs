//! Calls of the host, one after the other, in a folder: those that were made are not made again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::plan::{Method, Plan};
use crate::process;
use crate::workspace::Workspace;

/// Calls, and where they work.
pub struct Work {
    pub folder: PathBuf,
    pub stages: Vec<Stage>,
}

/// A call: what it is called, the command, and its arguments.
pub struct Stage {
    pub name: String,
    pub command: String,
    arguments: Vec<String>,
}

/// What stands for placeholders.
pub struct Places<'a> {
    pub warm: &'a Path,
    pub cell: &'a Path,
    pub seed: u64,
    pub quick: bool,
}

impl Work {
    pub fn of(
        folder: &Path,
        calls: &[Vec<String>],
        (plan, method): (&Plan, &Method),
        seed: u64,
    ) -> Self {
        let stages = calls.iter().map(|call| Stage::of(&method.spell_out(call), plan, seed));
        let stages = stages.collect();
        Work { folder: folder.to_owned(), stages }
    }

    /// Make the calls that are left.
    pub fn finish(&self, workspace: &Workspace, places: &Places) -> Result<()> {
        fs::create_dir_all(&self.folder)?;
        for stage in &self.stages {
            let arguments: Vec<String> =
                stage.arguments.iter().map(|text| places.fill_in(text)).collect::<Result<_>>()?;
            match stage.command.as_str() {
                "train" => self.train(workspace, stage, &arguments)?,
                "imitate" => self.imitate(workspace, stage, &arguments)?,
                _ => self.ask(workspace, stage, &arguments)?,
            }
        }
        Ok(())
    }

    /// Where a training's run lies, or the policies that an imitation makes.
    pub fn made_by(&self, stage: &Stage) -> PathBuf {
        self.folder.join(&stage.name)
    }

    /// What any other call printed.
    pub fn printed_by(&self, stage: &Stage) -> PathBuf {
        self.folder.join(format!("{}.json", stage.name))
    }

    /// A training that was stopped goes on.
    fn train(&self, workspace: &Workspace, stage: &Stage, arguments: &[String]) -> Result<()> {
        let run = self.made_by(stage);
        if run.join("summary.json").exists() {
            return Ok(());
        }
        let mut command = host(workspace);
        if run.join("checkpoints").exists() {
            process::read(command.args(["train", "--resume"]).arg(run))?;
            return Ok(());
        }
        if run.exists() {
            fs::remove_dir_all(&run)?;
        }
        command.arg("train").args(arguments);
        command.args(["--set", &format!("run.dir={:?}", self.folder.display().to_string())]);
        process::read(command.args(["--set", &format!("run.name={:?}", stage.name)]))?;
        Ok(())
    }

    fn imitate(&self, workspace: &Workspace, stage: &Stage, arguments: &[String]) -> Result<()> {
        let made = self.made_by(stage);
        if made.exists() {
            return Ok(());
        }
        let unfinished = made.with_extension("unfinished");
        let mut command = host(workspace);
        command.arg("imitate").args(arguments).arg("--force").arg("--out").arg(&unfinished);
        process::read(&mut command)?;
        Ok(fs::rename(&unfinished, &made)?)
    }

    fn ask(&self, workspace: &Workspace, stage: &Stage, arguments: &[String]) -> Result<()> {
        let printed = self.printed_by(stage);
        if printed.exists() {
            return Ok(());
        }
        let text = process::read(host(workspace).arg(&stage.command).args(arguments))?;
        let unfinished = printed.with_extension("unfinished");
        fs::write(&unfinished, text)?;
        Ok(fs::rename(&unfinished, &printed)?)
    }
}

impl Stage {
    fn of(call: &[String], plan: &Plan, seed: u64) -> Self {
        let first = call.first().map_or("", String::as_str);
        let (name, command) = first.split_once('=').unwrap_or((first, first));
        let own = call.iter().skip(1).cloned();
        let seeded = ["--set".to_owned(), format!("run.seed={seed}")];
        let arguments = match command {
            // What is said later counts.
            "train" => plan
                .train
                .iter()
                .cloned()
                .chain(seeded)
                .chain(own)
                .chain(plan.last().iter().cloned())
                .collect(),
            "imitate" => seeded.into_iter().chain(own).collect(),
            _ => own.collect(),
        };
        Stage { name: name.to_owned(), command: command.to_owned(), arguments }
    }
}

impl Places<'_> {
    fn fill_in(&self, argument: &str) -> Result<String> {
        let mut text = argument
            .replace("{warm}", &self.warm.display().to_string())
            .replace("{cell}", &self.cell.display().to_string())
            .replace("{seed}", &self.seed.to_string());
        while let Some((before, rest)) = text.split_once("{last:") {
            let (run, after) = rest.split_once('}').context("`{last:` has no end")?;
            text = format!("{before}{}{after}", last_checkpoint(Path::new(run))?.display());
        }
        let either = text.split_once('{').and_then(|(before, rest)| {
            let (inside, after) = rest.split_once('}')?;
            let (usual, quick) = inside.split_once('|')?;
            Some(format!("{before}{}{after}", if self.quick { quick } else { usual }))
        });
        Ok(either.unwrap_or(text))
    }
}

/// The host; cells are filled side by side, one processor each.
fn host(workspace: &Workspace) -> Command {
    let mut command = Command::new(workspace.target_dir.join("release/host"));
    command.current_dir(&workspace.root).env("RAYON_NUM_THREADS", "1");
    command
}

fn last_checkpoint(run: &Path) -> Result<PathBuf> {
    let folder = run.join("checkpoints");
    let entries = fs::read_dir(&folder).with_context(|| format!("`{}`", folder.display()))?;
    let steps = entries.filter_map(|entry| Some(entry.ok()?.path()));
    steps.max().with_context(|| format!("`{}` has no checkpoint", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_in() {
        let run = std::env::temp_dir().join(format!("troupe-work-{}", std::process::id()));
        for step in ["step-000002", "step-000010"] {
            fs::create_dir_all(run.join("checkpoints").join(step)).unwrap();
        }
        let places = |quick| Places { warm: Path::new("w"), cell: &run, seed: 7, quick };
        let filled = |quick, text: &str| places(quick).fill_in(text).unwrap();
        assert_eq!(filled(false, "policies.one.path={warm}/start"), "policies.one.path=w/start");
        assert_eq!(filled(false, "run.seed={seed}1"), "run.seed=71");
        assert_eq!(filled(false, "{1000|8}"), "1000");
        assert_eq!(filled(true, "train.steps={40|2}"), "train.steps=2");
        assert_eq!(filled(true, "limits={a=1}"), "limits={a=1}");
        let last = filled(false, "p={last:{cell}}/policies");
        assert_eq!(last, format!("p={}/policies", run.join("checkpoints/step-000010").display()));
        fs::remove_dir_all(&run).unwrap();
    }
}
