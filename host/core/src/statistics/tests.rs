use serde::Deserialize;

use super::student::within;
use super::*;
use crate::seed::Seed;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
    tables: Vec<Table>,
    student: Vec<(usize, f64)>,
    tails: Vec<(f64, usize, f64)>,
    holm: Vec<[Vec<f64>; 2]>,
}

#[derive(Deserialize)]
struct Case {
    values: Vec<f64>,
    others: Vec<f64>,
    mean: f64,
    interquartile_mean: f64,
    student: [f64; 2],
    paired: [f64; 2],
}

#[derive(Deserialize)]
struct Table {
    measured: Vec<Vec<f64>>,
    error: f64,
    freedom: usize,
    crossed: [f64; 2],
}

/// What scipy and numpy say; `tests/parity/seed_statistics.py` made it.
fn golden() -> Golden {
    let text = include_str!("../../../../tests/parity/golden/statistics.json");
    serde_json::from_str(text).unwrap()
}

fn near(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() < tolerance, "{actual} is not {expected}");
}

fn ends(actual: Option<Interval>, expected: [f64; 2], tolerance: f64) {
    let Interval { low, high } = actual.unwrap();
    near(low, expected[0], tolerance);
    near(high, expected[1], tolerance);
}

#[test]
fn three_seeds_give_what_was_worked_out_by_hand() {
    let seeds = [0.5, 0.7, 0.9];
    // The standard error is 0.2/√3 = 0.11547, the quantile of two degrees of freedom 4.302653.
    ends(student_interval(&seeds), [0.7 - 0.496_827_7, 0.7 + 0.496_827_7], 1e-6);
    near(interquartile_mean(&[0.0, 0.4, 0.5, 0.6, 1.0]), 0.5, 1e-12);
    let estimate = Estimate::of(&[vec![1.0, 0.0], vec![1.0, 0.5]]);
    assert_eq!((estimate.mean, estimate.seeds), (0.625, vec![0.5, 0.75]));
    // Mean squares: 0.0625 between seeds, 0.5625 between tasks, 0.0625 of both together. So the
    // variance of the mean is (0.0625 + 0.5)/4, and 0.5625²/(0.0625² + 0.5²) is a little more than
    // one degree of freedom.
    let spread = estimate.spread.unwrap();
    near(spread.error, 0.375, 1e-12);
    assert_eq!(spread.freedom, 1);
}

#[test]
fn one_seed_says_nothing_of_others() {
    let estimate = Estimate::of(&[vec![1.0, 0.0, 1.0]]);
    assert_eq!((estimate.crossed, estimate.student), (None, None));
    assert_eq!(estimate.chance_of_no_difference(), None);
    assert_eq!(Verdict::of(&estimate, None, None), Verdict::NotShown);
    assert_eq!(Estimate::of(&[]).mean, 0.0);
}

#[test]
fn one_task_leaves_the_seeds_alone() {
    let alone = Estimate::of(&[vec![0.5], vec![0.7], vec![0.9]]);
    assert_eq!(alone.crossed, alone.student);
}

#[test]
fn scipy_and_numpy_say_the_same() {
    let Golden { cases, tables, student, tails, holm: families } = golden();
    for (freedom, expected) in student {
        near(quantile_975(freedom), expected, 1e-9);
    }
    for (way, freedom, expected) in tails {
        near(1.0 - within(way, freedom), expected, 1e-9);
    }
    for case in cases {
        near(mean(&case.values), case.mean, 1e-12);
        near(interquartile_mean(&case.values), case.interquartile_mean, 1e-12);
        ends(student_interval(&case.values), case.student, 1e-9);
        let pairs = case.values.iter().zip(&case.others);
        let differences: Vec<f64> = pairs.map(|(left, right)| left - right).collect();
        ends(student_interval(&differences), case.paired, 1e-9);
    }
    for table in tables {
        let estimate = Estimate::of(&table.measured);
        near(estimate.spread.unwrap().error, table.error, 1e-12);
        assert_eq!(estimate.spread.unwrap().freedom, table.freedom);
        ends(estimate.crossed, table.crossed, 1e-9);
    }
    for [chances, expected] in families {
        let chances: Vec<Option<f64>> = chances.into_iter().map(Some).collect();
        for (chance, expected) in holm(&chances).into_iter().zip(expected) {
            near(chance.unwrap(), expected, 1e-12);
        }
    }
}

#[test]
fn seeds_that_agree_leave_the_tasks_and_tasks_that_agree_the_seeds() {
    let calm = Estimate::of(&vec![vec![0.5; 20]; 3]);
    assert_eq!(calm.crossed, Some(Interval { low: 0.5, high: 0.5 }));
    // What every seed finds hard is twenty tasks, however many seeds find it so: 0.5 ± 2.093 times
    // the standard error of twenty tosses.
    let shared = |seeds: usize| Estimate::of(&vec![[0.0, 1.0].repeat(10); seeds]).crossed;
    ends(shared(3), [0.5 - 0.240_1, 0.5 + 0.240_1], 1e-3);
    ends(shared(50), [0.5 - 0.240_1, 0.5 + 0.240_1], 1e-3);
    let uneven = [vec![0.2; 20], vec![0.4; 20], vec![0.6; 20]];
    let estimate = Estimate::of(&uneven);
    assert_eq!(estimate.spread.unwrap().freedom, 2);
    ends(estimate.crossed, [estimate.student.unwrap().low, estimate.student.unwrap().high], 1e-12);
}

/// A table whose mean is this and whose spread is that of four seeds.
fn difference(mean: f64, apart: f64) -> Estimate {
    let away = [-1.0, -1.0 / 3.0, 1.0 / 3.0, 1.0];
    Estimate::of(&away.map(|away| vec![mean + away * apart; 5]))
}

#[test]
fn a_verdict_follows_the_side_of_zero_and_the_margin_that_the_interval_is_within() {
    // The standard error is 0.0043, the half of the interval 0.0137.
    let apart = 0.01;
    for (mean, margin, expected) in [
        (0.05, None, "shown"),
        (0.01, None, "not shown"),
        (0.0, None, "not shown"),
        (-0.05, None, "the opposite"),
        (0.01, Some(0.03), "equivalent"),
        (-0.01, Some(0.03), "equivalent"),
        (0.01, Some(0.02), "not shown"),
        (0.0, Some(0.01), "not shown"),
        (0.05, Some(0.2), "shown"),
    ] {
        let estimate = difference(mean, apart);
        let outside = margin.and_then(|margin| estimate.chance_of_a_margin(margin));
        let verdict = Verdict::of(&estimate, estimate.chance_of_no_difference(), outside);
        assert_eq!(verdict.words(), expected, "{mean} within {margin:?}: {estimate:?}");
        // Alone in its family, a claim is judged by the interval that stands beside it.
        let Interval { low, high } = estimate.crossed.unwrap();
        assert_eq!(verdict == Verdict::Shown, low > 0.0);
        assert_eq!(verdict == Verdict::Opposite, high < 0.0);
        if let Some(margin) = margin {
            assert_eq!(outside.unwrap() < 0.05, -margin < low && high < margin);
        }
    }
}

#[test]
fn among_several_claims_each_is_harder_to_show_and_one_without_figures_counts() {
    let corrected = holm(&[Some(0.02), None, Some(0.04), Some(0.01)]);
    let expected = [Some(0.06), None, Some(0.08), Some(0.04)];
    for (chance, expected) in corrected.into_iter().zip(expected) {
        assert_eq!(chance.is_some(), expected.is_some());
        near(chance.unwrap_or_default(), expected.unwrap_or_default(), 1e-12);
    }
    assert_eq!(holm(&[Some(0.03)]), [Some(0.03)]);
    // Never above one, and never in another order than they are in.
    assert_eq!(holm(&[Some(0.5), Some(0.9)]), [Some(1.0), Some(1.0)]);
}

/// Normal numbers, two at a time (Box and Muller, 1958).
struct Normal {
    seed: Seed,
    drawn: u64,
    left: Option<f64>,
}

impl Normal {
    fn new(seed: Seed) -> Self {
        Normal { seed, drawn: 0, left: None }
    }

    fn draw(&mut self) -> f64 {
        if let Some(left) = self.left.take() {
            return left;
        }
        let [u, v] = [0, 1].map(|part| self.seed.at(self.drawn + part).unit());
        self.drawn += 2;
        let (radius, angle) = ((-2.0 * (1.0 - u).ln()).sqrt(), std::f64::consts::TAU * v);
        self.left = Some(radius * angle.sin());
        radius * angle.cos()
    }
}

/// The probability that a normal number is below this (Abramowitz and Stegun, 7.1.26).
fn below(value: f64) -> f64 {
    let x = value.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let tail = series.iter().fold(0.0, |sum, term| (sum + term) * t) * (-x * x).exp();
    if value < 0.0 { tail / 2.0 } else { 1.0 - tail / 2.0 }
}

/// How seeds and tasks differ: a task is solved if what is common, what its seed and what the task
/// adds, and chance, come to more than nothing.
struct World {
    common: f64,
    seeds: f64,
    tasks: f64,
}

impl World {
    /// The share of tasks that is solved, over all seeds and tasks.
    fn truth(&self) -> f64 {
        below(self.common / (1.0 + self.seeds.powi(2) + self.tasks.powi(2)).sqrt())
    }

    /// The results of that many seeds on these tasks.
    fn examine(&self, seeds: usize, tasks: &[f64], normal: &mut Normal) -> Vec<Vec<f64>> {
        let line = |_| {
            let seed = self.common + self.seeds * normal.draw();
            let mut solved = |task: &f64| seed + self.tasks * task + normal.draw() > 0.0;
            tasks.iter().map(|task| f64::from(u8::from(solved(task)))).collect()
        };
        (0..seeds).map(line).collect()
    }
}

/// How often intervals hold the truth: of a row, and of the difference of two rows that are alike,
/// examined on the same tasks.
fn coverage(world: &World, seeds: usize, tasks: usize) -> [f64; 2] {
    const TRIALS: usize = 1_500;
    let mut held = [0.0; 2];
    for trial in 0..TRIALS {
        let mut normal = Normal::new(Seed::new(23).at(trial as u64));
        let difficulty: Vec<f64> = (0..tasks).map(|_| normal.draw()).collect();
        let row = world.examine(seeds, &difficulty, &mut normal);
        let other = world.examine(seeds, &difficulty, &mut normal);
        let pairs = row.iter().zip(&other);
        let paired: Vec<Vec<f64>> = pairs
            .map(|(left, right)| left.iter().zip(right).map(|(left, right)| left - right).collect())
            .collect();
        for ((held, measured), truth) in
            held.iter_mut().zip([row, paired]).zip([world.truth(), 0.0])
        {
            let Interval { low, high } = Estimate::of(&measured).crossed.unwrap();
            *held += f64::from(u8::from((low..=high).contains(&truth))) / TRIALS as f64;
        }
    }
    held
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say_whatever_seeds_and_tasks_have_in_common() {
    // Seeds, tasks, what is common, and how much seeds and tasks differ.
    for (seeds, tasks, common, by_seed, by_task) in [
        (5, 256, 0.0, 0.0, 0.0),
        (5, 256, 0.0, 0.3, 0.0),
        (5, 256, 0.0, 1.0, 0.0),
        (5, 256, 0.0, 0.0, 1.5),
        (5, 256, 0.5, 0.05, 1.5),
        (5, 256, 0.0, 0.3, 1.5),
        (5, 256, -1.5, 0.3, 1.0),
        (5, 64, 0.5, 0.2, 1.0),
        (3, 128, 0.3, 0.2, 1.0),
        (10, 60, 0.0, 0.2, 0.6),
        (20, 100, 1.0, 0.2, 1.0),
    ] {
        let world = World { common, seeds: by_seed, tasks: by_task };
        let held = coverage(&world, seeds, tasks);
        assert!(
            held.iter().all(|held| (0.92..=0.97).contains(held)),
            "{seeds} seeds that differ by {by_seed}, {tasks} tasks by {by_task}: {held:?}"
        );
    }
}
