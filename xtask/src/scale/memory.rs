//! What trees side by side take of memory.

use std::path::Path;

use anyhow::Result;

use super::carried::Line;
use super::measured::Host;

/// Trees of four answers to every state that are played side by side.
const TREES: [usize; 3] = [128, 512, 2048];

/// What was seen.
pub struct MemoryTrace {
    /// Trees, and the bytes that the process had at most.
    pub seen: Vec<(f64, f64)>,
    /// The line through it.
    pub line: Line,
}

/// Play a step with more and more tasks at once, and learn from it.
pub fn trace(host: &Host, folder: &Path) -> Result<MemoryTrace> {
    let seen = TREES.map(|trees| -> Result<(f64, f64)> {
        let many = format!("rollout.tasks_per_step={trees}");
        let little = ["train.steps=1", "validation.tasks=1", "imitation.tasks=1"];
        let sets = [&[&*many, "rollout.store=none"], &little[..]].concat();
        Ok((trees as f64, host.train(folder, &format!("trees-{trees}"), &sets)?.bytes))
    });
    let seen: Vec<(f64, f64)> = seen.into_iter().collect::<Result<_>>()?;
    let line = Line::through(&seen);
    Ok(MemoryTrace { seen, line })
}
