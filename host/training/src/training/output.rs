//! What a run writes, and what it has gathered for that since it last wrote.

use super::lap::Lap;
use super::publishing::Published;
use crate::run::RunFolder;
use troupe_core::trajectory::Episode;

/// The run's folder, and what goes into it with the next line of metrics.
pub(super) struct Output {
    pub(super) folder: RunFolder,
    /// Held-out episodes that are written down with those of the step.
    pub(super) shown: Vec<Episode>,
    /// What is written down with the step of policies that were published.
    pub(super) published: Published,
    /// The time since the clocks were last read.
    pub(super) lap: Lap,
}

impl Output {
    /// Nothing gathered yet.
    pub(super) fn into(folder: RunFolder) -> Self {
        Output { folder, shown: Vec::new(), published: Published::default(), lap: Lap::begin() }
    }
}
