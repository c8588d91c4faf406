//! How far the target is, and which way.
//!
//! On three pegs there is one shortest way and it is known. On more, all
//! positions are searched where there are few enough of them; otherwise the way
//! is the one over a single spare peg, which is not the shortest.

use crate::pegs::{Move, Peg, Pegs};

/// Positions that are searched at most.
const POSITIONS: usize = 20_000;
/// No distance yet.
const UNKNOWN: u32 = u32::MAX;

/// The ways to a target.
pub struct Route {
    target: Peg,
    /// The moves from every position, where they were searched.
    searched: Option<Vec<u32>>,
}

impl Route {
    /// The ways from positions like these to the target.
    pub fn new(pegs: &Pegs, target: Peg) -> Self {
        let discs = pegs.of_disc().len() as u32;
        let positions = usize::from(pegs.count()).checked_pow(discs);
        let few = positions.filter(|&positions| pegs.count() > 3 && positions <= POSITIONS);
        Route { target, searched: few.map(|positions| search(pegs, target, positions)) }
    }

    /// Moves from here to the target.
    pub fn distance(&self, pegs: &Pegs) -> u64 {
        match &self.searched {
            Some(distances) => u64::from(distances[index(pegs)]),
            None => known_way(pegs, self.target).1,
        }
    }

    /// At most `limit` moves of a way to the target.
    pub fn way(&self, pegs: &Pegs, limit: usize) -> Vec<Move> {
        let mut here = pegs.clone();
        let mut way = Vec::new();
        while way.len() < limit && !here.all_on(self.target) {
            let step = match &self.searched {
                Some(distances) => closer(&here, distances),
                None => known_way(&here, self.target).0,
            };
            let Some(step) = step.filter(|step| here.carry_out(*step).is_ok()) else { break };
            way.push(step);
        }
        way
    }
}

/// The first move of the way over one spare peg, and how many there are: the
/// largest disc that is not where it should be goes there, and all smaller ones
/// go to the spare peg before.
fn known_way(pegs: &Pegs, target: Peg) -> (Option<Move>, u64) {
    let (mut wanted, mut moves, mut first) = (target, 0_u64, None);
    for (disc, &peg) in pegs.of_disc().iter().enumerate().rev() {
        if peg == wanted {
            continue;
        }
        moves += 1 << disc.min(62);
        first = Some(Move { disc: None, from: peg, to: wanted });
        wanted = spare(pegs.count(), peg, wanted);
    }
    (first, moves)
}

/// The first peg that is neither.
fn spare(count: Peg, one: Peg, other: Peg) -> Peg {
    (0..count).find(|peg| *peg != one && *peg != other).unwrap_or(one)
}

/// The move that brings the target nearer, the first by pegs.
fn closer(here: &Pegs, distances: &[u32]) -> Option<Move> {
    let now = distances[index(here)];
    steps(here).find(|(_, next)| distances[index(next)] < now).map(|(step, _)| step)
}

/// The moves from every position to the target.
fn search(pegs: &Pegs, target: Peg, positions: usize) -> Vec<u32> {
    let end = Pegs::new(pegs.count(), vec![target; pegs.of_disc().len()]);
    let mut distances = vec![UNKNOWN; positions];
    distances[index(&end)] = 0;
    let mut edge = vec![end];
    let mut moves = 0;
    while !edge.is_empty() {
        moves += 1;
        let mut beyond = Vec::new();
        for here in &edge {
            // Moves can be made in both directions.
            for (_, next) in steps(here) {
                let distance = &mut distances[index(&next)];
                if *distance == UNKNOWN {
                    *distance = moves;
                    beyond.push(next);
                }
            }
        }
        edge = beyond;
    }
    distances
}

/// Every move that changes something, and what it leads to.
fn steps(here: &Pegs) -> impl Iterator<Item = (Move, Pegs)> {
    let count = here.count();
    let pairs = (0..count).flat_map(move |from| (0..count).map(move |to| (from, to)));
    pairs.filter(|(from, to)| from != to).filter_map(|(from, to)| {
        let step = Move { disc: None, from, to };
        let mut next = here.clone();
        next.carry_out(step).ok().map(|()| (step, next))
    })
}

fn index(pegs: &Pegs) -> usize {
    let count = usize::from(pegs.count());
    pegs.of_disc().iter().fold(0, |index, peg| index * count + usize::from(*peg))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All positions of so many discs.
    fn positions(count: Peg, discs: u32) -> impl Iterator<Item = Pegs> {
        let pegs = usize::from(count);
        (0..pegs.pow(discs)).map(move |index| {
            let peg = |disc: u32| (index / pegs.pow(disc) % pegs) as Peg;
            Pegs::new(count, (0..discs).map(peg).collect())
        })
    }

    #[test]
    fn the_known_way_on_three_pegs_is_the_shortest() {
        for pegs in positions(3, 5) {
            let searched = search(&pegs, 2, 243);
            assert_eq!(Route::new(&pegs, 2).distance(&pegs), u64::from(searched[index(&pegs)]));
        }
    }

    #[test]
    fn every_way_is_as_long_as_was_said_and_ends_at_the_target() {
        for (count, discs) in [(3, 4), (4, 4), (5, 3)] {
            for pegs in positions(count, discs) {
                let route = Route::new(&pegs, 1);
                let way = route.way(&pegs, 999);
                assert_eq!(way.len() as u64, route.distance(&pegs));
                let mut end = pegs.clone();
                for step in way {
                    end.carry_out(step).expect("a lawful move");
                }
                assert!(end.all_on(1));
            }
        }
    }

    #[test]
    fn towers_take_as_many_moves_as_is_known() {
        let tower = |count, discs| {
            let pegs = Pegs::new(count, vec![0; discs]);
            Route::new(&pegs, 2).distance(&pegs)
        };
        assert_eq!([tower(3, 7), tower(4, 7), tower(5, 6)], [127, 25, 15]);
        assert_eq!(tower(4, 16), 65_535, "too many positions to be searched");
    }
}
