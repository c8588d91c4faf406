//! How many moves a goal is away, exactly, and a shortest way to it.
//!
//! A block that can go to its final place may as well go there at once: that is
//! never worse. So a search has to decide only which block is put aside on the
//! table when none can.

use crate::stacks::{Block, Move, Place, Stacks};

/// Moves to the goal.
pub fn distance(stacks: &Stacks, goal: &Stacks) -> usize {
    let most = 2 * stacks.blocks().count();
    search(stacks.clone(), goal, most).unwrap_or(most)
}

/// A shortest way to the goal, at most `limit` moves of it: what can be put in
/// its final place is, of several the first by name.
pub fn shortest_way(stacks: &Stacks, goal: &Stacks, limit: usize) -> Vec<Move> {
    let mut here = stacks.clone();
    let mut way = Vec::new();
    while way.len() < limit && here != *goal {
        let Some(step) = finishing(&here, goal).or_else(|| best_aside(&here, goal)) else { break };
        here = after(&here, step);
        way.push(step);
    }
    way
}

/// Moves to the goal if there are fewer than `most`.
fn search(mut here: Stacks, goal: &Stacks, most: usize) -> Option<usize> {
    let mut moves = 0;
    while let Some(step) = finishing(&here, goal) {
        here = after(&here, step);
        moves += 1;
    }
    let wrong = here.blocks().filter(|&block| !here.is_right(goal, block)).count();
    if wrong == 0 {
        return (moves < most).then_some(moves);
    }
    let mut best = None;
    let mut bound = most;
    for step in asides(&here, goal) {
        // Beside this move, every wrong block takes one more.
        if moves + 1 + wrong >= bound {
            break;
        }
        if let Some(rest) = search(after(&here, step), goal, bound - moves - 1) {
            bound = moves + 1 + rest;
            best = Some(bound);
        }
    }
    best
}

/// The first block by name that can go to its final place.
fn finishing(here: &Stacks, goal: &Stacks) -> Option<Move> {
    let can_go = |&block: &Block| {
        here.is_clear(block)
            && !here.is_right(goal, block)
            && match goal.below(block) {
                Place::Table => true,
                Place::On(under) => here.is_clear(under) && here.is_right(goal, under),
            }
    };
    here.blocks().find(can_go).map(|block| Move { block, to: goal.below(block) })
}

/// Wrong blocks that can be put aside.
fn asides(here: &Stacks, goal: &Stacks) -> Vec<Move> {
    let can_go = |&block: &Block| {
        here.is_clear(block) && !here.is_right(goal, block) && here.below(block) != Place::Table
    };
    here.blocks().filter(can_go).map(|block| Move { block, to: Place::Table }).collect()
}

fn best_aside(here: &Stacks, goal: &Stacks) -> Option<Move> {
    asides(here, goal).into_iter().min_by_key(|&step| distance(&after(here, step), goal))
}

/// The stacks after a move that can be made.
fn after(here: &Stacks, step: Move) -> Stacks {
    let mut moved = here.clone();
    let done = moved.carry_out(step);
    debug_assert_eq!(done, Ok(()));
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::tests::stacks;
    use std::collections::VecDeque;

    /// Moves to the goal from everywhere it can be reached, by plain search.
    fn plain(goal: &Stacks) -> Vec<(Stacks, usize)> {
        let mut known = vec![(goal.clone(), 0)];
        let mut open = VecDeque::from([(goal.clone(), 0)]);
        while let Some((here, distance)) = open.pop_front() {
            for block in here.blocks() {
                let onto = here.blocks().map(Place::On).chain([Place::Table]);
                for to in onto {
                    let mut next = here.clone();
                    if next.carry_out(Move { block, to }).is_ok()
                        && !known.iter().any(|(other, _)| *other == next)
                    {
                        known.push((next.clone(), distance + 1));
                        open.push_back((next, distance + 1));
                    }
                }
            }
        }
        known
    }

    #[test]
    fn distances_are_those_of_a_plain_search() {
        for goal in ["ABCD", "AB CD", "BA C D", "DACB", "ABCDE", "CA EBD"] {
            let goal = stacks(goal);
            let known = plain(&goal);
            assert!(known.len() == 73 || known.len() == 501, "{}", known.len());
            for (start, moves) in known {
                // Moves can be made in both directions.
                assert_eq!(distance(&start, &goal), moves, "{start:?} {goal:?}");
                let way = shortest_way(&start, &goal, 99);
                assert_eq!(way.len(), moves);
                let end = way.into_iter().fold(start, |here, step| after(&here, step));
                assert_eq!(end, goal);
            }
        }
    }

    #[test]
    fn two_towers_that_wait_for_each_other_cost_a_move_more() {
        assert_eq!(distance(&stacks("AB CD"), &stacks("AD CB")), 3);
        assert_eq!(distance(&stacks("ABCDEFGH"), &stacks("ABCDEFGH")), 0);
        assert_eq!(distance(&stacks("ABCDEFGH"), &stacks("HGFEDCBA")), 8);
        assert_eq!(distance(&stacks("ABCDEFGH"), &stacks("BACDEFGH")), 14);
    }
}
