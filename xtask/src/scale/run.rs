//! What a run takes of time and disk, task by task and answer by answer.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::measured::{Host, Taken, size};

/// Steps of the run that is measured.
const STEPS: usize = 3;

/// What was seen of a run.
pub struct RunTrace {
    /// Episodes of its steps.
    pub episodes: f64,
    /// Answers of its steps.
    pub answers: f64,
    /// Seconds of its steps: drawing answers, playing, learning.
    pub phases: [(&'static str, f64); 3],
    /// Bytes of `outcomes.jsonl`, which has a line for every episode, measurements included.
    pub outcome: f64,
    /// Bytes of the table for an answer.
    pub answer: f64,
    /// Bytes of all other files of a step.
    pub step: f64,
    /// Bytes of a checkpoint.
    pub checkpoint: f64,
    /// What it took in all.
    pub taken: Taken,
}

#[derive(Deserialize)]
struct Line {
    step: usize,
    episodes: usize,
    totals: Totals,
    timing: Timing,
}

#[derive(Deserialize)]
struct Totals {
    samples: f64,
}

#[derive(Deserialize)]
struct Timing {
    seconds: Seconds,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Seconds {
    generation: f64,
    plugins: f64,
    update: f64,
}

/// Train a little, and look at what is left.
pub fn trace(host: &Host, folder: &Path) -> Result<RunTrace> {
    let steps = format!("train.steps={STEPS}");
    let taken = host.train(folder, "run", &[&steps, "checkpoint.keep=1"])?;
    read(&folder.join("run"), taken)
}

fn read(run: &Path, taken: Taken) -> Result<RunTrace> {
    let path = run.join("metrics.jsonl");
    let text = fs::read_to_string(&path).with_context(|| format!("`{}`", path.display()))?;
    let lines: Vec<Line> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let steps = || lines.iter().filter(|line| line.step > 0);
    let answers = lines.last().map_or(0.0, |line| line.totals.samples);
    let sum = |part: fn(&Seconds) -> f64| steps().map(|line| part(&line.timing.seconds)).sum();
    let outcomes = run.join("outcomes.jsonl");
    let ends = fs::read_to_string(&outcomes)?.lines().count().max(1) as f64;
    let apart = ["outcomes.jsonl", "table", "checkpoints"].map(|name| size(&run.join(name)));
    let [outcome, table, checkpoints] = apart;
    let (outcome, table, checkpoints) = (outcome?, table?, checkpoints?);
    let kept = fs::read_dir(run.join("checkpoints"))?.count().max(1) as f64;
    Ok(RunTrace {
        episodes: steps().map(|line| line.episodes as f64).sum(),
        answers,
        phases: [
            ("drawing answers", sum(|seconds| seconds.generation)),
            ("playing", sum(|seconds| seconds.plugins)),
            ("learning", sum(|seconds| seconds.update)),
        ],
        outcome: outcome / ends,
        answer: table / answers.max(1.0),
        step: (size(run)? - outcome - table - checkpoints) / STEPS as f64,
        checkpoint: checkpoints / kept,
        taken,
    })
}
