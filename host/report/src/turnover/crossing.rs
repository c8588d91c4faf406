//! Where the curves of pass@k cross: from which k on the first side solves more than the second.

use serde::Serialize;

use troupe_core::statistics::{Measured, Redrawn};

use super::curve::seed;
use super::paired::Paired;
use super::tally::Tally;

/// A difference of means so small is rounding's.
const NOTHING: f64 = 1e-12;

/// Where the first side overtakes the second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Crossing {
    /// The smallest k at which pass@k is higher before than after; nothing if there is none. An
    /// interval without an upper end says that there may be none.
    pub k: Measured,
    /// The share of the draws of tasks in which it is higher before at the largest k there is;
    /// nothing of one task.
    pub ahead_at_last: Option<f64>,
}

impl Crossing {
    /// Of two sides, over every k that there are episodes for.
    pub fn of(paired: &Paired) -> Self {
        let leads: Vec<Vec<f64>> = paired.tasks.values().map(leads).collect();
        let figures = |drawn: &[usize]| {
            let mut sums = vec![0.0; paired.samples];
            for &task in drawn {
                for (sum, lead) in sums.iter_mut().zip(&leads[task]) {
                    *sum += lead / drawn.len() as f64;
                }
            }
            let ahead: Vec<bool> = sums.into_iter().map(|lead| lead > NOTHING).collect();
            let first = ahead.iter().position(|ahead| *ahead);
            let k = first.map_or(f64::INFINITY, |place| (place + 1) as f64);
            vec![k, f64::from(u8::from(ahead.last() == Some(&true)))]
        };
        let redrawn = Redrawn::of(leads.len(), seed(), figures);
        Crossing { k: redrawn.measured(0), ahead_at_last: redrawn.share_above_0(1) }
    }
}

/// By how much the first side leads at k = 1, 2, 3 and so on in a task.
fn leads([before, after]: &[Vec<bool>; 2]) -> Vec<f64> {
    let tally = Tally::of(before, after);
    (1..=before.len()).map(|k| tally.pass(k) - tally.turned().pass(k)).collect()
}

#[cfg(test)]
mod tests {
    use troupe_core::outcome::Answers;

    use super::*;

    /// Tasks of eight episodes, so many of which solve it before and after.
    fn crossing(solved: &[[usize; 2]]) -> Crossing {
        let episodes = |count: usize| (0..8).map(|sample| sample < count).collect::<Vec<_>>();
        let name = |(number, both): (usize, &[usize; 2])| {
            (("maze".to_owned(), number as u32), both.map(episodes))
        };
        let tasks = solved.iter().enumerate().map(name).collect();
        Crossing::of(&Paired { answers: Answers::Sampled, samples: 8, tasks })
    }

    #[test]
    fn the_side_that_seldom_solves_many_tasks_overtakes_the_one_that_always_solves_few() {
        // Three tasks in ten are always solved after and the others never; before, each is solved
        // by one episode of eight: pass@k = k/8 passes 3/10 at k = 3, and is 1 at the end.
        let tasks = [vec![[1, 8]; 30], vec![[1, 0]; 70]].concat();
        let found = crossing(&tasks);
        assert_eq!((found.k.value, found.ahead_at_last), (Some(3.0), Some(1.0)));
        // 3/10 of a hundred tasks is 21 to 39 in a hundred: from k = 2 to k = 4.
        assert_eq!((found.k.low, found.k.high), (Some(2.0), Some(4.0)));
        // Sides exchanged, it is ahead from the first, and not at the end.
        let turned: Vec<[usize; 2]> = tasks.iter().map(|[was, is]| [*is, *was]).collect();
        let found = crossing(&turned);
        assert_eq!((found.k.value, found.ahead_at_last), (Some(1.0), Some(0.0)));
    }

    #[test]
    fn sides_that_are_alike_do_not_cross() {
        let found = crossing(&[[1, 2], [2, 1], [3, 3]].repeat(5));
        assert_eq!((found.k.value, found.k.high), (None, None));
    }
}
