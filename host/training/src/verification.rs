//! Whether a run's files are what its steps left: each against the chain of digests, and the
//! summary against the figures that it is made of. What was forged with its chain made anew shows
//! only where steps are computed again.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::checkpoint::{checkpoint_name, steps_of, verify};
use crate::manifest::Manifest;
use crate::run::{ChainLog, Link, digest_of_metrics, digests_of_outcomes, root};
use troupe_core::archive::{list_tables, read_lines};
use troupe_core::storage::{StorageError, digest_file, read_json};

/// Something that is not what a run left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "fault")]
pub enum Fault {
    /// A link is not tied to the one before.
    #[error("the chain is broken at step {step}")]
    Link {
        /// The step.
        step: usize,
    },
    /// The chain lacks a step.
    #[error("the chain has no step {step}")]
    Gap {
        /// The step.
        step: usize,
    },
    /// A file of a step is not the one it left.
    #[error("{what} of step {step} is not what the step left")]
    Changed {
        /// The step.
        step: usize,
        /// What.
        what: &'static str,
    },
    /// A checkpoint is not whole.
    #[error("the checkpoint of step {step}: {reason}")]
    Checkpoint {
        /// The step.
        step: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A checkpoint's policy has other weights than its step left.
    #[error(
        "the weights of `{policy}` in the checkpoint of step {step} are not what the step left"
    )]
    Weights {
        /// The step.
        step: usize,
        /// The policy.
        policy: String,
    },
    /// The summary says something else than the figures.
    #[error("summary.json: `{figure}` is not what the steps came to")]
    Summary {
        /// The figure.
        figure: &'static str,
    },
    /// Weights are further from what stored answers make of those before than last digits explain.
    #[error(
        "the weights of `{policy}` in the checkpoint of step {to} are not what the stored answers \
         make of step {from}'s: they differ by {differs} of what the steps moved them, and {limit} \
         would be last digits"
    )]
    Bounds {
        /// The checkpoint before.
        from: usize,
        /// This one.
        to: usize,
        /// The policy.
        policy: String,
        /// How far it is.
        differs: String,
        /// How far it may be.
        limit: String,
    },
    /// A step that was computed again came out otherwise.
    #[error("step {step}, computed again, has another {what}")]
    Recomputed {
        /// The step.
        step: usize,
        /// What is otherwise.
        what: String,
    },
}

/// What the files of a run say, each against the chain.
///
/// # Errors
/// If a file cannot be read, or the run has no chain.
pub fn check(run: &Path, manifest: Option<&Manifest>) -> Result<Vec<Fault>, StorageError> {
    let chain = chain_of(run)?;
    let mut faults = ties(&chain, manifest);
    let (metrics, _) = read_lines(&run.join("metrics.jsonl"))?;
    faults.extend(files(run, &chain, &metrics)?);
    faults.extend(summary(run, &metrics)?);
    for step in steps_of(&run.join("checkpoints"))? {
        let path = run.join("checkpoints").join(checkpoint_name(step));
        if let Err(error) = verify(&path) {
            faults.push(Fault::Checkpoint { step, reason: error.to_string() });
        }
    }
    Ok(faults)
}

/// The chain of a run.
///
/// # Errors
/// If it has none.
pub fn chain_of(run: &Path) -> Result<Vec<Link>, StorageError> {
    let chain = ChainLog { folder: run }.read()?;
    if chain.is_empty() {
        let reason = "it has no chain of digests (chain.jsonl): it was begun by an earlier version, \
                      or is no run";
        return Err(StorageError::Unfit { path: run.to_owned(), reason: reason.to_owned() });
    }
    Ok(chain)
}

fn ties(chain: &[Link], manifest: Option<&Manifest>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut before = root(manifest);
    for (place, link) in chain.iter().enumerate() {
        if !link.is_tied_to(&before) {
            faults.push(Fault::Link { step: link.step });
        }
        if link.step != place {
            faults.push(Fault::Gap { step: place });
            break;
        }
        before.clone_from(&link.link);
    }
    faults
}

fn files(run: &Path, chain: &[Link], metrics: &[Value]) -> Result<Vec<Fault>, StorageError> {
    let step_of = |line: &Value| line["step"].as_u64().unwrap_or_default() as usize;
    let lines: BTreeMap<usize, String> =
        metrics.iter().map(|line| (step_of(line), digest_of_metrics(line.clone()))).collect();
    let text = std::fs::read(run.join("outcomes.jsonl")).unwrap_or_default();
    let outcomes = digests_of_outcomes(&String::from_utf8_lossy(&text));
    let tables: BTreeMap<usize, _> = list_tables(run)?.into_iter().collect();
    let mut faults = Vec::new();
    for link in chain {
        let step = link.step;
        let mut compare = |what, is_same: bool| {
            if !is_same {
                faults.push(Fault::Changed { step, what });
            }
        };
        compare("the line of metrics.jsonl", lines.get(&step) == Some(&link.metrics));
        compare("the outcomes", outcomes.get(&step) == link.outcomes.as_ref());
        // Tables may be thrown away, but not made otherwise.
        if let (Some(left), Some(path)) = (&link.table, tables.get(&step)) {
            compare("the table", digest_file(path)? == *left);
        }
        if link.table.is_none() {
            compare("the table", !tables.contains_key(&step));
        }
    }
    Ok(faults)
}

/// The summary's figures are those of the first and the last step.
fn summary(run: &Path, metrics: &[Value]) -> Result<Vec<Fault>, StorageError> {
    let path = run.join("summary.json");
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let summary: Value = read_json(&path)?;
    let (Some(first), Some(last)) = (metrics.first(), metrics.last()) else {
        return Ok(vec![Fault::Summary { figure: "steps" }]);
    };
    let tested = |line: &Value| line["test"]["greedy"].clone();
    let after = if tested(last).is_null() { tested(first) } else { tested(last) };
    let void: u64 = metrics
        .iter()
        .map(|line| {
            line["void"]
                .as_object()
                .map_or(0, |causes| causes.values().filter_map(Value::as_u64).sum())
        })
        .sum();
    let best = &summary["best"];
    let validated = |step: &Value| {
        let line = metrics.iter().find(|line| line["step"] == *step);
        line.map_or(Value::Null, |line| line["validation"]["greedy"]["success"].clone())
    };
    let figures = [
        ("before", summary["before"] == tested(first)),
        ("after", summary["after"] == after),
        ("sampled", {
            let pair = (&summary["sampled"]["before"], &summary["sampled"]["after"]);
            let sampled = |line: &Value| line["test"]["sampled"].clone();
            pair.0.is_null() || (*pair.0 == sampled(first) && *pair.1 == sampled(last))
        }),
        ("steps", summary["steps"] == last["step"]),
        ("void_episodes", summary["void_episodes"] == void),
        ("best.validation", best.is_null() || best["validation"] == validated(&best["step"])),
    ];
    let wrong = figures.into_iter().filter(|(_, is_right)| !is_right);
    Ok(wrong.map(|(figure, _)| Fault::Summary { figure }).collect())
}

/// Which steps to compute again, and from which checkpoint: from each of them on, up to a step.
pub fn plan(chosen: &[usize], checkpoints: &[usize]) -> Vec<(usize, usize)> {
    let mut stretches: BTreeMap<usize, usize> = BTreeMap::new();
    for step in chosen {
        let before = checkpoints.iter().filter(|kept| *kept < step).max();
        if let Some(from) = before {
            let to = stretches.entry(*from).or_default();
            *to = (*to).max(*step);
        }
    }
    stretches.into_iter().collect()
}

/// What is otherwise in a step that was computed again.
pub fn compare(left: &Link, again: &Link) -> Vec<Fault> {
    let step = left.step;
    let fault = |what: &str| Fault::Recomputed { step, what: what.to_owned() };
    let mut faults = Vec::new();
    for (policy, digest) in &left.weights {
        if again.weights.get(policy) != Some(digest) {
            faults.push(fault(&format!("`{policy}`: its weights")));
        }
    }
    if left.table.is_some() && left.table != again.table {
        faults.push(fault("table of answers"));
    }
    if left.outcomes != again.outcomes {
        faults.push(fault("list of outcomes"));
    }
    if left.metrics != again.metrics {
        faults.push(fault("line of metrics"));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_computed_again_from_the_nearest_checkpoint_before_them() {
        assert_eq!(plan(&[3, 12, 1, 10], &[0, 2, 10, 20]), [(0, 1), (2, 10), (10, 12)]);
        assert_eq!(plan(&[5], &[5, 6]), [], "none before it was kept");
    }
}
