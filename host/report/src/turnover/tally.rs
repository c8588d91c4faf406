//! What is known of one task: how many of its episodes solved it, before and after.

use troupe_core::statistics::chance_of_one;

/// How many numbers of a task's episodes are of one that solved it. `host eval` draws the episodes
/// of one number with the same random numbers, whatever the policy, so they are counted together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// On both sides.
    both: usize,
    /// Before alone.
    before: usize,
    /// After alone.
    after: usize,
    /// On neither side.
    neither: usize,
}

impl Tally {
    /// Of equally many episodes of both sides.
    pub(super) fn of(before: &[bool], after: &[bool]) -> Self {
        let mut tally = Tally::default();
        for (was, is) in before.iter().zip(after) {
            *match (was, is) {
                (true, true) => &mut tally.both,
                (true, false) => &mut tally.before,
                (false, true) => &mut tally.after,
                (false, false) => &mut tally.neither,
            } += 1;
        }
        tally
    }

    /// After for before.
    pub(super) fn turned(self) -> Self {
        Tally { before: self.after, after: self.before, ..self }
    }

    /// Before on both sides: what there would be if nothing had changed.
    pub(super) fn unchanged(self) -> Self {
        let solved = self.both + self.before;
        Tally { both: solved, neither: self.episodes() - solved, ..Tally::default() }
    }

    fn episodes(self) -> usize {
        self.both + self.before + self.after + self.neither
    }

    /// The chance that k episodes before contain one that solves the task.
    pub(super) fn pass(self, k: usize) -> f64 {
        chance_of_one(self.episodes(), self.both + self.before, k)
    }

    /// The chance that k episodes before solve it nowhere and k after somewhere. The k after have
    /// other numbers than the k before wherever there are 2k, so that what is drawn after knows
    /// nothing of what was drawn before.
    pub(super) fn gained(self, k: usize) -> f64 {
        match 2 * k <= self.episodes() {
            true => (1.0 - self.pass(k)) * self.solved_by_others(k),
            false => (1.0 - self.pass(k)) * self.turned().pass(k),
        }
    }

    /// The chance that k episodes after solve it somewhere, of other numbers than k before that
    /// solve it nowhere.
    fn solved_by_others(self, k: usize) -> f64 {
        // So many of the k before are of numbers that do not solve it after either: hypergeometric
        // weights, each from the one below it, as logarithms, which do not overflow.
        let counts = k.saturating_sub(self.after)..=k.min(self.neither);
        let mut weight = 0.0;
        let mut weights = Vec::new();
        for count in counts.clone() {
            weights.push(weight);
            let up = (self.neither - count) * (k - count);
            let down = (count + 1) * (self.after + count + 1 - k);
            weight += (up as f64 / down as f64).ln();
        }
        let top = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut all) = (0.0, 0.0);
        for (count, weight) in counts.zip(weights) {
            let weight = (weight - top).exp();
            let solving = self.both + self.after - (k - count);
            sum += weight * chance_of_one(self.episodes() - k, solving, k);
            all += weight;
        }
        // Where there are no k such episodes, the chance of them is 0, too.
        if all > 0.0 { sum / all } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1e-12, "{actual} is not {expected}");
    }

    #[test]
    fn four_episodes_give_what_was_worked_out_by_hand() {
        let (yes, no) = (true, false);
        let tally = Tally::of(&[yes, no, no, no], &[yes, yes, no, no]);
        // Of six pairs three are without the first episode; of six one is the last two.
        near(tally.pass(2), 0.5);
        near(tally.turned().pass(2), 5.0 / 6.0);
        // The pairs before that solve nothing leave 1 and 4, 1 and 3, 1 and 2 to those after.
        near(tally.gained(2), 0.5);
        // After, only 3 and 4 solve nothing, and leave 1 and 2.
        near(tally.turned().gained(2), 1.0 / 6.0);
        // One before: 2, 3 or 4 solve nothing, and of the other three 1, 2 and 2 solve it.
        near(tally.gained(1), (1.0 + 2.0 + 2.0) / 12.0);
        // Three of four are too many for other numbers: 1/4 · 1 and 3/4 · 0.
        near(tally.gained(3), 0.25);
        near(tally.turned().gained(3), 0.0);
    }

    #[test]
    fn by_chance_is_gained_what_twice_as_many_solve_more_often() {
        let tally = Tally::of(&[true, true, false, false, false, false], &[false; 6]);
        // 1 − C(4, 2)/C(6, 2) = 9/15 and 1 − C(4, 4)/C(6, 4) = 14/15.
        near(tally.unchanged().gained(2), 14.0 / 15.0 - 9.0 / 15.0);
        near(tally.unchanged().turned().gained(2), 14.0 / 15.0 - 9.0 / 15.0);
        assert_eq!(tally.turned().unchanged().gained(2), 0.0);
    }

    #[test]
    fn a_thousand_episodes_are_no_too_great_numbers() {
        let many = |one: usize| (0..1024).map(|place| place % one == 0).collect::<Vec<_>>();
        let tally = Tally::of(&many(512), &many(256));
        let found = tally.gained(512);
        // Two before and four after: about 1/4 · (1 − 1/4 · 1/4 …), and the two are among the four.
        assert!((0.2..0.25).contains(&found), "{found}");
    }

    /// All sets of k of some numbers.
    fn sets(numbers: &[usize], k: usize) -> Vec<Vec<usize>> {
        let Some((first, rest)) = numbers.split_first() else {
            return if k == 0 { vec![Vec::new()] } else { Vec::new() };
        };
        let mut found = sets(rest, k);
        if k > 0 {
            found.extend(sets(rest, k - 1).into_iter().map(|set| [vec![*first], set].concat()));
        }
        found
    }

    proptest! {
        #[test]
        fn chances_are_the_shares_of_all_sets_of_k(
            episodes in proptest::collection::vec((any::<bool>(), any::<bool>()), 1..8),
            place in any::<proptest::sample::Index>(),
        ) {
            let (before, after): (Vec<bool>, Vec<bool>) = episodes.iter().copied().unzip();
            let k = 1 + place.index(episodes.len());
            let numbers: Vec<usize> = (0..episodes.len()).collect();
            let solves = |side: &[bool], set: &[usize]| set.iter().any(|&number| side[number]);
            let (mut passed, mut firsts, mut gained, mut pairs) = (0, 0, 0, 0);
            for first in sets(&numbers, k) {
                firsts += 1;
                passed += usize::from(solves(&before, &first));
                let is_other = |number: &usize| 2 * k > numbers.len() || !first.contains(number);
                let others: Vec<usize> = numbers.iter().copied().filter(is_other).collect();
                for second in sets(&others, k) {
                    pairs += 1;
                    gained += usize::from(!solves(&before, &first) && solves(&after, &second));
                }
            }
            let tally = Tally::of(&before, &after);
            near(tally.pass(k), passed as f64 / firsts as f64);
            near(tally.gained(k), gained as f64 / pairs as f64);
        }
    }
}
