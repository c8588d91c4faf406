//! Whether a run's files are what its steps left: each against the chain of digests, and the
//! summary against the figures that it is made of. What was forged with its chain made anew shows
//! only where steps are computed again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value, json};

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
        before = link.knot(manifest);
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
    let left = lines.into_keys().chain(outcomes.into_keys()).chain(tables.into_keys());
    faults.extend(untied(run, chain, left)?);
    Ok(faults)
}

/// Steps that the chain does not have and that left something all the same. Where the run has come
/// to no end, one more step may have begun, of which there is no checkpoint yet.
fn untied(
    run: &Path,
    chain: &[Link],
    left: impl Iterator<Item = usize>,
) -> Result<Vec<Fault>, StorageError> {
    let last = chain.last().map_or(0, |link| link.step);
    let begun = last + usize::from(!run.join("summary.json").is_file());
    let saved = steps_of(&run.join("checkpoints"))?.into_iter().filter(|step| *step > last);
    let steps: BTreeSet<usize> = left.filter(|step| *step > begun).chain(saved).collect();
    Ok(steps.into_iter().map(|step| Fault::Gap { step }).collect())
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
    let before = &first["test"];
    let after = if last["test"].is_null() { before } else { &last["test"] };
    let families = summary["families"].as_object().cloned().unwrap_or_default();
    let figures = [
        ("before", summary["before"] == before["greedy"]),
        ("after", summary["after"] == after["greedy"]),
        ("sampled", summary["sampled"] == sampled(before, after)),
        ("families", families == by_family(before, after)),
        ("steps", summary["steps"] == last["step"]),
        ("void_episodes", summary["void_episodes"] == void_episodes(metrics)),
        ("taken_back", summary["taken_back"].as_u64().unwrap_or(0) == taken_back(metrics)),
        ("best", is_best(&summary["best"], metrics, &last["step"])),
    ];
    let wrong = figures.into_iter().filter(|(_, is_right)| !is_right);
    Ok(wrong.map(|(figure, _)| Fault::Summary { figure }).collect())
}

/// What training made of sampled success, if it was measured both times.
fn sampled(before: &Value, after: &Value) -> Value {
    match (&before["sampled"], &after["sampled"]) {
        (Value::Null, _) | (_, Value::Null) => Value::Null,
        (before, after) => json!({ "before": before, "after": after }),
    }
}

/// The same of every family.
fn by_family(before: &Value, after: &Value) -> Map<String, Value> {
    let families = before["families"].as_object().into_iter().flatten();
    let change = |(name, before): (&String, &Value)| {
        let after = after["families"].get(name).unwrap_or(before);
        (name.clone(), json!({ "before": before, "after": after }))
    };
    families.map(change).collect()
}

fn void_episodes(metrics: &[Value]) -> u64 {
    let causes = metrics.iter().filter_map(|line| line["void"].as_object());
    causes.flat_map(Map::values).filter_map(Value::as_u64).sum()
}

/// Updates that were taken back.
fn taken_back(metrics: &[Value]) -> u64 {
    let updates = metrics.iter().filter_map(|line| line["updates"].as_object());
    let taken_back = updates.flat_map(Map::values).map(|update| update["taken_back"].as_u64());
    taken_back.flatten().filter(|times| *times > 0).count() as u64
}

/// Whether this is the first of the steps that solved most validation tasks; nothing if that is
/// the last one.
fn is_best(best: &Value, metrics: &[Value], last: &Value) -> bool {
    let validated = metrics.iter().filter(|line| line["step"] != 0).filter_map(|line| {
        let success = line["validation"]["greedy"]["success"].as_f64()?;
        Some((&line["step"], success))
    });
    let found = validated.reduce(|best, next| if next.1 > best.1 { next } else { best });
    match found.filter(|(step, _)| *step != last) {
        None => best.is_null(),
        Some((step, success)) => {
            best["step"] == *step && best["validation"].as_f64() == Some(success)
        }
    }
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
    use crate::run::RunFolder;
    use troupe_core::archive::table_file;
    use troupe_core::config::{Config, RunConfig};
    use troupe_core::storage::{create_folder, write_json};

    /// A run whose steps left these lines.
    fn run_of(folder: &Path, lines: &[Value]) -> RunFolder {
        let config = RunConfig { dir: folder.to_owned(), ..RunConfig::default() };
        let config = Config { run: config, ..Config::default() };
        let run = RunFolder::create(&config, "run").unwrap();
        for line in lines {
            run.append_metrics(line).unwrap();
            run.append_link(line, BTreeMap::new()).unwrap();
        }
        run
    }

    fn faults(run: &RunFolder) -> Vec<Fault> {
        check(run.path(), None).unwrap()
    }

    #[test]
    fn what_lies_beyond_a_chain_that_was_cut_short_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let lines: Vec<Value> = (0..5).map(|step| json!({ "step": step })).collect();
        let run = run_of(folder.path(), &lines);
        assert_eq!(faults(&run), []);
        // A run that was killed may have begun a step.
        run.chain().rewind(Some(3)).unwrap();
        assert_eq!(faults(&run), []);
        let checkpoint = run.checkpoints().join(checkpoint_name(4));
        create_folder(&checkpoint).unwrap();
        assert!(faults(&run).contains(&Fault::Gap { step: 4 }));
        std::fs::remove_dir_all(&checkpoint).unwrap();
        run.chain().rewind(Some(2)).unwrap();
        assert_eq!(faults(&run), [Fault::Gap { step: 4 }]);
        let table = run.path().join("table");
        create_folder(&table).unwrap();
        std::fs::write(table.join(table_file(6)), b"").unwrap();
        assert_eq!(faults(&run), [Fault::Gap { step: 4 }, Fault::Gap { step: 6 }]);
        // A run that has come to its end has begun none.
        write_json(&run.path().join("summary.json"), &json!({})).unwrap();
        assert!(faults(&run).contains(&Fault::Gap { step: 3 }));
    }

    #[test]
    fn a_summary_that_says_something_else_or_leaves_it_out_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let test = |share: f64| {
            let families = json!({ "maze": { "success": share } });
            json!({
                "greedy": { "success": share }, "sampled": { "success": share / 2.0 },
                "families": families,
            })
        };
        let validation = |share: f64| json!({ "greedy": { "success": share } });
        let updates = json!({ "planner": { "taken_back": 2 }, "solver": { "taken_back": 1 } });
        let run = run_of(
            folder.path(),
            &[
                json!({ "step": 0, "test": test(0.25), "validation": validation(1.0) }),
                json!({ "step": 1, "validation": validation(0.75), "updates": updates }),
                json!({ "step": 2, "validation": validation(0.75), "void": { "trap": 3 } }),
                json!({ "step": 3, "test": test(0.5), "validation": validation(0.5) }),
            ],
        );
        let change = |of: &str| json!({ "before": test(0.25)[of], "after": test(0.5)[of] });
        let right = json!({
            "before": test(0.25)["greedy"], "after": test(0.5)["greedy"],
            "sampled": change("sampled"),
            "families": { "maze": change("greedy") },
            "best": { "step": 1, "validation": 0.75 },
            "steps": 3, "void_episodes": 3, "taken_back": 2,
        });
        let found = |summary: &Value| {
            write_json(&run.path().join("summary.json"), summary).unwrap();
            faults(&run)
        };
        assert_eq!(found(&right), []);
        for figure in ["before", "after", "sampled", "families", "best", "steps", "taken_back"] {
            for other in [Value::Null, json!({ "before": 1, "step": 2 })] {
                let mut wrong = right.clone();
                wrong[figure] = other;
                assert_eq!(found(&wrong), [Fault::Summary { figure }]);
            }
        }
    }

    #[test]
    fn steps_are_computed_again_from_the_nearest_checkpoint_before_them() {
        assert_eq!(plan(&[3, 12, 1, 10], &[0, 2, 10, 20]), [(0, 1), (2, 10), (10, 12)]);
        assert_eq!(plan(&[5], &[5, 6]), [], "none before it was kept");
    }
}
