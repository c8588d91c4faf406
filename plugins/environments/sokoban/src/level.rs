//! A level and where everything stands in it. Knows nothing of turns, rewards
//! or how things are shown.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A place, counted row by row from the upper left corner.
pub type Cell = u16;

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Move {
    /// To the row above.
    Up,
    /// To the row below.
    Down,
    /// To the column on the left.
    Left,
    /// To the column on the right.
    Right,
}

impl Move {
    /// All moves.
    pub const ALL: [Move; 4] = [Move::Up, Move::Down, Move::Left, Move::Right];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Move::Up => "U",
            Move::Down => "D",
            Move::Left => "L",
            Move::Right => "R",
        }
    }

    /// The way back.
    pub fn reversed(self) -> Move {
        match self {
            Move::Up => Move::Down,
            Move::Down => Move::Up,
            Move::Left => Move::Right,
            Move::Right => Move::Left,
        }
    }

    /// Rows down and columns to the right.
    pub fn offset(self) -> (i32, i32) {
        match self {
            Move::Up => (-1, 0),
            Move::Down => (1, 0),
            Move::Left => (0, -1),
            Move::Right => (0, 1),
        }
    }
}

/// Some places, in order. A search makes and drops many lists, most of them of few boxes.
pub type Cells = SmallVec<[Cell; 4]>;

/// Walls and goals; whatever is off the board is wall.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    width: u16,
    /// Whether there are walls all around, so that no step leads off the board.
    is_walled: bool,
    walls: Vec<bool>,
    goals: Vec<bool>,
}

impl Level {
    /// A level so wide; both lists go row by row.
    pub fn new(width: u16, walls: Vec<bool>, goals: Vec<bool>) -> Self {
        debug_assert!(walls.len() == goals.len() && walls.len().is_multiple_of(usize::from(width)));
        let height = walls.len() / usize::from(width);
        let is_walled = walls.iter().enumerate().all(|(cell, &is_wall)| {
            let (row, column) = (cell / usize::from(width), cell % usize::from(width));
            let is_inside =
                (1..height - 1).contains(&row) && (1..usize::from(width) - 1).contains(&column);
            is_wall || is_inside
        });
        Level { width, is_walled, walls, goals }
    }

    /// How many columns it has.
    pub fn width(&self) -> u16 {
        self.width
    }

    /// How many rows it has.
    pub fn height(&self) -> u16 {
        (self.walls.len() / usize::from(self.width)) as u16
    }

    /// All cells, row by row.
    pub fn cells(&self) -> std::ops::Range<Cell> {
        0..self.walls.len() as Cell
    }

    /// Whether there is no wall.
    pub fn is_floor(&self, cell: Cell) -> bool {
        !self.walls[usize::from(cell)]
    }

    /// Whether a box is wanted here.
    pub fn is_goal(&self, cell: Cell) -> bool {
        self.goals[usize::from(cell)]
    }

    /// Where boxes are wanted.
    pub fn goals(&self) -> impl Iterator<Item = Cell> {
        self.cells().filter(|&cell| self.is_goal(cell))
    }

    /// The row and the column of a cell, from 0.
    pub fn place(&self, cell: Cell) -> (i32, i32) {
        (i32::from(cell / self.width), i32::from(cell % self.width))
    }

    /// The cell in this row and column, if it is floor.
    pub fn floor_at(&self, row: i32, column: i32) -> Option<Cell> {
        let inside = (0..i32::from(self.height())).contains(&row)
            && (0..i32::from(self.width)).contains(&column);
        let cell = (row * i32::from(self.width) + column) as Cell;
        (inside && self.is_floor(cell)).then_some(cell)
    }

    /// The floor that a step from floor leads to.
    pub fn after(&self, cell: Cell, step: Move) -> Option<Cell> {
        debug_assert!(self.is_floor(cell));
        // Searches do little else: no row and column are worked out.
        let width = self.width;
        if self.is_walled {
            let next = match step {
                Move::Up => cell - width,
                Move::Down => cell + width,
                Move::Left => cell - 1,
                Move::Right => cell + 1,
            };
            return self.is_floor(next).then_some(next);
        }
        let next = match step {
            Move::Up => cell.checked_sub(width),
            Move::Down => Some(cell + width).filter(|next| self.cells().contains(next)),
            Move::Left => (!cell.is_multiple_of(width)).then(|| cell - 1),
            Move::Right => Some(cell + 1).filter(|next| !next.is_multiple_of(width)),
        };
        next.filter(|&next| self.is_floor(next))
    }

    /// How many rows and columns `to` is further down and to the right.
    pub fn offset(&self, from: Cell, to: Cell) -> (i32, i32) {
        let ((row, column), (to_row, to_column)) = (self.place(from), self.place(to));
        (to_row - row, to_column - column)
    }
}

/// Where the player and the boxes are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// Where the player is.
    pub player: Cell,
    /// Where the boxes are, in order.
    pub boxes: Cells,
}

/// What became of a list of moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Where everything is after it.
    pub end: Position,
    /// How many boxes were pushed, each push counted.
    pub pushes: usize,
    /// The first move that a wall or a box was in the way of.
    pub blocked: Option<Move>,
}

impl Position {
    /// Whether there is a box.
    pub fn has_box(&self, cell: Cell) -> bool {
        self.boxes.binary_search(&cell).is_ok()
    }

    /// Whether every box is on a goal.
    pub fn is_solved(&self, level: &Level) -> bool {
        self.boxes.iter().all(|&cell| level.is_goal(cell))
    }

    /// How many boxes are on goals.
    pub fn boxes_home(&self, level: &Level) -> usize {
        self.boxes.iter().filter(|&&cell| level.is_goal(cell)).count()
    }

    /// Make the moves. One that a wall or a box is in the way of does nothing.
    pub fn walk(&self, level: &Level, moves: &[Move]) -> Walk {
        let mut walk = Walk { end: self.clone(), pushes: 0, blocked: None };
        for &step in moves {
            match walk.end.step(level, step) {
                Some(pushed) => walk.pushes += usize::from(pushed),
                None => walk.blocked = walk.blocked.or(Some(step)),
            }
        }
        walk
    }

    /// Make one move; whether it pushed a box, or nothing if it is blocked.
    fn step(&mut self, level: &Level, step: Move) -> Option<bool> {
        let next = level.after(self.player, step)?;
        let pushes = self.has_box(next);
        if pushes {
            let behind = level.after(next, step).filter(|&cell| !self.has_box(cell))?;
            self.shift(next, behind);
        }
        self.player = next;
        Some(pushes)
    }

    /// Put a box somewhere else.
    pub fn shift(&mut self, from: Cell, to: Cell) {
        for cell in self.boxes.iter_mut().filter(|cell| **cell == from) {
            *cell = to;
        }
        self.boxes.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::tests::read;

    #[test]
    fn boxes_are_pushed_one_at_a_time_and_blocked_moves_do_nothing() {
        let (level, start) = read("#######\n#@$ $.#\n#  #. #\n#######");
        let walk = start.walk(&level, &[Move::Right, Move::Right, Move::Right]);
        assert_eq!((walk.pushes, walk.blocked), (1, Some(Move::Right)), "two boxes in a row");
        assert_eq!(walk.end.boxes[..], [10, 11]);
        let walk = start.walk(&level, &[Move::Up, Move::Down, Move::Right, Move::Right]);
        assert_eq!((walk.pushes, walk.blocked), (0, Some(Move::Up)));
        assert_eq!(level.place(walk.end.player), (2, 2));
    }

    #[test]
    fn it_is_solved_when_every_box_is_on_a_goal() {
        let (level, start) = read("#####\n#@$.#\n#  .#\n#####");
        assert!(!start.is_solved(&level));
        let walk = start.walk(&level, &[Move::Right]);
        assert!(walk.end.is_solved(&level), "one goal may stay free");
        assert_eq!(walk.end.boxes_home(&level), 1);
    }
}
