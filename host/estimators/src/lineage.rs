//! Which episodes were forked from which: those that were have their first rounds
//! in common.
//!
//! Pure: a function of the sample table.

use std::collections::BTreeMap;

use troupe_core::trajectory::Sample;

/// The number of a task, and that of an episode of it.
pub type EpisodeOf = (usize, usize);

/// The forks of a table's episodes.
#[derive(Debug, Default)]
pub struct Lineage {
    /// Of every episode that began in another one: which, and its last round in common.
    stems: BTreeMap<EpisodeOf, (usize, usize)>,
    /// The episodes that left this one, with the last round in common.
    offshoots: BTreeMap<EpisodeOf, Vec<(usize, usize)>>,
}

impl Lineage {
    /// Finds the forks by the samples' parents. The rows of an episode stand side by side.
    pub fn of(samples: &[Sample]) -> Self {
        let mut lineage = Lineage::default();
        let mut seen = None;
        for sample in samples {
            let episode = (sample.task, sample.episode);
            // The first row of an episode says where it came from.
            if seen.replace(episode) == Some(episode) {
                continue;
            }
            let Some(parent) = sample.parent.and_then(|parent| samples.get(parent)) else {
                continue;
            };
            if parent.episode != sample.episode && parent.task == sample.task {
                lineage.stems.insert(episode, (parent.episode, parent.round));
                let left = lineage.offshoots.entry((parent.task, parent.episode)).or_default();
                left.push((sample.episode, parent.round));
            }
        }
        lineage
    }

    /// The episode itself and its ancestors, youngest first, each with the last round that
    /// belongs to the episode's history (`usize::MAX` for the episode itself).
    pub fn path(&self, (task, episode): EpisodeOf) -> Vec<(usize, usize)> {
        let mut path = vec![(episode, usize::MAX)];
        let mut at = episode;
        while let Some(&(stem, round)) = self.stems.get(&(task, at)) {
            path.push((stem, round));
            at = stem;
        }
        path
    }

    /// The episodes that contain an answer of this episode and round, its own first, with
    /// weights that add up to 1. At a fork all continuations weigh the same, however often each
    /// is forked again: the weighted mean over episodes is a recursive mean over children (MALT,
    /// arXiv 2412.01928, equation 3), in unbalanced trees, too.
    pub fn through(&self, episode: EpisodeOf, round: usize) -> Vec<(usize, f64)> {
        let mut weights = vec![(episode.1, 1.0)];
        self.share(episode, round, 1.0, &mut weights);
        weights
    }

    /// Share `weight` among an episode, whose entry is the last one, and those that left it in
    /// this round or later.
    fn share(
        &self,
        (task, episode): EpisodeOf,
        round: usize,
        weight: f64,
        weights: &mut Vec<(usize, f64)>,
    ) {
        let entry = weights.len() - 1;
        let mut left: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &(offshoot, last) in self.offshoots.get(&(task, episode)).into_iter().flatten() {
            if last >= round {
                left.entry(last).or_default().push(offshoot);
            }
        }
        let mut weight = weight;
        for offshoots in left.into_values() {
            weight /= (offshoots.len() + 1) as f64;
            for offshoot in offshoots {
                weights.push((offshoot, weight));
                // Everything that left the offshoot left it later.
                self.share((task, offshoot), 0, weight, weights);
            }
        }
        weights[entry].1 = weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::example::forked;

    #[test]
    fn an_answer_is_part_of_every_episode_that_was_forked_after_it() {
        // Rounds 0 and 1 in common; episode 1 leaves after 0, episode 2 after 1.
        let samples = forked();
        let lineage = Lineage::of(&samples);
        assert_eq!(lineage.path((0, 0)), [(0, usize::MAX)]);
        assert_eq!(lineage.path((0, 1)), [(1, usize::MAX), (0, 0)]);
        assert_eq!(lineage.path((0, 2)), [(2, usize::MAX), (0, 1)]);
        // After the first answer two go on, and of one of these two again.
        assert_eq!(lineage.through((0, 0), 0), [(0, 0.25), (1, 0.5), (2, 0.25)]);
        assert_eq!(lineage.through((0, 0), 1), [(0, 0.5), (2, 0.5)]);
        assert_eq!(lineage.through((0, 0), 2), [(0, 1.0)]);
        assert_eq!(lineage.through((0, 1), 1), [(1, 1.0)]);
    }
}
