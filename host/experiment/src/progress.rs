//! How far a run is, read from its folder while it goes on.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;

use troupe_core::config::TrainConfig;
use troupe_core::totals::{Spent, Totals};

/// The end of the metrics that is looked at: a line has a few thousand characters.
const TAIL: i64 = 1 << 16;

/// What is read of a run's configuration. To load all of it takes long where language models play,
/// and this is done twice a second.
#[derive(Deserialize)]
struct Settings {
    train: TrainConfig,
}

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
    let Some(line) = last_line(&run.join("metrics.jsonl")) else { return 0.0 };
    let text = fs::read_to_string(run.join("config.toml")).unwrap_or_default();
    let Ok(Settings { train }) = toml::from_str(&text) else { return 0.0 };
    let Totals { samples, completion_tokens, .. } = line.totals;
    let spent = train.budget.share_spent(completion_tokens, samples, line.timing.totals.seconds);
    let steps = line.step as f64 / train.steps.max(1) as f64;
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

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::config::Config;

    #[test]
    fn a_run_is_as_far_as_what_it_spent_of_its_budget_or_as_its_steps() {
        let run = tempfile::tempdir().unwrap();
        assert_eq!(share_of(run.path()), 0.0);
        let (totals, timing) = (Totals { samples: 30, ..Totals::default() }, Spent::default());
        let line = serde_json::json!({"step": 5, "totals": totals, "timing": {"totals": timing}});
        fs::write(run.path().join("metrics.jsonl"), format!("{{}}\n{line}\n{{\"step\"")).unwrap();
        for (setting, share) in [("train.steps=20", 0.25), ("train.budget.samples=40", 0.75)] {
            let config = Config::load(None, &[setting.to_owned()]).unwrap();
            let text = toml::to_string(&config).unwrap();
            fs::write(run.path().join("config.toml"), text).unwrap();
            assert_eq!(share_of(run.path()), share, "{setting}");
        }
    }
}
