//! What a step would have taught otherwise: some of its groups left out or counted differently, or
//! answers exchanged.

use std::collections::{BTreeMap, BTreeSet};

use troupe_estimators::credit::Credits;
use troupe_estimators::group::Group;

/// A change of what one step teaches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meddling {
    /// The step.
    pub step: usize,
    /// By what the advantages of groups are multiplied, by their places among all that are formed.
    pub factors: BTreeMap<usize, f32>,
    /// Groups that are as if they had not been drawn. One times 0 has its place in the update still.
    pub dropped: BTreeSet<usize>,
    /// Rows of the table that exchange their advantages.
    pub swaps: Vec<(usize, usize)>,
}

/// A group or a row that the step does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("step {step} has no {what} {number}; they are numbered from 0 to {}", count.saturating_sub(1))]
pub struct NotThere {
    step: usize,
    what: &'static str,
    number: usize,
    count: usize,
}

impl Meddling {
    /// Change credits that were formed of these groups.
    ///
    /// # Errors
    /// If the step has not so many groups or rows.
    pub fn apply(&self, groups: &[Group], credits: &mut Credits) -> Result<(), NotThere> {
        let (step, swaps) = (self.step, &self.swaps);
        let mut named = self.factors.keys().chain(&self.dropped);
        if let Some(&number) = named.find(|group| **group >= groups.len()) {
            return Err(NotThere { step, what: "group", number, count: groups.len() });
        }
        let count = credits.advantages.len();
        let mut named = swaps.iter().flat_map(|(one, other)| [*one, *other]);
        if let Some(number) = named.find(|row| *row >= count) {
            return Err(NotThere { step, what: "row", number, count });
        }
        let rows = |place: &usize| groups[*place].rows();
        for (place, factor) in &self.factors {
            for row in rows(place) {
                credits.advantages[row] = credits.advantages[row].map(|own| own * factor);
            }
        }
        for row in self.dropped.iter().flat_map(rows) {
            (credits.advantages[row], credits.weights[row]) = (None, 0.0);
        }
        swaps.iter().for_each(|(one, other)| credits.advantages.swap(*one, *other));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::config::AdvantageConfig;
    use troupe_core::example::tree_of;
    use troupe_estimators::advantage::{Memory, compare};

    #[test]
    fn groups_are_left_out_or_counted_otherwise_and_answers_exchanged_and_no_others() {
        let samples = tree_of(2, 2, &["planner", "executor"], 3);
        let config = AdvantageConfig::default();
        let before = compare(&samples, &config, &mut Memory::default(), |_| true);
        let rows = |group: usize| -> Vec<usize> {
            before.formed[group].units.iter().flat_map(|unit| unit.members.clone()).collect()
        };
        let (dropped, doubled, swapped) = (rows(1), rows(3), (rows(5)[0], rows(6)[0]));
        let meddling = Meddling {
            step: 1,
            factors: BTreeMap::from([(3, -2.0)]),
            dropped: BTreeSet::from([1]),
            swaps: vec![swapped],
        };
        let mut after = before.credits.clone();
        meddling.apply(&before.formed, &mut after).unwrap();
        let refused = |meddling: Meddling| {
            meddling.apply(&before.formed, &mut before.credits.clone()).unwrap_err().to_string()
        };
        let dropped_far = Meddling { dropped: BTreeSet::from([99]), ..Meddling::default() };
        assert!(refused(dropped_far).contains("has no group 99"));
        let swapped_far = Meddling { swaps: vec![(0, 999)], ..Meddling::default() };
        assert!(refused(swapped_far).contains("has no row 999"));
        for row in 0..samples.len() {
            let (was, is) = (before.credits.advantages[row], after.advantages[row]);
            let expected = match row {
                row if dropped.contains(&row) => None,
                row if doubled.contains(&row) => was.map(|was| -2.0 * was),
                row if row == swapped.0 => before.credits.advantages[swapped.1],
                row if row == swapped.1 => before.credits.advantages[swapped.0],
                _ => was,
            };
            assert_eq!(is, expected, "{row}");
            assert_eq!(after.weights[row] == 0.0, dropped.contains(&row));
        }
    }
}
