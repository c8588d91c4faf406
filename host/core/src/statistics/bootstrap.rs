//! Figures of tasks that are no means, and how far other tasks may move them.
//!
//! A ratio of two counts has no [`Estimate`](super::Estimate): it is no mean over tasks. So the
//! tasks are drawn anew, as many, each as often as chance has it, and the figures made again
//! (Efron's percentile bootstrap, Ann. Stat. 7, 1979). The tasks of one comparison are many; of a
//! handful, as of seeds, such an interval is too narrow.

use serde::Serialize;

use crate::seed::Seed;

/// How often the tasks are drawn anew.
pub const DRAWS: usize = 2_000;
/// So many of them lie beyond either end of a 95 % interval.
const BEYOND: usize = DRAWS / 40;

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The figure; nothing if it is not defined.
    pub value: Option<f64>,
    /// Lower end; nothing if there is none.
    pub low: Option<f64>,
    /// Upper end; nothing if there is none.
    pub high: Option<f64>,
}

/// Figures of some tasks, and of the tasks drawn anew.
#[derive(Clone, Debug, PartialEq)]
pub struct Redrawn {
    own: Vec<f64>,
    draws: Vec<Vec<f64>>,
}

impl Redrawn {
    /// Of figures that are made of a list of tasks, which may name one more than once. A figure
    /// that is not defined is no number, and infinite if it is only the divisor that is 0. The
    /// same seed draws the same tasks, so that figures can be made one after the other.
    pub fn of(tasks: usize, seed: Seed, figures: impl Fn(&[usize]) -> Vec<f64>) -> Self {
        let own = figures(&(0..tasks).collect::<Vec<_>>());
        let draw = |number: usize| {
            let seed = seed.at(number as u64);
            figures(&(0..tasks).map(|place| seed.at(place as u64).index(tasks)).collect::<Vec<_>>())
        };
        // One task is always the same task.
        let draws = if tasks > 1 { (0..DRAWS).map(draw).collect() } else { Vec::new() };
        Redrawn { own, draws }
    }

    /// One of the figures. In a draw in which it is not defined it may be anything, so that
    /// widens the interval to both sides.
    pub fn measured(&self, figure: usize) -> Measured {
        let finite = |value: f64| value.is_finite().then_some(value);
        let sorted = |unknown: f64| {
            let known = |draw: &Vec<f64>| match draw[figure].is_nan() {
                true => unknown,
                false => draw[figure],
            };
            let mut values: Vec<f64> = self.draws.iter().map(known).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let low = sorted(f64::NEG_INFINITY).get(BEYOND).copied();
        let high = sorted(f64::INFINITY).get(DRAWS - 1 - BEYOND).copied();
        Measured {
            value: finite(self.own[figure]),
            low: low.and_then(finite),
            high: high.and_then(finite),
        }
    }

    /// All of them.
    pub fn all(&self) -> Vec<Measured> {
        (0..self.own.len()).map(|figure| self.measured(figure)).collect()
    }

    /// In which share of the draws a figure is above 0; nothing without draws.
    pub fn share_above_0(&self, figure: usize) -> Option<f64> {
        let above = self.draws.iter().filter(|draw| draw[figure] > 0.0).count();
        (!self.draws.is_empty()).then(|| above as f64 / self.draws.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(of: &[(f64, f64)]) -> impl Fn(&[usize]) -> Vec<f64> + '_ {
        move |drawn| {
            let sum = |part: fn(&(f64, f64)) -> f64| {
                drawn.iter().map(|&task| part(&of[task])).sum::<f64>()
            };
            vec![sum(|one| one.0) / sum(|one| one.1)]
        }
    }

    #[test]
    fn the_interval_of_a_ratio_holds_the_truth_as_often_as_it_says() {
        let mut held = 0;
        for trial in 0..200 {
            let seed = Seed::new(5).at(trial);
            let is = |task: u64, name: &str, chance: f64| {
                f64::from(u8::from(seed.named(name).at(task).unit() < chance))
            };
            let tasks: Vec<(f64, f64)> =
                (0..100).map(|task| (is(task, "up", 0.3), is(task, "down", 0.2))).collect();
            let found = Redrawn::of(100, seed, ratio(&tasks)).measured(0);
            held += usize::from((found.low.unwrap()..found.high.unwrap()).contains(&1.5));
        }
        assert!((182..=198).contains(&held), "{held} of 200");
    }

    #[test]
    fn the_same_seed_draws_the_same_tasks_and_each_as_often_as_chance_has_it() {
        let values: Vec<f64> = (0..50).map(f64::from).collect();
        let mean =
            |drawn: &[usize]| vec![drawn.iter().map(|&task| values[task]).sum::<f64>() / 50.0];
        let found = Redrawn::of(50, Seed::new(1), mean);
        assert_eq!(found, Redrawn::of(50, Seed::new(1), mean));
        let Measured { value, low, high } = found.measured(0);
        assert_eq!(value, Some(24.5));
        // The standard error of the mean of 50 numbers whose variance is (50² − 1)/12: 2.041.
        assert!((low.unwrap() - (24.5 - 4.0)).abs() < 0.4, "{low:?}");
        assert!((high.unwrap() - (24.5 + 4.0)).abs() < 0.4, "{high:?}");
        assert_eq!(found.share_above_0(0), Some(1.0));
    }

    #[test]
    fn where_a_figure_is_often_not_defined_its_interval_has_no_end() {
        // One task of four has what is divided by: a third of the draws have none.
        let seldom = [(1.0, 0.0), (1.0, 0.0), (1.0, 0.0), (1.0, 1.0)];
        let found = Redrawn::of(4, Seed::new(1), ratio(&seldom)).measured(0);
        assert_eq!((found.value, found.high), (Some(4.0), None));
        assert!(found.low.is_some(), "it is at least as great as where all tasks have it");
        let nothing = [(0.0, 0.0), (0.0, 0.0), (1.0, 1.0)];
        let found = Redrawn::of(3, Seed::new(1), ratio(&nothing)).measured(0);
        assert_eq!(found, Measured { value: Some(1.0), low: None, high: None });
        let alone = Redrawn::of(1, Seed::new(1), ratio(&[(1.0, 0.0)]));
        assert_eq!(alone.measured(0), Measured { value: None, low: None, high: None });
        assert_eq!(alone.share_above_0(0), None);
    }
}
