//! Which tasks teach: those that are neither too hard nor too easy.

use std::collections::BTreeMap;

use crate::lineage::EpisodeOf;
use troupe_core::config::AdvantageConfig;
use troupe_core::trajectory::Sample;

/// The share of each task's episodes that was solved, from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SolvedShares {
    of_task: BTreeMap<usize, f64>,
}

impl SolvedShares {
    /// Of episodes, each with whether it was solved; those that are named twice count once.
    pub fn of(episodes: impl IntoIterator<Item = (EpisodeOf, bool)>) -> Self {
        let episodes: BTreeMap<EpisodeOf, bool> = episodes.into_iter().collect();
        let mut counts: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for ((task, _), solved) in episodes {
            let (of_these, all) = counts.entry(task).or_default();
            (*of_these, *all) = (*of_these + usize::from(solved), *all + 1);
        }
        let share = |(task, (solved, all))| (task, solved as f64 / all as f64);
        SolvedShares { of_task: counts.into_iter().map(share).collect() }
    }

    /// Whether the sample's task lies in the band that `config` has for its role; so does one of
    /// which nothing is known.
    pub fn are_within(&self, sample: &Sample, config: &AdvantageConfig) -> bool {
        let (least, most) = config.band_of(&sample.role);
        self.of_task.get(&sample.task).is_none_or(|solved| (least..=most).contains(solved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::config::RoleAdvantageConfig;
    use troupe_core::example::sample;

    #[test]
    fn a_role_learns_from_tasks_of_which_its_share_was_solved() {
        let solved = |task, of: [bool; 4]| {
            of.into_iter().enumerate().map(move |(episode, solved)| ((task, episode), solved))
        };
        let shares = SolvedShares::of(
            solved(0, [false; 4])
                .chain(solved(1, [true, false, false, false]))
                .chain(solved(2, [true, true, true, false]))
                .chain(solved(2, [true, true, true, false]))
                .chain(solved(3, [true; 4])),
        );
        let narrow = RoleAdvantageConfig { most_solved: Some(0.5), ..Default::default() };
        let config = AdvantageConfig {
            least_solved: 0.25,
            most_solved: 0.75,
            roles: [("judge".to_owned(), narrow)].into(),
            ..AdvantageConfig::default()
        };
        let within = |role: &str| {
            (0..5).map(|task| shares.are_within(&sample(task, 0, 0, role, 0), &config)).collect()
        };
        let tasks: [Vec<bool>; 2] = [within("player"), within("judge")];
        assert_eq!(tasks[0], [false, true, true, false, true]);
        assert_eq!(tasks[1], [false, true, false, false, true]);
    }
}
