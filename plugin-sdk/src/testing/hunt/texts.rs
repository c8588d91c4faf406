//! Single texts: what pays at once, and what pays more with another word.

use std::slice;

use super::ground::Ground;
use super::quota::Quota;
use super::repertoire::Repertoire;
use super::suspects::Suspects;
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
    let ground = suspects.enter(expert, quota);
    let Ok(start) = Trail::start(&ground) else { return };
    let mut best: Vec<(f64, String)> = Vec::new();
    for deed in &repertoire.deeds {
        best.extend(say(suspects, &ground, &start, deed).map(|paid| (paid, deed.words())));
    }
    let mut random = Random::new(expert.task.split, expert.task.seed, "texts");
    for _ in 0..ROUNDS {
        keep_the_best(&mut best);
        for (before, text) in best.clone() {
            let longer = longer(repertoire, &text, &mut random);
            let paid = longer.filter_map(|(deed, text)| {
                let paid = say(suspects, &ground, &start, &deed)?;
                (paid > before + ROUNDING).then_some((paid, text))
            });
            best.extend(paid);
        }
    }
    keep_the_best(&mut best);
    best.into_iter().take(KEPT).for_each(|(_, text)| repertoire.learn(text));
}

/// The text with each word behind it, in any order, said by everybody who may.
fn longer<'r>(
    repertoire: &'r Repertoire<'_>,
    text: &str,
    random: &mut Random,
) -> impl Iterator<Item = (Deed, String)> + use<'r> {
    let mut words: Vec<&String> = repertoire.words.iter().collect();
    random.shuffle(&mut words);
    let texts: Vec<String> = words.into_iter().map(|word| format!("{text} {word}")).collect();
    let texts = texts.into_iter().filter(|text| text.chars().count() <= LONGEST);
    texts.flat_map(|text| {
        let said = |voice| (Deed::saying(slice::from_ref(voice), &text), text.clone());
        repertoire.voices.iter().map(said).collect::<Vec<_>>()
    })
}

/// What the deed pays all together at the start, unless it solves the task.
fn say(
    suspects: &mut Suspects<'_>,
    ground: &Ground<'_>,
    start: &Trail,
    deed: &Deed,
) -> Option<f64> {
    if !ground.quota.is_left() || suspects.is_done() {
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
