//! `host plugin bench`: what a plugin costs, in microseconds on one thread.

use std::time::{Duration, Instant};

use super::super::report;
use crate::plugin::{EnvironmentPlugin, Move, PluginFailure, PluginLibrary, Seat, Split, Task};

/// How long each figure is measured.
const BUDGET: Duration = Duration::from_millis(700);

pub fn run(library: &PluginLibrary) -> anyhow::Result<()> {
    for environment in library.environments() {
        report::line(&format!("environment {}", environment.name()));
        bench_environment(environment)?;
    }
    if library.environments().is_empty() {
        report::line("there is no environment in it to measure");
    }
    Ok(())
}

fn bench_environment(environment: &EnvironmentPlugin) -> anyhow::Result<()> {
    let settings = environment.settings(&toml::Table::new())?.configured().to_vec();
    let seat = Seat::new("player");
    let seats = vec![seat.clone()];
    let task = Task { split: Split::Train, seed: 0, settings, seats, entry: None };
    let state = environment.start(&task)?.save()?;
    let expert = environment.resume(&state)?.demonstrate(&seat)?;
    let mut rows = vec![
        measure("start a task, save it", || environment.start(&task)?.save().map(drop))?,
        measure("resume it in a fresh instance", || environment.resume(&state).map(drop))?,
        measure("resume, observe", || environment.resume(&state)?.observe(&seat).map(drop))?,
    ];
    if let Some(action) = expert {
        let moves = vec![Move { seat: seat.clone(), action }];
        rows.push(measure("fork: resume, act, observe, save", || {
            let mut live = environment.resume(&state)?;
            live.act(moves.clone())?;
            live.observe(&seat)?;
            live.save().map(drop)
        })?);
    }
    report::table(&["what", "µs", "per second"], &rows);
    Ok(())
}

fn measure(
    what: &str,
    mut once: impl FnMut() -> Result<(), PluginFailure>,
) -> Result<Vec<String>, PluginFailure> {
    once()?;
    let (started, mut count) = (Instant::now(), 0_u32);
    while started.elapsed() < BUDGET {
        once()?;
        count += 1;
    }
    let each = started.elapsed().as_secs_f64() / f64::from(count);
    Ok(vec![what.to_owned(), format!("{:.1}", 1e6 * each), format!("{:.0}", 1.0 / each)])
}
