//! The four sets over k: how they and what is made of them depend on how often policies may try.

use troupe_core::seed::Seed;
use troupe_core::statistics::{Measured, Redrawn, usual_ks};

use super::paired::Paired;
use super::sets::{Figure, Sets};
use super::tally::Tally;

/// What is known at one k.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Episodes that a task may be tried in.
    pub k: usize,
    /// pass@k before and after.
    pub pass: [Measured; 2],
    /// The figures of the four sets.
    pub sets: [Measured; SETS],
    /// The same by chance, and what is seen beyond it; nothing without 2k episodes of a task.
    pub floor: Option<Floor>,
}

/// What chance makes of policies that have not changed, at one k.
#[derive(Clone, Debug, PartialEq)]
pub struct Floor {
    /// The figures of k episodes beside k others of the same side: the mean of both sides' sets.
    pub by_chance: [Measured; SETS],
    /// What the figures of both sides have more.
    pub beyond: [Measured; SETS],
}

const SETS: usize = Figure::ALL.len();
/// Figures at one k: pass@k of both sides, and those of sets seen, by chance and beyond it.
const WIDTH: usize = 2 + 3 * SETS;

/// What one task, or several, add up to at one k: pass@k before and after, gained, lost, and
/// gained by chance before and after.
type Sums = [f64; 6];

/// The tasks of two sides at some k.
pub(super) struct Chances {
    /// By task, by k.
    tasks: Vec<Vec<Sums>>,
}

impl Chances {
    pub(super) fn of(paired: &Paired) -> Self {
        let at = |tally: Tally, k: usize| {
            let back = tally.turned();
            let by_chance = |side: Tally| match has_floor(paired, k) {
                true => side.unchanged().gained(k),
                false => f64::NAN,
            };
            let pass = [tally.pass(k), back.pass(k)];
            let changed = [tally.gained(k), back.gained(k)];
            [pass[0], pass[1], changed[0], changed[1], by_chance(tally), by_chance(back)]
        };
        let ks = usual_ks(paired.samples);
        let of_task = |[before, after]: &[Vec<bool>; 2]| {
            let tally = Tally::of(before, after);
            ks.iter().map(|&k| at(tally, k)).collect()
        };
        Chances { tasks: paired.tasks.values().map(of_task).collect() }
    }

    /// All figures, k by k, of tasks drawn.
    fn figures(&self, drawn: &[usize]) -> Vec<f64> {
        let mut sums = vec![Sums::default(); self.tasks.first().map_or(0, Vec::len)];
        for &task in drawn {
            for (sums, own) in sums.iter_mut().zip(&self.tasks[task]) {
                for (sum, own) in sums.iter_mut().zip(own) {
                    *sum += own;
                }
            }
        }
        sums.into_iter().flat_map(|sums| at_one_k(sums, drawn.len() as f64)).collect()
    }
}

fn at_one_k([was, is, gained, lost, chance_before, chance_after]: Sums, tasks: f64) -> Vec<f64> {
    let seen = Sets { preserved: was - lost, gained, lost, never: tasks - was - gained };
    // Of policies that have not changed, as much is gained as lost.
    let moved = (chance_before + chance_after) / 2.0;
    let solved = (was + is) / 2.0;
    let by_chance = Sets {
        preserved: solved - moved,
        gained: moved,
        lost: moved,
        never: tasks - solved - moved,
    };
    let (seen, by_chance) = (seen.figures(), by_chance.figures());
    let beyond = seen.iter().zip(by_chance).map(|(seen, by_chance)| seen - by_chance);
    [was / tasks, is / tasks].into_iter().chain(seen).chain(by_chance).chain(beyond).collect()
}

/// The sets at k = 1, 2, 4, …, and of all episodes.
pub fn curve(paired: &Paired) -> Vec<Point> {
    let chances = Chances::of(paired);
    points(paired, |drawn| chances.figures(drawn))
}

/// What the figures of a second pair have more than those of the first, of the same tasks with as
/// many episodes; tasks are drawn anew together.
pub fn change(first: &Paired, second: &Paired) -> Vec<Point> {
    let [before, after] = [first, second].map(Chances::of);
    points(first, |drawn| {
        let pairs = after.figures(drawn).into_iter().zip(before.figures(drawn));
        pairs.map(|(second, first)| second - first).collect()
    })
}

fn points(paired: &Paired, figures: impl Fn(&[usize]) -> Vec<f64>) -> Vec<Point> {
    let measured = Redrawn::of(paired.tasks.len(), seed(), figures).all();
    let point = |(k, all): (usize, &[Measured])| {
        let sets = |kind: usize| std::array::from_fn(|figure| all[2 + kind * SETS + figure]);
        let floor = has_floor(paired, k).then(|| Floor { by_chance: sets(1), beyond: sets(2) });
        Point { k, pass: [all[0], all[1]], sets: sets(0), floor }
    };
    usual_ks(paired.samples).into_iter().zip(measured.chunks(WIDTH)).map(point).collect()
}

/// Whether there are k episodes of a task and k others.
fn has_floor(paired: &Paired, k: usize) -> bool {
    2 * k <= paired.samples
}

/// Decides which tasks are drawn anew.
pub(super) fn seed() -> Seed {
    Seed::new(0).named("compare")
}

#[cfg(test)]
mod tests {
    use troupe_core::outcome::Answers;

    use super::*;

    fn paired(tasks: &[[Vec<bool>; 2]]) -> Paired {
        let name = |(number, episodes): (usize, &[Vec<bool>; 2])| {
            (("maze".to_owned(), number as u32), episodes.clone())
        };
        Paired {
            answers: Answers::Sampled,
            samples: tasks[0][0].len(),
            tasks: tasks.iter().enumerate().map(name).collect(),
        }
    }

    /// Sixteen episodes of each task on both sides, by the chances that one solves it. With
    /// `shared` random numbers both sides draw theirs alike, as `host eval` does.
    fn played(chances: &[[f64; 2]], seed: Seed, shared: bool) -> Paired {
        let side = |task: usize, side: usize| -> Vec<bool> {
            let seed = seed.at(task as u64).at(if shared { 0 } else { side as u64 });
            (0..16).map(|sample| seed.at(sample).unit() < chances[task][side]).collect()
        };
        let tasks = (0..chances.len()).map(|task| [side(task, 0), side(task, 1)]);
        paired(&tasks.collect::<Vec<_>>())
    }

    /// What is gained and lost beyond chance at k = 4, on average over many draws of episodes.
    fn beyond_chance(chances: &[[f64; 2]], shared: bool) -> [f64; 2] {
        const TRIALS: usize = 400;
        let all: Vec<usize> = (0..chances.len()).collect();
        let mut means = [0.0; 2];
        for trial in 0..TRIALS {
            let paired = played(chances, Seed::new(9).at(trial as u64), shared);
            let figures = Chances::of(&paired).figures(&all);
            let beyond = &figures[2 * WIDTH..][2 + 2 * SETS..];
            means = [0, 1].map(|place| means[place] + beyond[1 + place] / TRIALS as f64);
        }
        means
    }

    fn near(actual: Option<f64>, expected: f64) {
        let is_near = actual.is_some_and(|actual| (actual - expected).abs() < 1e-12);
        assert!(is_near, "{actual:?} is not {expected}");
    }

    #[test]
    fn two_tasks_give_what_was_worked_out_by_hand() {
        let (yes, no) = (true, false);
        let tasks = [[vec![yes, no], vec![no, no]], [vec![no, no], vec![yes, yes]]];
        let [one, two] = &curve(&paired(&tasks))[..] else { panic!("k = 1 and 2") };
        assert_eq!((one.k, two.k), (1, 2));
        near(one.pass[0].value, 0.25);
        near(one.pass[1].value, 0.5);
        // The first task is solved before by one of its two episodes, the second only after.
        let expected = [0.0, 1.0, 0.5, 0.5, 2.0, 0.0, 1.0, 0.0, 1.0 / 3.0];
        for (found, expected) in one.sets.iter().zip(expected) {
            near(found.value, expected);
        }
        // By chance the first is gained by the one episode beside the other half the time, and
        // lost as often, before; after, nothing is. Half of that, of 0.75 that is solved.
        let floor = one.floor.as_ref().unwrap();
        let expected = [0.5, 0.25, 0.25, 1.0, 1.0, 2.0 / 3.0, 1.0 / 3.0, 4.0 / 9.0, 0.0];
        for (place, expected) in expected.into_iter().enumerate() {
            near(floor.by_chance[place].value, expected);
            let seen = one.sets[place].value.unwrap();
            near(floor.beyond[place].value, seen - expected);
        }
        // All episodes: no others to compare with, and each task is in one set.
        assert_eq!(two.floor, None);
        assert_eq!(
            two.sets[..4].iter().map(|one| one.value).collect::<Vec<_>>(),
            [0.0, 1.0, 1.0, 0.0].map(Some)
        );
    }

    #[test]
    fn of_a_policy_that_has_not_changed_nothing_is_gained_or_lost_beyond_chance() {
        // By chance alone it is 6.6 of 40.
        let unchanged: Vec<[f64; 2]> = (0..40).map(|task| [task as f64 / 80.0; 2]).collect();
        let [gained, lost] = beyond_chance(&unchanged, false);
        assert!(gained.abs() < 0.3 && lost.abs() < 0.3, "{gained} and {lost}");
        // Of the same random numbers, the same episodes: then nothing is, each time.
        let [gained, lost] = beyond_chance(&unchanged, true);
        assert!(gained.abs() < 1e-9 && lost.abs() < 1e-9, "{gained} and {lost}");
    }

    #[test]
    fn beyond_chance_is_gained_and_lost_what_chances_changed_squared() {
        let chances: Vec<[f64; 2]> =
            (0..40).map(|task| [task as f64 / 80.0, (40 - task) as f64 / 60.0]).collect();
        let at_4 = |chance: f64| 1.0 - (1.0 - chance).powi(4);
        let squares: f64 = chances.iter().map(|one| (at_4(one[1]) - at_4(one[0])).powi(2)).sum();
        let net: f64 = chances.iter().map(|one| at_4(one[1]) - at_4(one[0])).sum();
        for shared in [false, true] {
            let [gained, lost] = beyond_chance(&chances, shared);
            assert!((gained + lost - squares).abs() < 0.3, "{gained} + {lost}, not {squares}");
            assert!((gained - lost - net).abs() < 0.3, "{gained} − {lost}, not {net}");
        }
    }

    #[test]
    fn a_second_evaluator_says_how_much_more_it_sees_task_by_task() {
        let (yes, no) = (true, false);
        let first = paired(&[[vec![yes], vec![yes]], [vec![no], vec![yes]], [vec![yes], vec![no]]]);
        let second = paired(&[[vec![yes], vec![yes]], [vec![no], vec![no]], [vec![yes], vec![no]]]);
        let [change] = &change(&first, &second)[..] else { panic!("k = 1") };
        // What was gained is lost to the second: E 1 → 0, ESR 1 → 0, NSCR 0 → −1/2.
        let values = change.sets.iter().map(|one| one.value.unwrap()).collect::<Vec<_>>();
        assert_eq!(values, [0.0, -1.0, 0.0, 1.0, -1.0, 0.0, -0.5, -0.5, -0.5]);
        assert_eq!(super::change(&first, &first)[0].sets[1].high, Some(0.0), "the same tasks");
    }
}
