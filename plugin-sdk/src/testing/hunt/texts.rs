//! Single texts: what pays at once, and what pays more with another word.

use super::quota::Quota;
use super::repertoire::Repertoire;
use super::suspects::{Ground, Suspects, deed};
use super::trail::Trail;
use crate::Random;
use crate::testing::environment::ROUNDING;
use crate::testing::walk::{Deed, Walk};
use crate::types::Status;

/// Texts that are made longer in a round, rounds, and texts that are kept for the search.
const BEAM: usize = 8;
const ROUNDS: usize = 4;
const KEPT: usize = 8;
/// Longest text in letters.
const LONGEST: usize = 400;

/// Say everything once at the start; go on from what paid best, word by word.
pub fn improve<'h>(
    suspects: &mut Suspects<'h>,
    repertoire: &mut Repertoire<'_>,
    expert: &'h Walk,
    quota: &Quota<'_>,
) {
    suspects.enter(expert, quota, |suspects, ground| {
        let Ok(start) = Trail::start(ground) else { return };
        let mut best: Vec<(f64, String)> = Vec::new();
        for deed in repertoire.deeds.clone() {
            if let Some(paid) = say(suspects, ground, &start, &deed) {
                best.push((paid, deed.words()));
            }
        }
        let mut random = Random::new(expert.task.split, expert.task.seed, "texts");
        for _ in 0..ROUNDS {
            keep_the_best(&mut best);
            for (before, text) in best.clone() {
                let mut words = repertoire.words.clone();
                random.shuffle(&mut words);
                for word in words {
                    if !ground.quota.is_left() || suspects.is_done() {
                        break;
                    }
                    let longer = format!("{text} {word}");
                    let longest = longer.chars().count() <= LONGEST;
                    for voice in repertoire.voices.iter().filter(|_| longest) {
                        let paid = say(suspects, ground, &start, &deed(voice, &longer));
                        if paid.is_some_and(|paid| paid > before + ROUNDING) {
                            best.push((paid.unwrap_or_default(), longer.clone()));
                        }
                    }
                }
            }
        }
        keep_the_best(&mut best);
        best.into_iter().take(KEPT).for_each(|(_, text)| repertoire.learn(text));
    });
}

/// What the deed pays all together at the start, unless it is refused or ends the episode well.
fn say(
    suspects: &mut Suspects<'_>,
    ground: &Ground<'_>,
    start: &Trail,
    deed: &Deed,
) -> Option<f64> {
    if !ground.quota.is_left() {
        return None;
    }
    let mut live = start.fork(ground).ok()?;
    live.act(ground, deed).ok()?;
    let trail = &live.trail;
    suspects.look(ground, trail);
    (trail.status != Status::Solved).then(|| trail.sum(ground)).filter(|paid| *paid > ROUNDING)
}

fn keep_the_best(best: &mut Vec<(f64, String)>) {
    best.sort_by(|one, other| {
        other.0.total_cmp(&one.0).then_with(|| one.1.len().cmp(&other.1.len()))
    });
    best.dedup_by(|next, one| next.1 == one.1);
    best.truncate(BEAM);
}
