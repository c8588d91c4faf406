//! Families that are compared together: what one gains another may lose.

use std::collections::BTreeMap;

use super::Kind;
use troupe_core::statistics::{AlwaysValid, pairs_for};

/// By family, the share of each task's episodes that solved it.
pub(super) type Solved = BTreeMap<String, Vec<f64>>;

/// The families that have tasks. A round is a task of each of them: what it shows has the same mean
/// in every round, so that the interval is of that mean whenever one looks. Where one family has no
/// more tasks, there are no more rounds.
pub(super) struct Families(Vec<Kind>);

impl Families {
    pub(super) fn of(mut kinds: Vec<Kind>) -> Self {
        kinds.retain(|kind| kind.tasks > 0);
        Families(kinds)
    }

    /// The family that has the fewest tasks.
    fn smallest(&self) -> Option<&Kind> {
        self.0.iter().min_by_key(|kind| kind.tasks)
    }

    pub(super) fn rounds(&self) -> usize {
        self.smallest().map_or(0, |kind| kind.tasks)
    }

    /// How many they are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The tasks of all rounds.
    pub(super) fn playable(&self) -> usize {
        self.rounds() * self.count()
    }

    /// About how many tasks it takes to show a difference of the weighted shares, where so large a
    /// share of tasks differ. It takes more where one family weighs more than the others, as no
    /// more of its tasks are played than of theirs.
    pub(super) fn tasks_for(&self, difference: f64, differing: f64) -> usize {
        let sizes = || self.0.iter().map(|kind| kind.tasks as f64);
        let all: f64 = sizes().sum();
        let squares: f64 = sizes().map(|tasks| tasks * tasks).sum();
        let spread = self.count() as f64 * squares / (all * all);
        (pairs_for(difference, differing) as f64 * spread).round() as usize
    }

    /// Which family keeps others from being played to their end, if one does.
    pub(super) fn limit(&self) -> Option<String> {
        let Kind { family, tasks, .. } = self.smallest()?;
        self.0.iter().any(|kind| kind.tasks > *tasks).then(|| {
            format!(
                "note: of every family as many tasks are played as `{family}` has, {tasks}; \
                 `host eval --run RUN` plays all that the others have"
            )
        })
    }

    /// The mean over families. Each weighs as many tasks as it has, as in the figure of a mixture.
    pub(super) fn weighed(&self, figure: impl Fn(&str) -> f64) -> f64 {
        let all: usize = self.0.iter().map(|kind| kind.tasks).sum();
        let part = |kind: &Kind| kind.tasks as f64 / all as f64 * figure(&kind.family);
        // The sum of nothing would be −0.
        self.0.iter().map(part).fold(0.0, |sum, part| sum + part)
    }

    /// Take in the rounds from one on: what the second solved more.
    pub(super) fn take(
        &self,
        sequence: &mut AlwaysValid,
        (first, second): (&Solved, &Solved),
        from: usize,
    ) {
        let known = |solved: &Solved| {
            let counts = self.0.iter().map(|kind| solved.get(&kind.family).map_or(0, Vec::len));
            counts.min().unwrap_or(0)
        };
        for round in from..known(first).min(known(second)) {
            let more = |family: &str| second[family][round] - first[family][round];
            sequence.take(self.weighed(more));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::BATCH;
    use super::*;
    use troupe_core::seed::Seed;
    use troupe_core::statistics::Interval;

    fn families(kinds: &[(&str, usize)]) -> Families {
        Families::of(
            kinds
                .iter()
                .map(|(family, tasks)| Kind {
                    family: (*family).to_owned(),
                    environment: "maze".to_owned(),
                    tasks: *tasks,
                    ..Kind::default()
                })
                .collect(),
        )
    }

    #[test]
    fn a_family_with_fewer_tasks_than_others_is_named() {
        let said = families(&[("a", 40), ("b", 5)]).limit().unwrap();
        assert!(said.contains("as `b` has, 5"), "{said}");
        assert_eq!(families(&[("a", 40), ("b", 40)]).limit(), None);
    }

    #[test]
    fn it_takes_more_tasks_where_one_family_weighs_more_than_the_others() {
        let tasks = |kinds: &[(&str, usize)]| families(kinds).tasks_for(0.05, 0.5);
        let pairs = pairs_for(0.05, 0.5);
        assert_eq!(tasks(&[("a", 40)]), pairs);
        assert_eq!(tasks(&[("a", 40), ("b", 40), ("c", 40)]), pairs);
        // Three quarters and a quarter: 2 · (9 + 1) / 16.
        assert_eq!(tasks(&[("a", 120), ("b", 40)]), (1.25 * pairs as f64).round() as usize);
    }

    #[test]
    fn what_one_family_gains_and_another_loses_is_weighed_before_it_is_decided() {
        // The second run solves six tasks of ten more of `a`, and as many fewer of `b`.
        for (tasks, truth) in [([256, 256], 0.0), ([768, 256], 0.3)] {
            let families = families(&[("a", tasks[0]), ("b", tasks[1])]);
            let is_missed = |trial: u64| {
                let draw = |family: &str, round: usize| {
                    let drawn = Seed::new(7).at(trial).named(family).at(round as u64).unit();
                    f64::from(u8::from(drawn < 0.6))
                };
                let (mut first, mut second) = (Solved::new(), Solved::new());
                let mut sequence = AlwaysValid::between(-1.0, 1.0);
                for from in (0..families.rounds()).step_by(BATCH) {
                    for round in from..from + BATCH {
                        for (family, gains) in [("a", &mut second), ("b", &mut first)] {
                            gains.entry(family.to_owned()).or_default().push(draw(family, round));
                        }
                        for (family, stays) in [("a", &mut first), ("b", &mut second)] {
                            stays.entry(family.to_owned()).or_default().push(0.0);
                        }
                    }
                    families.take(&mut sequence, (&first, &second), from);
                }
                let Interval { low, high } = sequence.interval();
                assert!(low < high, "{low} to {high}");
                truth < low - 1e-12 || truth > high + 1e-12
            };
            let missed = (0..100).filter(|trial| is_missed(*trial)).count();
            assert!(missed <= 5, "{missed} of 100 for {truth}");
        }
    }
}
