//! Which answers come before which: episodes that were forked from each other
//! have their beginnings in common.
//!
//! Pure: a function of the sample table.

use std::collections::BTreeMap;

use crate::trajectory::Sample;

/// An episode of a task.
pub type EpisodeOf = (usize, usize);

/// Where the episodes of a table left each other.
#[derive(Debug, Default)]
pub struct Lineage {
    /// Of every episode that began in another one: which, and its last round in common.
    stems: BTreeMap<EpisodeOf, (usize, usize)>,
    /// The episodes that left this one, with the last round in common.
    offshoots: BTreeMap<EpisodeOf, Vec<(usize, usize)>>,
}

impl Lineage {
    /// Read off the parents of the samples.
    pub fn of(samples: &[Sample]) -> Self {
        let mut lineage = Lineage::default();
        let mut seen = None;
        for sample in samples {
            let own = (sample.task, sample.episode);
            // The first row of an episode says where it came from.
            if seen.replace(own) == Some(own) {
                continue;
            }
            let Some(parent) = sample.parent.and_then(|parent| samples.get(parent)) else {
                continue;
            };
            if parent.episode != sample.episode && parent.task == sample.task {
                lineage.stems.insert(own, (parent.episode, parent.round));
                let left = lineage.offshoots.entry((parent.task, parent.episode)).or_default();
                left.push((sample.episode, parent.round));
            }
        }
        lineage
    }

    /// The episode itself and those it came from, each with the last round that
    /// counts, the youngest first.
    pub fn path(&self, (task, episode): EpisodeOf) -> Vec<(usize, usize)> {
        let mut path = vec![(episode, usize::MAX)];
        let mut at = episode;
        while let Some(&(stem, round)) = self.stems.get(&(task, at)) {
            path.push((stem, round));
            at = stem;
        }
        path
    }

    /// The episodes that an answer of this round is part of, its own first.
    pub fn through(&self, (task, episode): EpisodeOf, round: usize) -> Vec<usize> {
        let mut found = vec![episode];
        let left = self.offshoots.get(&(task, episode)).into_iter().flatten();
        for &(offshoot, _) in left.filter(|(_, last)| *last >= round) {
            // Everything that left the offshoot left it later.
            found.extend(self.through((task, offshoot), 0));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_samples::forked;

    #[test]
    fn an_answer_is_part_of_every_episode_that_was_forked_after_it() {
        // Rounds 0 and 1 in common; episode 1 leaves after 0, episode 2 after 1.
        let samples = forked();
        let lineage = Lineage::of(&samples);
        assert_eq!(lineage.path((0, 0)), [(0, usize::MAX)]);
        assert_eq!(lineage.path((0, 1)), [(1, usize::MAX), (0, 0)]);
        assert_eq!(lineage.path((0, 2)), [(2, usize::MAX), (0, 1)]);
        assert_eq!(lineage.through((0, 0), 0), [0, 1, 2]);
        assert_eq!(lineage.through((0, 0), 1), [0, 2]);
        assert_eq!(lineage.through((0, 0), 2), [0]);
        assert_eq!(lineage.through((0, 1), 1), [1]);
    }
}
