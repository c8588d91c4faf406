//! `cargo xtask gpu`: everything that a card can show, part by part, on one that is there or on the
//! pretended one. A part that is done is not done again.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::cache::fresh_dir;
use crate::process;
use crate::progress::Elapsed;
use crate::workspace::Workspace;
use troupe_core::storage::write_file;

const PAGE: &str = "docs/gpu.md";
/// Where the page's figures begin.
const FIGURES: &str = "\n## Figures\n";
const SMOLLM: &str = "models/SmolLM2-135M-Instruct";
/// How crates are chosen, so that nothing is compiled twice.
const REST: [&str; 4] = ["--release", "--workspace", "--exclude", "xtask"];

/// What was asked for.
#[derive(Debug)]
pub struct Asked {
    /// On the pretended card, with little work.
    pub pretend: bool,
    /// Do what is done once more.
    pub again: bool,
    /// A model for a team of adapters.
    pub model: Option<PathBuf>,
    /// For how long that is trained.
    pub minutes: f64,
}

/// What was found, as it is kept.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Found {
    card: String,
    commit: String,
    parts: Vec<Part>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Part {
    name: String,
    seconds: f64,
    said: String,
}

/// The card, and where results are kept.
struct Bench<'a> {
    workspace: &'a Workspace,
    asked: &'a Asked,
    environment: Vec<(String, String)>,
    folder: PathBuf,
    found: Found,
}

/// Tries everything and writes the page.
pub fn run(workspace: &Workspace, asked: &Asked) -> Result<()> {
    let mut bench = Bench::new(workspace, asked)?;
    bench.part("tests", Bench::tests)?;
    bench.part("log-probabilities", Bench::logprobs)?;
    bench.part("speed", Bench::speed)?;
    bench.part("arithmetic", |bench| bench.train("arithmetic", &bench.sums()))?;
    if let Some(model) = &asked.model {
        let model = fs::canonicalize(model).with_context(|| format!("`{}`", model.display()))?;
        bench.part("team", |bench| bench.train("team", &bench.team(&model)))?;
    }
    bench.write_page()
}

impl<'a> Bench<'a> {
    fn new(workspace: &'a Workspace, asked: &'a Asked) -> Result<Self> {
        let (card, mut environment) = if asked.pretend {
            let mut ask = workspace.cargo();
            ask.args(["run", "--quiet", "--release", "--package", "pretend-cuda"]);
            let folder = process::read(&mut ask)?.trim().to_owned();
            ("a pretended card".to_owned(), vec![("LD_LIBRARY_PATH".to_owned(), folder)])
        } else {
            let names = ["--query-gpu=name", "--format=csv,noheader"];
            let said = process::read(Command::new("nvidia-smi").args(names)).context(
                "no card was found; `cargo xtask gpu --pretend` tries the same on a pretended one",
            )?;
            let name = said.lines().next().unwrap_or_default().trim().to_owned();
            (name, vec![("TROUPE_CARD".to_owned(), "real".to_owned())])
        };
        environment.push(("TROUPE_DEVICE".to_owned(), "cuda:0".to_owned()));
        let mut git = Command::new("git");
        git.args(["rev-parse", "--short", "HEAD"]).current_dir(&workspace.root);
        let commit = process::read(&mut git).unwrap_or_default().trim().to_owned();
        let name: String =
            card.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        let folder = workspace.target_dir.join("gpu").join(name.to_lowercase());
        let known = fs::read(folder.join("found.json")).ok();
        let known = known.and_then(|text| serde_json::from_slice::<Found>(&text).ok());
        let known = known.filter(|known| known.commit == commit && !asked.again);
        if known.is_none() {
            // Runs of another commit would be gone on with, and say nothing of this one.
            fresh_dir(&folder)?;
        }
        let found = known.unwrap_or(Found { card, commit, parts: Vec::new() });
        Ok(Bench { workspace, asked, environment, folder, found })
    }

    /// One part; what it says is kept.
    fn part(&mut self, name: &str, work: impl FnOnce(&Self) -> Result<String>) -> Result<()> {
        if self.found.parts.iter().any(|part| part.name == name) {
            eprintln!("== {name}: done before");
            return Ok(());
        }
        eprintln!("== {name}");
        let elapsed = Elapsed::start();
        let started = std::time::Instant::now();
        let said = work(self).with_context(|| format!("the part `{name}` failed"))?;
        eprintln!("== {name}: done in {elapsed}");
        let seconds = started.elapsed().as_secs_f64();
        self.found.parts.push(Part { name: name.to_owned(), seconds, said });
        let path = self.folder.join("found.json");
        Ok(write_file(&path, &serde_json::to_vec_pretty(&self.found)?)?)
    }

    /// Runs a program with the card and returns what it says; its progress is shown.
    fn said(&self, name: &str, command: &mut Command) -> Result<String> {
        let path = self.folder.join(format!("{name}.txt"));
        command.stdout(File::create(&path)?).current_dir(&self.workspace.root);
        let environment = self.environment.iter();
        process::run(command.envs(environment.map(|(name, value)| (name, value))))?;
        fs::read_to_string(&path).with_context(|| format!("reading `{}`", path.display()))
    }

    fn tests(&self) -> Result<String> {
        let mut tests = self.workspace.cargo();
        tests.arg("test").args(REST).args(["--test", "card"]);
        // The tests bring the pretended card themselves, and start programs that have none.
        let said = match self.asked.pretend {
            true => process::read(&mut tests)?,
            false => self.said("tests", &mut tests)?,
        };
        let results = said.lines().filter(|line| line.starts_with("test result"));
        Ok(results.collect::<Vec<_>>().join("\n"))
    }

    fn logprobs(&self) -> Result<String> {
        let steps = if self.asked.pretend { "2" } else { "20" };
        let run = self.folder.join("log-probabilities");
        self.host(
            &run,
            &["configs/plan-path/quickstart.toml", "--verify-logprobs"],
            &[
                &format!("train.steps={steps}"),
                "policies.shared.dtype=\"bfloat16\"",
                "imitation.max_steps=5",
                "imitation.success=0.0",
                "imitation.ceiling=1.1",
                "validation.tasks=16",
            ],
        )?;
        let largest = metrics(&run)?
            .iter()
            .filter_map(|line| line["largest_logprob_difference"].as_f64())
            .fold(0.0, f64::max);
        Ok(format!("largest |sampler − trainer| in bfloat16 over {steps} steps: {largest:.3}"))
    }

    fn speed(&self) -> Result<String> {
        let model = self.workspace.root.join(SMOLLM);
        let mut bench = self.workspace.cargo();
        bench.args(["bench", "--profile", "release"]).args(&REST[1..]);
        bench.args(["--bench", "language_model", "--", "--dtype", "bfloat16", "--checkpoint"]);
        bench.arg(model);
        match self.asked.pretend {
            true => bench.args(["--rows", "1", "--prompts", "2", "--answers", "2"]).args([
                "--prompt-tokens",
                "32",
                "--max-completion-tokens",
                "8",
                "--step-rows",
                "4",
            ]),
            false => bench.args(["--rows", "1,16,64,256", "--rounds", "3"]),
        };
        self.said("speed", &mut bench)
    }

    /// The sums of `configs/language-models/arithmetic.toml`.
    fn sums(&self) -> Vec<String> {
        let mut arguments = vec!["configs/language-models/arithmetic.toml".to_owned()];
        if self.asked.pretend {
            arguments.extend(few());
        }
        arguments
    }

    /// A drafter and a solver over a model, for some minutes.
    fn team(&self, model: &Path) -> Vec<String> {
        let mut arguments = vec!["configs/language-models/team.toml".to_owned()];
        let seconds = if self.asked.pretend { 20.0 } else { 60.0 * self.asked.minutes };
        for set in [
            format!("policies.base.path={:?}", model.display().to_string()),
            "policies.base.dtype=\"bfloat16\"".to_owned(),
            format!("train.budget.seconds={seconds}"),
            "train.budget.completion_tokens=1_000_000_000".to_owned(),
        ] {
            arguments.extend(["--set".to_owned(), set]);
        }
        if self.asked.pretend {
            arguments.extend(few());
        }
        arguments
    }

    /// Trains, or goes on where a run was stopped, and says what came of it.
    fn train(&self, name: &str, arguments: &[String]) -> Result<String> {
        let run = self.folder.join(name);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.host(&run, &arguments, &[])?;
        let lines = metrics(&run)?;
        let rate = |key: &str| {
            let rates = lines.iter().filter_map(|line| line["timing"][key].as_f64());
            let rates: Vec<f64> = rates.filter(|rate| *rate > 0.0).collect();
            rates.iter().sum::<f64>() / rates.len().max(1) as f64
        };
        let summary: serde_json::Value = read(&run.join("summary.json"))?;
        let solved = |when: &str| 100.0 * summary[when]["success"].as_f64().unwrap_or_default();
        Ok(format!(
            "{} steps in {:.0} s: {:.1} % solved before, {:.1} % after; {:.0} tokens a second \
             drawn, {:.0} learned from",
            summary["steps"],
            summary["seconds"].as_f64().unwrap_or_default(),
            solved("before"),
            solved("after"),
            rate("generated_tokens_per_second"),
            rate("trained_tokens_per_second"),
        ))
    }

    fn host(&self, run: &Path, arguments: &[&str], sets: &[&str]) -> Result<()> {
        let mut host = Command::new(self.workspace.target_dir.join("release/host"));
        if run.join("config.toml").is_file() {
            host.args(["train", "--resume"]).arg(run);
        } else {
            let (dir, name) = (run.parent().unwrap_or(run), run.file_name().unwrap_or_default());
            host.arg("train").args(arguments);
            for set in sets {
                host.args(["--set", set]);
            }
            host.args(["--set", &format!("run.dir={:?}", dir.display().to_string())]);
            host.args(["--set", &format!("run.name={:?}", name.display().to_string())]);
        }
        let name = run.file_name().unwrap_or_default().display().to_string();
        self.said(&name, &mut host).map(drop)
    }

    /// Tables for people. Those of a pretended card are no figures, and stay beside its results.
    fn write_page(&self) -> Result<()> {
        let Found { card, commit, parts } = &self.found;
        let page = fs::read_to_string(self.workspace.root.join(PAGE))?;
        let intro = page.split(FIGURES).next().unwrap_or_default();
        let mut page = format!("{intro}{FIGURES}\nOf {card} and commit {commit}.\n");
        for Part { name, seconds, said } in parts {
            write!(page, "\n### {name}\n\n{}\n\n({seconds:.0} s)\n", said.trim())?;
        }
        let path = match self.asked.pretend {
            true => self.folder.join("gpu.md"),
            false => self.workspace.root.join(PAGE),
        };
        write_file(&path, page.as_bytes())?;
        eprintln!("== written: {}, {}", path.display(), self.folder.join("found.json").display());
        Ok(())
    }
}

/// Settings with which a pretended card is soon done.
fn few() -> Vec<String> {
    let few = [
        "rollout.tasks_per_step=2",
        "rollout.branches=2",
        "rollout.max_completion_tokens=8",
        "train.budget.completion_tokens=40",
        "validation.tasks=2",
        "validation.tasks_during_training=2",
    ];
    few.iter().flat_map(|set| ["--set".to_owned(), (*set).to_owned()]).collect()
}

/// The lines of a run's `metrics.jsonl`.
fn metrics(run: &Path) -> Result<Vec<serde_json::Value>> {
    let path = run.join("metrics.jsonl");
    let text =
        fs::read_to_string(&path).with_context(|| format!("reading `{}`", path.display()))?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn read(path: &Path) -> Result<serde_json::Value> {
    let text = fs::read(path).with_context(|| format!("reading `{}`", path.display()))?;
    Ok(serde_json::from_slice(&text)?)
}
