//! A search over forks: whatever is new or pays is followed first.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

use super::ground::Ground;
use super::quota::Quota;
use super::repertoire::Repertoire;
use super::suspects::Suspects;
use super::trail::{Live, Trail};
use crate::Random;
use crate::random::fnv;
use crate::testing::environment::ROUNDING;
use crate::testing::walk::{Deed, Walk};
use crate::types::{Problem, Status};

/// Situations that are kept in one task, and deeds of the longest trail.
const SITUATIONS: usize = 20_000;
const LONGEST: usize = 60;
/// How much an income counts beside being near to where the trail began.
const GREED: f64 = 3.0;
/// Of so many new situations, the expert goes on from one.
const DELAYS: usize = 12;

struct Open {
    score: f64,
    trail: Trail,
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.score.total_cmp(&other.score).is_eq()
    }
}
impl Eq for Open {}
impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score)
    }
}

/// Search one task, from its start and from every moment of the expert's way.
pub fn search<'h>(
    suspects: &mut Suspects<'h>,
    repertoire: &Repertoire<'_>,
    expert: &'h Walk,
    quota: &Quota<'_>,
) {
    let ground = &suspects.enter(expert, quota);
    let Ok(roots) = Trail::along(ground, expert) else { return };
    let mut random = Random::new(expert.task.split, expert.task.seed, "search");
    let mut cells: HashMap<(u64, u64), f64> = HashMap::new();
    let mut open: BinaryHeap<Open> =
        roots.into_iter().map(|trail| Open { score: score(ground, &trail), trail }).collect();
    let goes_on = |suspects: &Suspects| quota.is_left() && !suspects.is_done();
    while let Some(Open { trail, .. }) = open.pop().filter(|_| goes_on(suspects)) {
        for deed in repertoire.some(&mut random) {
            if !goes_on(suspects) {
                break;
            }
            let Ok(live) = forked(ground, &trail, deed) else { continue };
            suspects.look(ground, &live.trail);
            if !is_new(&mut cells, ground, &trail, &live.trail) {
                continue;
            }
            let Ok(next) = live.keep() else { continue };
            if cells.len() % DELAYS == 1 {
                suspects.look_for_delay(ground, &next);
            }
            open.push(Open { score: score(ground, &next), trail: next });
        }
    }
    suspects.saw(cells.len());
}

fn forked<'g>(ground: &'g Ground<'_>, trail: &Trail, deed: &Deed) -> Result<Live<'g>, Problem> {
    let mut live = trail.fork(ground)?;
    live.act(ground, deed)?;
    Ok(live)
}

/// Whether it is worth going on from there, and nobody does so yet.
fn is_new(
    cells: &mut HashMap<(u64, u64), f64>,
    ground: &Ground<'_>,
    before: &Trail,
    now: &Trail,
) -> bool {
    let earned = now.sum(ground);
    let is_over = now.status != Status::Ongoing || now.deeds.len() - now.guided >= LONGEST;
    // What was refused, and neither shows nor pays, has changed nothing.
    let is_vain =
        !now.is_accepted && earned <= before.sum(ground) + ROUNDING && now.look() == before.look();
    let said = now.deeds.last().map(Deed::words).unwrap_or_default();
    let cell = (now.look(), fnv(said.as_bytes()));
    let is_known = cells.get(&cell).is_some_and(|most| earned <= most + ROUNDING);
    let is_new = !is_over && !is_vain && !is_known && cells.len() < SITUATIONS;
    if is_new {
        cells.insert(cell, earned);
    }
    is_new
}

/// Near to the start, and rich.
fn score(ground: &Ground<'_>, trail: &Trail) -> f64 {
    let depth = trail.deeds.len() - trail.guided;
    let before = trail.earned.get(trail.guided).map_or(0.0, |earned| ground.sum(earned));
    let gain = (trail.sum(ground) - before) / ground.worth.abs().max(ROUNDING);
    GREED * gain.clamp(-1.0, 2.0) + 1.0 / (1.0 + depth as f64)
}
