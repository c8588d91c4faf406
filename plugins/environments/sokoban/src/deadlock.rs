//! Positions that can no longer be solved, as far as that can be told at a glance.

use crate::distance::Distances;
use crate::level::{Cell, Cells, Level, Move, Position};

/// Whether some box can never come to a goal: it stands where no goal can be
/// reached from, or it is off its goal and cannot be moved any more.
pub fn is_stuck(level: &Level, distances: &Distances, position: &Position) -> bool {
    let is_dead = |cell: &Cell| distances.is_dead(*cell);
    position.boxes.iter().any(is_dead)
        || frozen(level, distances, position).iter().any(|&cell| !level.is_goal(cell))
}

/// The boxes that cannot be moved any more, whatever happens: all but those
/// that can be pushed along an axis once everything that is movable is away.
fn frozen(level: &Level, distances: &Distances, position: &Position) -> Cells {
    let mut frozen = position.boxes.clone();
    loop {
        let stay = |&cell: &Cell| {
            let axes = [[Move::Up, Move::Down], [Move::Left, Move::Right]];
            axes.iter().all(|axis| is_blocked(level, distances, &frozen, cell, axis))
        };
        let left: Cells = frozen.iter().copied().filter(stay).collect();
        if left.len() == frozen.len() {
            return left;
        }
        frozen = left;
    }
}

/// Whether a box can be pushed neither way along an axis, with these boxes for
/// walls, or only to where it would be lost.
fn is_blocked(
    level: &Level,
    distances: &Distances,
    walls: &[Cell],
    cell: Cell,
    axis: &[Move; 2],
) -> bool {
    let sides = axis.map(|step| level.after(cell, step));
    let is_wall = |side: &Option<Cell>| side.is_none_or(|other| walls.contains(&other));
    let is_dead = |side: &Option<Cell>| side.is_some_and(|other| distances.is_dead(other));
    sides.iter().any(is_wall) || sides.iter().all(is_dead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::tests::read;

    fn stuck(text: &str) -> bool {
        let (level, position) = read(text);
        is_stuck(&level, &Distances::of(&level), &position)
    }

    #[test]
    fn boxes_that_hold_each_other_are_stuck() {
        assert!(stuck("#######\n# $$ .#\n# @   #\n#    .#\n#######"), "two at a wall");
        assert!(stuck("#######\n#.   .#\n# $$  #\n# $$@ #\n#.   .#\n#######"), "four in a square");
        assert!(stuck("######\n#$   #\n#  @.#\n######"), "a corner");
    }

    #[test]
    fn boxes_that_can_still_be_moved_are_not() {
        assert!(!stuck("#######\n#     #\n# $$ .#\n# @  .#\n#######"), "one can be pushed away");
        assert!(!stuck("######\n#**  #\n#  @ #\n######"), "boxes on goals may stay");
        assert!(!stuck("#######\n#     #\n#@$ . #\n#     #\n#######"));
    }
}
