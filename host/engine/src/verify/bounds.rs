//! Steps of another kind of processor, computed again as far as that can be said: from the answers
//! that the run stored, and in two orders of summation. What differs by order is what last digits
//! come to; what the run left may not be much further away.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::again::Again;
use crate::report;
use troupe_core::archive::{list_tables, table_file};
use troupe_core::config::Config;
use troupe_core::table::{Row, read_table};
use troupe_training::checkpoint::load_step;
use troupe_training::training::Training;
use troupe_training::verification::Fault;

/// How many times as far from what is computed here as the other order is, the run may be. Other
/// processors add up in still other orders; in practice they are as far as the orders are.
const FACTOR: f64 = 8.0;
/// What differences of weights are bounded by at least, as a share of how far steps moved them.
const LEAST: f64 = 1e-5;
/// Advantages are computed in 64 bits from rewards that are stored, and stored in 32.
const ADVANTAGE: f32 = 1e-5;

/// What was found of the steps between two kept checkpoints, of one policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// The checkpoint before them.
    pub from: usize,
    /// The checkpoint after them.
    pub to: usize,
    /// The policy.
    pub policy: String,
    /// Distance of the run's weights from those computed here, as a share of how far the steps
    /// moved them.
    pub differs: f64,
    /// The same of the other order of summation.
    pub orders: f64,
}

impl Bounds {
    fn limit(&self) -> f64 {
        (FACTOR * self.orders).max(LEAST)
    }

    /// Whether a fault says that these are exceeded.
    pub fn is_meant_by(&self, fault: &Fault) -> bool {
        self.fault().as_ref() == Some(fault)
    }

    fn fault(&self) -> Option<Fault> {
        // What is no number is out of bounds, too.
        let is_within = self.differs <= self.limit();
        (!is_within).then(|| Fault::Bounds {
            from: self.from,
            to: self.to,
            policy: self.policy.clone(),
            differs: percent(self.differs),
            limit: percent(self.limit()),
        })
    }
}

/// A share in percent, with two figures however small it is.
pub fn percent(share: f64) -> String {
    format!("{:.1e} %", 100.0 * share)
}

/// Kept checkpoints that follow on each other and have all tables between them.
pub fn stretches(run: &Path, checkpoints: &[usize]) -> anyhow::Result<Vec<(usize, usize)>> {
    let tables: Vec<usize> = list_tables(run)?.into_iter().map(|(step, _)| step).collect();
    let last = checkpoints.iter().max().copied().unwrap_or(0);
    // A step takes its answers from the table of its number, counted from the first.
    let numbered: Vec<usize> = (1..=tables.len()).collect();
    let are_all = tables == numbered && tables.len() >= last;
    let pairs = checkpoints.windows(2).map(|pair| (pair[0], pair[1]));
    Ok(pairs.filter(|_| are_all).collect())
}

/// Compute one of them, and say what is not as the run has it.
pub fn compute(
    again: &Again,
    config: &Config,
    (from, to): (usize, usize),
) -> anyhow::Result<(Vec<Bounds>, Vec<Fault>)> {
    let run = std::path::absolute(again.run)?;
    let tokens = config.train.microbatch_tokens;
    let others = if tokens > 1024 { 1024 } else { 4 * tokens };
    let folder = tempfile::tempdir()?;
    let (here, there) = (folder.path().join("here"), folder.path().join("there"));
    let one = go_on(again, &run, (from, to), (&here, tokens))?;
    let left = load_step(&run.join("checkpoints"), to)?.path;
    let before = load_step(&run.join("checkpoints"), from)?.path;
    let [run_is, moved] = [one.distances(&left)?, one.distances(&before)?];
    let mut faults = Vec::new();
    for step in from + 1..=to {
        let tables = [&run, &here].map(|folder| folder.join("table").join(table_file(step)));
        let [stored, computed] = [read_table(&tables[0])?, read_table(&tables[1])?];
        if !are_alike(&stored, &computed) {
            faults.push(Fault::Recomputed { step, what: "column of advantages".to_owned() });
        }
    }
    one.stop()?;
    let other = go_on(again, &run, (from, to), (&there, others))?;
    let order_is = other.distances(&load_step(&here.join("checkpoints"), to)?.path)?;
    let bounds = bounds((from, to), &moved, &run_is, &order_is);
    faults.extend(bounds.iter().filter_map(Bounds::fault));
    Ok((bounds, faults))
}

fn bounds(
    (from, to): (usize, usize),
    moved: &BTreeMap<String, f64>,
    run_is: &BTreeMap<String, f64>,
    order_is: &BTreeMap<String, f64>,
) -> Vec<Bounds> {
    let of = |(policy, moved): (&String, &f64)| {
        let share =
            |of: &BTreeMap<String, f64>| of.get(policy).copied().unwrap_or(f64::NAN) / moved;
        // Of a policy that did not move, any distance is too far.
        let [differs, orders] = match *moved > 0.0 {
            true => [share(run_is), share(order_is)],
            false => [run_is.get(policy).copied().unwrap_or(f64::NAN), 0.0],
        };
        Bounds { from, to, policy: policy.clone(), differs, orders }
    };
    moved.iter().map(of).collect()
}

/// The run from one checkpoint to another, in a folder of its own, learning from stored answers.
fn go_on(
    again: &Again,
    run: &Path,
    (from, to): (usize, usize),
    (path, tokens): (&Path, usize),
) -> anyhow::Result<Training> {
    again.lay_out(path, from)?;
    let sets = [
        format!("rollout.tables={}", toml::Value::from(vec![run.display().to_string()])),
        format!("train.microbatch_tokens={tokens}"),
        "validation.every=0".to_owned(),
        "validation.tasks=1".to_owned(),
        "validation.tasks_during_training=1".to_owned(),
        "validation.samples=1".to_owned(),
        "run.recorded_episodes=0".to_owned(),
    ];
    let mut training = again.resume(path, from, &sets)?;
    let bar = report::Bar::new("verify", from, to, "steps");
    while training.progress().step < to {
        training.step()?;
        bar.step_to(training.progress().step, String::new());
        if training.progress().step < to {
            training = again.carry_on(path, training, &sets)?;
        }
    }
    bar.finish();
    Ok(training)
}

fn are_alike(stored: &[Row], computed: &[Row]) -> bool {
    let is_alike = |(stored, computed): (&Row, &Row)| match (stored.advantage, computed.advantage) {
        (Some(stored), Some(computed)) => {
            (stored - computed).abs() <= ADVANTAGE * stored.abs().max(1.0)
        }
        (stored, computed) => stored == computed,
    };
    stored.len() == computed.len() && stored.iter().zip(computed).all(is_alike)
}
