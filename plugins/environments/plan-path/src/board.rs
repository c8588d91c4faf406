//! The board: cells, walls, moves and distances. Knows nothing of turns,
//! rewards or how things are shown.

use serde::{Deserialize, Serialize};

/// A place on the board, counted from the upper left corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Rows below the first.
    pub row: i8,
    /// Columns right of the first.
    pub column: i8,
}

impl Cell {
    /// The neighboring cell, which may lie off the board.
    pub fn after(self, step: Move) -> Cell {
        let (rows, columns) = step.offset();
        Cell { row: self.row + rows, column: self.column + columns }
    }

    /// How many rows and columns `other` is further down and to the right.
    pub fn offset_to(self, other: Cell) -> (i8, i8) {
        (other.row - self.row, other.column - self.column)
    }
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    /// Rows down and columns to the right.
    pub fn offset(self) -> (i8, i8) {
        match self {
            Move::Up => (-1, 0),
            Move::Down => (1, 0),
            Move::Left => (0, -1),
            Move::Right => (0, 1),
        }
    }
}

/// A square board with walls and a goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Board {
    size: i8,
    walls: Vec<bool>,
    goal: Cell,
}

/// Where a walk ended, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// The cells that were entered, in order.
    pub entered: Vec<Cell>,
    /// The move that could not be made, which ended the walk.
    pub illegal: Option<Move>,
}

impl Board {
    /// A board of `size` rows and columns; `walls` says row by row where walls are.
    pub fn new(size: i8, walls: Vec<bool>, goal: Cell) -> Self {
        debug_assert_eq!(walls.len(), size as usize * size as usize);
        Board { size, walls, goal }
    }

    /// How many rows and columns it has.
    pub fn size(&self) -> i8 {
        self.size
    }

    /// Where to go.
    pub fn goal(&self) -> Cell {
        self.goal
    }

    /// All cells, row by row.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + use<> {
        let size = self.size;
        (0..size).flat_map(move |row| (0..size).map(move |column| Cell { row, column }))
    }

    /// Whether one may stand here: on the board and not in a wall.
    pub fn is_free(&self, cell: Cell) -> bool {
        self.contains(cell) && !self.walls[self.index(cell)]
    }

    /// Whether the cell is on the board.
    pub fn contains(&self, cell: Cell) -> bool {
        (0..self.size).contains(&cell.row) && (0..self.size).contains(&cell.column)
    }

    /// Walk from `start` until the moves are used up, one is illegal, or the
    /// goal is reached.
    pub fn walk(&self, start: Cell, moves: &[Move]) -> Walk {
        let mut walk = Walk { entered: Vec::new(), illegal: None };
        let mut here = start;
        for &step in moves {
            let next = here.after(step);
            if !self.is_free(next) {
                walk.illegal = Some(step);
                break;
            }
            walk.entered.push(next);
            here = next;
            if here == self.goal {
                break;
            }
        }
        walk
    }

    /// How far every cell is from the goal.
    pub fn distances(&self) -> Distances {
        let size = self.size as usize;
        // A frame of walls, so that no neighbor has to be looked for on the board.
        let mut distances = Distances { stride: size + 2, steps: vec![WALL; (size + 2).pow(2)] };
        for (row, walls) in self.walls.chunks(size).enumerate() {
            let start = (row + 1) * distances.stride + 1;
            for (steps, wall) in distances.steps[start..].iter_mut().zip(walls) {
                *steps = if *wall { WALL } else { FAR };
            }
        }
        distances.spread(self.goal);
        distances
    }

    /// At most `limit` moves along a shortest path to the goal. Where several
    /// are shortest, the path first takes the axis on which the goal is further
    /// away, rows before columns, so that the choice can be told from nearby.
    pub fn shortest_path(&self, start: Cell, limit: usize) -> Vec<Move> {
        let distances = self.distances();
        let mut path = Vec::new();
        let mut here = start;
        while path.len() < limit && here != self.goal {
            let closer = |step: &Move| {
                let next = here.after(*step);
                self.is_free(next) && distances.from(next) < distances.from(here)
            };
            let Some(&step) = self.preferences(here).iter().find(|&step| closer(step)) else {
                break;
            };
            path.push(step);
            here = here.after(step);
        }
        path
    }

    /// All moves, those that bring the goal nearer as the crow flies first.
    fn preferences(&self, here: Cell) -> [Move; 4] {
        let (rows, columns) = here.offset_to(self.goal);
        let vertical = if rows < 0 { [Move::Up, Move::Down] } else { [Move::Down, Move::Up] };
        let horizontal =
            if columns < 0 { [Move::Left, Move::Right] } else { [Move::Right, Move::Left] };
        if rows.abs() >= columns.abs() {
            [vertical[0], horizontal[0], horizontal[1], vertical[1]]
        } else {
            [horizontal[0], vertical[0], vertical[1], horizontal[1]]
        }
    }

    fn index(&self, cell: Cell) -> usize {
        cell.row as usize * self.size as usize + cell.column as usize
    }
}

/// Instead of a number of steps: a wall, or a cell not reached yet.
const WALL: u16 = u16::MAX - 1;
const FAR: u16 = u16::MAX;

/// How far every cell of a board is from its goal.
pub struct Distances {
    /// Cells from one row to the next, the frame included.
    stride: usize,
    steps: Vec<u16>,
}

impl Distances {
    /// Moves from `cell` to the goal; nothing if there is no way.
    pub fn from(&self, cell: Cell) -> Option<u16> {
        Some(self.steps[self.index(cell)]).filter(|&steps| steps < WALL)
    }

    fn index(&self, cell: Cell) -> usize {
        (cell.row as usize + 1) * self.stride + cell.column as usize + 1
    }

    /// Fills in all cells that can be reached.
    fn spread(&mut self, goal: Cell) {
        let goal = self.index(goal);
        self.steps[goal] = 0;
        let mut reached = Vec::with_capacity(self.steps.len());
        reached.push(goal);
        let mut done = 0;
        while let Some(&cell) = reached.get(done) {
            done += 1;
            for next in [cell - self.stride, cell + self.stride, cell - 1, cell + 1] {
                if self.steps[next] == FAR {
                    self.steps[next] = self.steps[cell] + 1;
                    reached.push(next);
                }
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `.` is free, `#` is a wall, `G` is the goal.
    pub fn board(rows: &[&str]) -> Board {
        let letters: Vec<char> = rows.iter().flat_map(|row| row.chars()).collect();
        let goal = letters.iter().position(|&letter| letter == 'G').expect("a goal") as i8;
        let size = rows.len() as i8;
        let walls = letters.iter().map(|&letter| letter == '#').collect();
        Board::new(size, walls, Cell { row: goal / size, column: goal % size })
    }

    fn words(moves: &[Move]) -> String {
        moves.iter().map(|step| step.word()).collect()
    }

    #[test]
    fn a_walk_stops_at_walls_edges_and_the_goal() {
        let board = board(&["..#", ".#.", "..G"]);
        let start = Cell { row: 0, column: 0 };
        let into_wall = board.walk(start, &[Move::Right, Move::Right, Move::Down]);
        assert_eq!(into_wall.entered, [Cell { row: 0, column: 1 }]);
        assert_eq!(into_wall.illegal, Some(Move::Right));
        assert_eq!(board.walk(start, &[Move::Up]).illegal, Some(Move::Up));
        let past_goal = [Move::Down, Move::Down, Move::Right, Move::Right, Move::Right];
        let walk = board.walk(start, &past_goal);
        assert_eq!((walk.entered.len(), walk.illegal), (4, None));
        assert_eq!(walk.entered.last(), Some(&board.goal()));
    }

    #[test]
    fn the_expert_takes_the_longer_axis_first_and_goes_round_walls() {
        let open = board(&["....", "....", "....", "...G"]);
        assert_eq!(words(&open.shortest_path(Cell { row: 2, column: 0 }, 9)), "RRDR");
        let walled = board(&["....", "..#.", "..#G", "..#."]);
        assert_eq!(words(&walled.shortest_path(Cell { row: 2, column: 1 }, 9)), "UURRDD");
        assert_eq!(words(&walled.shortest_path(Cell { row: 2, column: 1 }, 3)), "UUR");
    }

    proptest! {
        #[test]
        fn every_move_of_the_expert_brings_the_goal_nearer(
            walls in proptest::collection::vec(proptest::bool::weighted(0.25), 36),
            start in 0_i8..36,
            goal in 0_i8..36,
        ) {
            let mut walls = walls;
            walls[start as usize] = false;
            walls[goal as usize] = false;
            let cell = |index: i8| Cell { row: index / 6, column: index % 6 };
            let board = Board::new(6, walls, cell(goal));
            let distance = board.distances().from(cell(start));
            let path = board.shortest_path(cell(start), 99);
            let walk = board.walk(cell(start), &path);
            prop_assert_eq!(walk.illegal, None);
            match distance {
                Some(distance) => {
                    prop_assert_eq!(path.len(), usize::from(distance));
                    let end = walk.entered.last().copied().unwrap_or(cell(start));
                    prop_assert_eq!(end, board.goal());
                }
                None => prop_assert!(path.is_empty()),
            }
        }
    }
}
