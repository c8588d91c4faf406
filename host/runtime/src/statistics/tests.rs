use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
    student: Vec<(usize, f64)>,
}

#[derive(Deserialize)]
struct Case {
    values: Vec<f64>,
    others: Vec<f64>,
    mean: f64,
    interquartile_mean: f64,
    student: [f64; 2],
    paired: [f64; 2],
    percentile: [f64; 2],
    quantiles: [f64; 3],
}

/// What scipy and numpy say; `tests/parity/seed_statistics.py` made it.
fn golden() -> Golden {
    let text = include_str!("../../../../tests/parity/golden/statistics.json");
    serde_json::from_str(text).unwrap()
}

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() < tolerance, "{found} is not {expected}");
}

fn ends(found: Option<Interval>, expected: [f64; 2], tolerance: f64) {
    let Interval { low, high } = found.unwrap();
    near(low, expected[0], tolerance);
    near(high, expected[1], tolerance);
}

/// One task a seed.
fn alone(values: &[f64]) -> Vec<Vec<f64>> {
    values.iter().map(|&value| vec![value]).collect()
}

#[test]
fn three_seeds_give_what_was_worked_out_by_hand() {
    let seeds = [0.5, 0.7, 0.9];
    // The standard error is 0.2/√3 = 0.11547, the quantile of two degrees of freedom 4.302653.
    ends(student_interval(&seeds), [0.7 - 0.496_827_7, 0.7 + 0.496_827_7], 1e-6);
    near(interquartile_mean(&[0.0, 0.4, 0.5, 0.6, 1.0]), 0.5, 1e-12);
    let estimate = Estimate::of(&[vec![1.0, 0.0], vec![1.0, 1.0, 1.0, 0.0]], Seed::new(1));
    assert_eq!((estimate.mean, estimate.seeds), (0.625, vec![0.5, 0.75]));
}

#[test]
fn one_seed_says_nothing_of_others() {
    let estimate = Estimate::of(&[vec![1.0, 0.0, 1.0]], Seed::new(1));
    assert_eq!((estimate.bootstrap, estimate.student), (None, None));
    assert_eq!(Verdict::of(estimate.bootstrap), Verdict::NotShown);
    assert_eq!(Estimate::of(&[], Seed::new(1)).mean, 0.0);
}

#[test]
fn scipy_and_numpy_say_the_same() {
    let Golden { cases, student } = golden();
    for (freedom, expected) in student {
        near(quantile_975(freedom), expected, 1e-9);
    }
    for case in cases {
        near(mean(&case.values), case.mean, 1e-12);
        near(interquartile_mean(&case.values), case.interquartile_mean, 1e-12);
        ends(student_interval(&case.values), case.student, 1e-9);
        let pairs = case.values.iter().zip(&case.others);
        let differences: Vec<f64> = pairs.map(|(one, other)| one - other).collect();
        ends(student_interval(&differences), case.paired, 1e-9);
        let mut sorted = case.values.clone();
        sorted.sort_by(f64::total_cmp);
        for (share, expected) in [0.025, 0.5, 0.975].into_iter().zip(case.quantiles) {
            near(quantile(&sorted, share), expected, 1e-12);
        }
        let drawn = sorted_draws(&alone(&case.values), 50_000, Seed::new(3));
        ends(Some(percentile_interval(&drawn)), case.percentile, 2e-3);
    }
}

#[test]
fn the_bootstrap_is_the_same_for_the_same_seed_and_seeds_that_agree_leave_the_tasks() {
    let of =
        |measured: &[Vec<f64>], seed| bootstrap_interval(measured, 4_000, Seed::new(seed)).unwrap();
    let calm = vec![vec![0.5; 20]; 3];
    let wild = vec![[0.0, 1.0].repeat(10); 3];
    assert_eq!(of(&calm, 1), Interval { low: 0.5, high: 0.5 });
    assert_eq!(of(&wild, 1), of(&wild, 1));
    assert_ne!(of(&wild, 1), of(&wild, 2));
    // Sixty tosses: 0.5 ± 1.96·√(0.25/60).
    ends(Some(of(&wild, 1)), [0.5 - 0.1265, 0.5 + 0.1265], 0.012);
}

#[test]
fn a_verdict_follows_the_side_of_zero_that_the_interval_is_on() {
    let of = |low, high| Verdict::of(Some(Interval { low, high })).words();
    assert_eq!(
        [of(0.1, 0.2), of(-0.1, 0.2), of(0.0, 0.2), of(-0.2, -0.1)],
        ["shown", "not shown", "not shown", "the opposite"]
    );
}

/// How often both intervals hold the truth: seeds are normal around it, tasks are tossed.
fn coverage(seeds: usize, tasks: usize, spread: f64) -> [f64; 2] {
    const TRIALS: usize = 1_000;
    let truth = 0.6;
    let mut held = [0.0; 2];
    for trial in 0..TRIALS {
        let root = Seed::new(11).at(trial as u64);
        let share = |seed: usize| {
            // Twelve uniform numbers add up to nearly a normal one.
            let root = root.at(seed as u64);
            truth + spread * ((0..12).map(|part| root.at(part).unit()).sum::<f64>() - 6.0)
        };
        let toss = |seed: usize| -> Vec<f64> {
            let root = root.at(seed as u64).named("tasks");
            let solved = |task: usize| root.at(task as u64).unit() < share(seed);
            (0..tasks).map(|task| f64::from(u8::from(solved(task)))).collect()
        };
        let measured: Vec<Vec<f64>> = (0..seeds).map(toss).collect();
        let means: Vec<f64> = measured.iter().map(|tasks| mean(tasks)).collect();
        let found = [bootstrap_interval(&measured, 400, root), student_interval(&means)];
        for (held, interval) in held.iter_mut().zip(found) {
            let Interval { low, high } = interval.unwrap();
            *held += f64::from(u8::from((low..=high).contains(&truth))) / TRIALS as f64;
        }
    }
    held
}

#[test]
fn intervals_hold_the_truth_about_as_often_as_they_say() {
    for (seeds, tasks, spread) in [(3, 100, 0.1), (5, 100, 0.1), (5, 100, 0.06), (10, 60, 0.1)] {
        for held in coverage(seeds, tasks, spread) {
            assert!((0.92..=0.98).contains(&held), "{seeds} seeds, {tasks} tasks: {held}");
        }
    }
}
