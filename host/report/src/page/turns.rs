//! What the turns of an episode gained and lost, as a page shows it.

use std::path::Path;

use serde::Serialize;

use super::texts::{Place, Texts};
use troupe_core::archive::read_lines;
use troupe_core::blame::{Alternative, Blame, Effect, FILE, Measure, Round, StateValue, Turn};
use troupe_core::storage::StorageError;

/// An episode's rounds.
#[derive(Debug, Serialize)]
pub struct Course {
    /// What outcomes are counted in.
    measure: Measure,
    /// What came of it.
    outcome: f64,
    /// What its task was worth before anybody had answered.
    start: StateValue,
    /// The rounds, in order.
    rounds: Vec<Bend>,
}

/// A round: what the state was worth before and after it, and who answered.
#[derive(Debug, Serialize)]
struct Bend {
    round: usize,
    before: StateValue,
    after: StateValue,
    turns: Vec<Answered>,
}

/// A seat's answer, what it changed, and what it could have been.
#[derive(Debug, Serialize)]
struct Answered {
    role: String,
    instance: u32,
    thread: String,
    turn: usize,
    text: Place,
    effect: Effect,
    others: Vec<(Place, usize, f64)>,
}

/// What `host blame` left in a run's folder, and how many of its lines cannot be read.
///
/// # Errors
/// If the system refuses to read it.
pub fn read(run: &Path) -> Result<(Vec<Blame>, usize), StorageError> {
    let (lines, mut unreadable) = read_lines(&run.join(FILE))?;
    let count = lines.len();
    let found: Vec<Blame> =
        lines.into_iter().filter_map(|line| serde_json::from_value(line).ok()).collect();
    unreadable += count - found.len();
    Ok((found, unreadable))
}

/// Tell the course of an episode.
pub fn tell(blame: &Blame, texts: &mut Texts) -> Course {
    let mut answered = |turn: &Turn| Answered {
        role: turn.role.clone(),
        instance: turn.instance,
        thread: turn.thread.clone(),
        turn: turn.turn,
        text: texts.place(&turn.text),
        effect: turn.effect,
        others: (turn.alternatives.iter())
            .map(|Alternative { text, drawn, outcome }| (texts.place(text), *drawn, *outcome))
            .collect(),
    };
    let bend = |Round { round, before, after, turns, .. }: &Round| Bend {
        round: *round,
        before: *before,
        after: *after,
        turns: turns.iter().map(&mut answered).collect(),
    };
    Course {
        measure: blame.measure,
        outcome: blame.outcome,
        start: blame.start,
        rounds: blame.rounds.iter().map(bend).collect(),
    }
}
