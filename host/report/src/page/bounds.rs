//! How much of a run a page shows.

/// What a page may hold at most, all runs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Recorded episodes.
    pub episodes: usize,
    /// Answers of tables.
    pub answers: usize,
    /// Bytes of one text; what is longer is cut, and the page says by how much.
    pub text_bytes: usize,
    /// Bytes of episodes, answers and drawings as the page holds them.
    pub bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { episodes: 400, answers: 5000, text_bytes: 4000, bytes: 4 << 20 }
    }
}

impl Bounds {
    /// What each of so many runs may fill.
    #[must_use]
    pub fn shared_by(&self, runs: usize) -> Self {
        let runs = runs.max(1);
        let share = |whole: usize| whole.div_ceil(runs);
        Bounds {
            episodes: share(self.episodes),
            answers: share(self.answers),
            text_bytes: self.text_bytes,
            bytes: self.bytes / runs,
        }
    }
}

/// The steps in the order in which they are shown as long as there is room: the first, the
/// last and the best, then those that halve what lies between.
pub fn by_importance(steps: &[usize], best: Option<usize>) -> Vec<usize> {
    let (Some(&first), Some(&last)) = (steps.first(), steps.last()) else { return Vec::new() };
    let mut order = vec![first, last];
    order.extend(best.filter(|best| steps.contains(best)));
    let mut gaps = vec![(0, steps.len() - 1)];
    while !gaps.is_empty() {
        let mut halves = Vec::new();
        for (low, high) in gaps {
            if high > low + 1 {
                let middle = low.midpoint(high);
                order.push(steps[middle]);
                halves.extend([(low, middle), (middle, high)]);
            }
        }
        gaps = halves;
    }
    let mut seen = std::collections::BTreeSet::new();
    order.retain(|step| seen.insert(*step));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_and_the_best_come_first_and_every_step_comes_once() {
        let steps: Vec<usize> = (0..9).collect();
        assert_eq!(by_importance(&steps, Some(3)), [0, 8, 3, 4, 2, 6, 1, 5, 7]);
        assert_eq!(by_importance(&[5], Some(7)), [5]);
        assert!(by_importance(&[], Some(7)).is_empty());
    }

    #[test]
    fn several_runs_share_what_there_is() {
        let all = Bounds { episodes: 5, answers: 6, text_bytes: 7, bytes: 8 };
        let half = Bounds { episodes: 3, answers: 3, text_bytes: 7, bytes: 4 };
        assert_eq!(all.shared_by(2), half);
    }
}
