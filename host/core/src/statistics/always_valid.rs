//! An interval that holds at every moment: however often one looks, and whenever one stops.

use super::Interval;

/// How large a bet may be: of a martingale that is to stay positive, less than 1.
const LARGEST_BET: f64 = 0.5;
/// The probability that the interval ever leaves out what is true.
const ALPHA: f64 = 0.05;

/// A confidence sequence of the mean of bounded numbers, of which each may depend on those before
/// it but for its own mean: the predictable plug-in empirical Bernstein sequence (Waudby-Smith and
/// Ramdas, J. R. Stat. Soc. B 86, 2024, theorem 2). It narrows with the variance that there is.
#[derive(Clone, Copy, Debug)]
pub struct AlwaysValid {
    low: f64,
    high: f64,
    count: f64,
    sum: f64,
    /// Σ (X − mean so far)².
    squares: f64,
    /// Σ λ, Σ λ·X and Σ v·ψ(λ).
    bets: f64,
    won: f64,
    cost: f64,
    /// The narrowest so far: all of them hold together.
    narrowest: Interval,
}

impl AlwaysValid {
    /// Of numbers between two bounds, none of which are known yet.
    pub fn between(low: f64, high: f64) -> Self {
        let narrowest = Interval { low, high };
        let (count, sum, squares, bets, won, cost) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
        AlwaysValid { low, high, count, sum, squares, bets, won, cost, narrowest }
    }

    /// Take in one more number. It has to have the mean that all of them have, whatever those before
    /// it were: numbers of several kinds, one kind after the other, have not.
    pub fn take(&mut self, number: f64) {
        let x = (number - self.low) / (self.high - self.low);
        // What is bet and expected is settled before the number is known.
        let expected = (0.5 + self.sum) / (self.count + 1.0);
        let variance = (0.25 + self.squares) / (self.count + 1.0);
        let turn = self.count + 1.0;
        let bet = (2.0 * (2.0 / ALPHA).ln() / (variance * turn * (1.0 + turn).ln())).sqrt();
        let bet = bet.min(LARGEST_BET);
        let psi = (-(1.0 - bet).ln() - bet) / 4.0;
        self.cost += 4.0 * (x - expected).powi(2) * psi;
        self.bets += bet;
        self.won += bet * x;
        self.count += 1.0;
        self.sum += x;
        self.squares += (x - (0.5 + self.sum) / (self.count + 1.0)).powi(2);
        let (center, half) = (self.won / self.bets, ((2.0 / ALPHA).ln() + self.cost) / self.bets);
        let scaled = |x: f64| self.low + x.clamp(0.0, 1.0) * (self.high - self.low);
        let low = self.narrowest.low.max(scaled(center - half));
        let high = self.narrowest.high.min(scaled(center + half));
        // Intervals without a common part have failed, as they may in 5 %: then the last one stays.
        if low <= high {
            self.narrowest = Interval { low, high };
        }
    }

    /// The mean so far; the middle of nothing.
    pub fn mean(&self) -> f64 {
        let share = if self.count > 0.0 { self.sum / self.count } else { 0.5 };
        self.low + share * (self.high - self.low)
    }

    /// What the true mean is in, with 95 % for all moments together.
    pub fn interval(&self) -> Interval {
        self.narrowest
    }
}

/// Pairs that it takes to show a difference of shares with 80 % power at 5 %, where so large a
/// share of them differ, if one looks once (Connor, Biometrics 43, 1987).
pub fn pairs_for(difference: f64, differing: f64) -> usize {
    let (z_alpha, z_beta) = (1.959_964, 0.841_621);
    let differing = differing.max(difference.abs());
    let spread = (differing - difference * difference).max(0.0).sqrt();
    let root = (z_alpha * differing.sqrt() + z_beta * spread) / difference.abs();
    (root * root).ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    /// −1, 0 or 1, of which so many in a hundred are not 0, with this mean.
    fn pair(seed: Seed, gained: usize, lost: usize) -> f64 {
        match seed.index(100) {
            at if at < gained => 1.0,
            at if at < gained + lost => -1.0,
            _ => 0.0,
        }
    }

    #[test]
    fn the_interval_holds_at_all_of_five_hundred_looks_together() {
        for (gained, lost) in [(10, 10), (30, 20), (2, 0)] {
            let truth = (gained as f64 - lost as f64) / 100.0;
            let fails = |trial: u64| {
                let mut sequence = AlwaysValid::between(-1.0, 1.0);
                (0..500).any(|turn| {
                    sequence.take(pair(Seed::new(3).at(trial).at(turn), gained, lost));
                    let Interval { low, high } = sequence.interval();
                    truth < low - 1e-12 || truth > high + 1e-12
                })
            };
            let failed = (0..200).filter(|trial| fails(*trial)).count();
            assert!(failed <= 10, "{failed} of 200 for {gained} and {lost}");
        }
    }

    #[test]
    fn no_end_of_the_interval_passes_the_other_whatever_is_taken_in() {
        let mut sequence = AlwaysValid::between(-1.0, 1.0);
        for number in [[1.0; 200].as_slice(), &[-1.0; 2000]].concat() {
            sequence.take(number);
            let Interval { low, high } = sequence.interval();
            assert!(low <= high, "{low} to {high}");
        }
    }

    #[test]
    fn a_clear_difference_is_decided_soon_and_a_small_one_late() {
        let decided = |gained, lost| {
            let mut sequence = AlwaysValid::between(-1.0, 1.0);
            (0..100_000).find(|turn| {
                sequence.take(pair(Seed::new(5).at(*turn), gained, lost));
                sequence.interval().low > 0.0
            })
        };
        let (clear, small) = (decided(30, 0).unwrap(), decided(13, 10).unwrap());
        assert!(clear < 120, "{clear}");
        assert!(small > 10 * clear, "{small} and {clear}");
    }

    #[test]
    fn pairs_are_as_many_as_connors_formula_has_them() {
        // A tenth of the pairs differ, by 5 points: (1.96·√.1 + .8416·√(.1 − .0025))² / .05².
        assert_eq!(pairs_for(0.05, 0.1), 312);
        assert_eq!(pairs_for(-0.05, 0.1), 312);
        assert!(pairs_for(0.05, 0.5) > 4 * pairs_for(0.05, 0.1));
    }
}
