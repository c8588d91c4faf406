//! Which answers come before which: episodes that were forked from each other
//! have their beginnings in common.
//!
//! Pure: a function of the sample table.

use std::collections::BTreeMap;

use troupe_core::trajectory::Sample;

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

    /// The episodes that an answer of this round is part of, its own first, and what each counts
    /// for: where an episode was forked, all that go on from there count alike together, however
    /// often each is forked again. So a mean over them is the recursion's, a mean over children
    /// (MALT, arXiv 2412.01928, equation 3), in unbalanced trees, too.
    pub fn through(&self, episode: EpisodeOf, round: usize) -> Vec<(usize, f64)> {
        let mut found = vec![(episode.1, 1.0)];
        self.share(episode, round, 1.0, &mut found);
        found
    }

    /// Share `weight` among an episode, whose entry is the last one, and those that left it in
    /// this round or later.
    fn share(
        &self,
        (task, episode): EpisodeOf,
        round: usize,
        weight: f64,
        found: &mut Vec<(usize, f64)>,
    ) {
        let place = found.len() - 1;
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
                found.push((offshoot, weight));
                // Everything that left the offshoot left it later.
                self.share((task, offshoot), 0, weight, found);
            }
        }
        found[place].1 = weight;
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
