//! Success on tasks, with what is known of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::several::Several;
use troupe_core::statistics::wilson;
use troupe_core::trajectory::Episode;

/// A share of successes with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Success {
    /// Solved tasks over tasks.
    pub success: f64,
    /// Lower end of the 95 % Wilson interval.
    pub low: f64,
    /// Upper end of the 95 % Wilson interval.
    pub high: f64,
    /// Tasks that were tried.
    pub tasks: usize,
    /// Those of them whose episode was void; they count as not solved, so that
    /// failing in another way does not look better.
    #[serde(default)]
    pub void: usize,
}

impl Success {
    /// Of `solved` among `tasks`.
    pub fn new(solved: usize, tasks: usize) -> Self {
        let success = solved as f64 / tasks.max(1) as f64;
        let (low, high) = wilson(success, tasks);
        Success { success, low, high, tasks, void: 0 }
    }

    /// Of some episodes, one for each task.
    pub fn of<'e>(episodes: impl IntoIterator<Item = &'e Episode>) -> Self {
        Success::of_several(episodes, 1)
    }

    /// Of some episodes, so many for each task: the share of them that is solved. The interval is
    /// Wilson's over the tasks, too wide rather than too narrow.
    pub fn of_several<'e>(episodes: impl IntoIterator<Item = &'e Episode>, samples: usize) -> Self {
        let (mut count, mut solved, mut void) = (0, 0, 0);
        for episode in episodes {
            count += 1;
            solved += usize::from(episode.solved());
            void += usize::from(episode.is_void());
        }
        let (success, tasks) = (solved as f64 / count.max(1) as f64, count / samples.max(1));
        let (low, high) = wilson(success, tasks);
        Success { success, low, high, tasks, void }
    }
}

/// Success on tasks that are not trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// With the likeliest token each time.
    pub greedy: Success,
    /// Sampling at the rollout's temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Success>,
    /// With the likeliest token each time, by family.
    #[serde(default)]
    pub families: BTreeMap<String, Success>,
    /// What several sampled answers to a task say together, by family.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub several: BTreeMap<String, Several>,
}

impl Default for HeldOut {
    /// Of no task.
    fn default() -> Self {
        HeldOut {
            greedy: Success::new(0, 0),
            sampled: None,
            families: BTreeMap::new(),
            several: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::trajectory::Ending;

    #[test]
    fn the_interval_agrees_with_wilsons_table() {
        let success = Success::new(486, 512);
        assert!((success.low - 0.9264).abs() < 5e-4, "{success:?}");
        assert!((success.high - 0.9653).abs() < 5e-4, "{success:?}");
        let none = Success::new(0, 20);
        assert_eq!((none.success, none.low), (0.0, 0.0));
        assert!((none.high - 0.1611).abs() < 5e-4, "{none:?}");
        assert_eq!(Success::new(0, 0).high, 1.0);
    }

    #[test]
    fn a_void_episode_counts_as_a_task_that_was_not_solved() {
        let void = Ending::Void { cause: "trap".to_owned(), message: String::new() };
        let success =
            Success::of(&[Ending::Solved, void, Ending::Failed, Ending::Solved].map(episode));
        assert_eq!((success.success, success.tasks, success.void), (0.5, 4, 1));
    }

    fn episode(ending: Ending) -> Episode {
        let split = "train".to_owned();
        Episode {
            task: 0,
            family: "maze".to_owned(),
            split,
            seed: 0,
            episode: 0,
            events: Vec::new(),
            ending,
        }
    }
}
