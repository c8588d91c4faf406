//! How far a run is, read from its folder while it goes on.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;

use troupe_core::config::Config;
use troupe_core::totals::{Spent, Totals};

/// The end of the metrics that is looked at: a line has a few thousand characters.
const TAIL: i64 = 1 << 16;

#[derive(Deserialize)]
struct Line {
    step: usize,
    totals: Totals,
    timing: Timing,
}

#[derive(Deserialize)]
struct Timing {
    totals: Spent,
}

/// How far a run is, from 0 to 1; 0 before anything can be read of it.
pub(super) fn share_of(run: &Path) -> f64 {
    let Ok(config) = Config::load(Some(&run.join("config.toml")), &[]) else { return 0.0 };
    let Some(line) = last_line(&run.join("metrics.jsonl")) else { return 0.0 };
    let Totals { samples, completion_tokens, .. } = line.totals;
    let budget = &config.train.budget;
    let spent = budget.share_spent(completion_tokens, samples, line.timing.totals.seconds);
    let steps = line.step as f64 / config.train.steps.max(1) as f64;
    spent.unwrap_or(steps).clamp(0.0, 1.0)
}

fn last_line(metrics: &Path) -> Option<Line> {
    let mut file = File::open(metrics).ok()?;
    let length = i64::try_from(file.metadata().ok()?.len()).ok()?;
    file.seek(SeekFrom::End(-length.min(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    tail.lines().rev().find_map(|line| serde_json::from_str(line).ok())
}
