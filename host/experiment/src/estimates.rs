//! Estimates over the seeds of a row, or of two rows that are compared.

use std::collections::BTreeMap;

use super::error::ExperimentError;
use troupe_core::statistics::Estimate;

/// A figure for each task.
pub(super) type ByTask = BTreeMap<(String, u32), f64>;

/// What `after` has more than `before`, task by task.
pub(super) fn difference(before: &ByTask, after: ByTask) -> ByTask {
    let gain = |(task, share): ((String, u32), f64)| {
        let earlier = before.get(&task)?;
        Some((task, share - earlier))
    };
    after.into_iter().filter_map(gain).collect()
}

/// An estimate of what lies between 0 and 1; nothing without figures.
pub(super) fn share(
    measured: Vec<(u64, ByTask)>,
    label: &str,
) -> Result<Option<Estimate>, ExperimentError> {
    Ok(estimate(measured, label)?.map(|one| one.within(0.0, 1.0)))
}

/// An estimate of what lies between −1 and 1.
pub(super) fn signed(
    measured: Vec<(u64, ByTask)>,
    label: &str,
) -> Result<Option<Estimate>, ExperimentError> {
    Ok(estimate(measured, label)?.map(|one| one.within(-1.0, 1.0)))
}

fn estimate(
    measured: Vec<(u64, ByTask)>,
    label: &str,
) -> Result<Option<Estimate>, ExperimentError> {
    let Some((first, tasks)) = measured.first() else { return Ok(None) };
    for (seed, others) in &measured {
        let differs = |one: &ByTask, other: &ByTask| {
            one.keys().find(|task| !other.contains_key(*task)).cloned()
        };
        let missing = differs(tasks, others).or_else(|| differs(others, tasks));
        if let Some((family, task)) = missing {
            return Err(ExperimentError::Uneven {
                what: label.to_owned(),
                seeds: (*first, *seed),
                task: format!("{task} of `{family}`"),
            });
        }
    }
    let table: Vec<Vec<f64>> =
        measured.iter().map(|(_, tasks)| tasks.values().copied().collect()).collect();
    let has_figures = table.iter().all(|tasks| !tasks.is_empty());
    Ok(has_figures.then(|| Estimate::of(&table)))
}
