//! Ways back to an earlier moment, and what they earned.
//!
//! Two moments with the same observation and the same saved state are one
//! state. An environment that counts its turns has no such moments; there,
//! moments that look the same but for the counter are taken for a return if
//! the way between them can be gone again and again and pays every time.

use std::collections::{BTreeMap, HashMap};

use super::ROUNDING;
use super::words::{Mask, Place, pieces};
use crate::environment::{Outcome, Status};
use crate::testing::walk::{Contests, Moment, Walk};
use crate::types::Seat;

/// Steps of a walk that shows whether a number is a counter.
const TELLING_STEPS: usize = 4;
/// Walks that are needed to tell.
const TELLING_WALKS: usize = 3;
/// Times a way must have been gone and paid, to be called a loop by its looks, and times that
/// several rounds of it must have, if not every round pays.
const LAPS: usize = 2;
const RARE_LAPS: usize = 4;
/// Rounds; at least one has to pay.
const RAREST: usize = 6;
/// Times the same must have been done and paid, whatever it looks like, and the
/// longest sequence that is taken for the same.
const ENDLESS_LAPS: usize = 12;
const LONGEST_LAP: usize = 6;

/// A way back that paid.
pub struct Gain {
    pub seat: Seat,
    pub value: f64,
    /// Steps of the walk up to its end.
    pub steps: usize,
}

/// Places of counters: numbers that only ever grow, or only ever shrink, in
/// every walk, whatever is done.
pub fn counters(walks: &[Walk]) -> Mask {
    let long = walks.iter().filter(|walk| walk.steps.len() >= TELLING_STEPS);
    let looks: Vec<Vec<String>> =
        long.map(|walk| walk.moments().map(Moment::look).collect()).collect();
    let long: Vec<Vec<Vec<&str>>> =
        looks.iter().map(|looks| looks.iter().map(|look| pieces(look)).collect()).collect();
    if long.len() < TELLING_WALKS {
        return Mask::default();
    }
    let shortest = long.iter().flatten().map(Vec::len).min().unwrap_or(0);
    Mask(Place::all(shortest).filter(|place| counts(*place, &long)).collect())
}

fn counts(place: Place, walks: &[Vec<Vec<&str>>]) -> bool {
    let (mut grows, mut shrinks, mut moving) = (true, true, 0);
    for walk in walks {
        let numbers = walk.iter().map(|pieces| place.of(pieces)?.parse::<u64>().ok());
        let Some(numbers) = numbers.collect::<Option<Vec<u64>>>() else { return false };
        grows &= numbers.is_sorted();
        shrinks &= numbers.iter().rev().is_sorted();
        moving += usize::from(numbers.first() != numbers.last());
    }
    // A number that often stands still says something else than the turn.
    (grows || shrinks) && moving * 10 >= walks.len() * 9
}

/// How often the walk came back, by an action that was accepted, to a moment
/// that looked the same.
pub fn count(walk: &Walk, counters: &Mask) -> usize {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut accepted = 0;
    let mut returns = 0;
    for (index, moment) in walk.moments().enumerate() {
        let outcome = index.checked_sub(1).map(|before| &walk.steps[before].outcome);
        accepted += usize::from(outcome.is_some_and(Outcome::is_accepted));
        let before = seen.insert(counters.apply(&moment.look()), accepted);
        returns += usize::from(before.is_some_and(|before| before < accepted));
    }
    returns
}

/// A way back to the same state that earned something for a seat.
pub fn gain(walk: &Walk, contests: &Contests) -> Option<Gain> {
    walk.seats().into_iter().find_map(|seat| {
        let mut lowest: HashMap<(&[String], &[u8]), f64> = HashMap::new();
        let moments = walk.moments().zip(walk.earnings(&seat, contests)).enumerate();
        moments.into_iter().find_map(|(steps, (moment, earned))| {
            let saved = moment.saved.as_deref()?;
            let before = lowest.entry((&moment.seen, saved)).or_insert(f64::INFINITY);
            let value = earned - *before;
            *before = before.min(earned);
            (value.is_finite() && value > ROUNDING).then(|| Gain {
                seat: seat.clone(),
                value,
                steps,
            })
        })
    })
}

/// A way back to the same look that was gone again and again to the end of the
/// walk, paid a seat every time and led to no solution.
pub fn steady_gain(walk: &Walk, counters: &Mask, contests: &Contests) -> Option<Gain> {
    if walk.status() == Status::Solved {
        return None;
    }
    let mut looks: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, moment) in walk.moments().enumerate() {
        looks.entry(counters.apply(&moment.look())).or_default().push(index);
    }
    let repeated: Vec<_> = looks.into_values().filter(|times| times.len() > LAPS).collect();
    walk.seats().into_iter().find_map(|seat| {
        let earned = walk.earnings(&seat, contests);
        let income = |times: &[usize]| -> Option<f64> {
            let gaps = times.windows(2).map(|pair| earned[pair[1]] - earned[pair[0]]);
            let least = gaps.fold(f64::INFINITY, f64::min);
            let [first, .., before, last] = times[..] else { return None };
            // The walk must not have left the loop, nor lost what it had at the end.
            let stayed = walk.steps.len() - last <= last - before;
            let kept = earned[walk.steps.len()] - earned[first] > ROUNDING;
            let paid = stayed && kept && least > ROUNDING;
            (paid && is_the_same_way(walk, times)).then_some(least)
        };
        let value = repeated.iter().find_map(|times| {
            let in_rounds = |rounds| every(times, rounds).and_then(|times| income(&times));
            (1..=RAREST).find_map(in_rounds)
        })?;
        Some(Gain { seat, value, steps: walk.steps.len() })
    })
}

/// The last of these times and those before it by so many rounds, if they are enough.
fn every(times: &[usize], rounds: usize) -> Option<Vec<usize>> {
    let mut some: Vec<usize> = times.iter().rev().step_by(rounds).copied().collect();
    some.reverse();
    let laps = if rounds == 1 { LAPS } else { RARE_LAPS };
    (some.len() > laps).then_some(some)
}

/// Whether the walk did the same between these moments, and to its end. Other
/// actions may pay a few times, as better and better proposals do.
fn is_the_same_way(walk: &Walk, times: &[usize]) -> bool {
    let (first, steps) = (times[0], walk.steps.len());
    times[1..].iter().map(|time| time - first).any(|length| {
        first + LAPS * length <= steps
            && (first + length..steps).all(|at| walk.steps[at].deed == walk.steps[at - length].deed)
    })
}

/// A sequence of actions that was gone through to the end of the walk, longer
/// than anybody needs for a solution, and paid a seat every time.
pub fn endless_gain(walk: &Walk, expert: &Walk, contests: &Contests) -> Option<Gain> {
    if walk.status() != Status::Ongoing || expert.status() != Status::Solved {
        return None;
    }
    let steps = walk.steps.len();
    let is_lap = |length: &usize| {
        let stretch = (ENDLESS_LAPS * length).max(2 * expert.steps.len() + length);
        let from = steps.checked_sub(stretch);
        from.is_some_and(|from| {
            (from + length..steps).all(|at| walk.steps[at].deed == walk.steps[at - length].deed)
        })
    };
    let lap = (1..=LONGEST_LAP).find(is_lap)?;
    let laps = ENDLESS_LAPS.max(2 * expert.steps.len() / lap);
    walk.seats().into_iter().find_map(|seat| {
        let earned = walk.earnings(&seat, contests);
        // Not every round need pay, if one of so many does.
        let in_rounds = |rounds: usize| {
            let length = rounds * lap;
            let times = laps.div_ceil(rounds).max(RARE_LAPS);
            let from = steps.checked_sub(times * length)?;
            let is_gone_through =
                (from + lap..steps).all(|at| walk.steps[at].deed == walk.steps[at - lap].deed);
            let part =
                |part: usize| earned[steps - part * length] - earned[steps - (part + 1) * length];
            let least = (0..times).map(part).fold(f64::INFINITY, f64::min);
            (is_gone_through && least > ROUNDING).then_some(least)
        };
        let value = (1..=RAREST).find_map(in_rounds)?;
        Some(Gain { seat, value, steps })
    })
}
