//! What a player sees, and every word it may contain.

use serde::{Deserialize, Serialize};

use crate::board::{Board, Cell, Move};

/// How far walls and visited cells can be seen, in rows and in columns.
const RADIUS: i8 = 3;
/// Walls that are listed at most.
const WALLS: usize = 12;
/// Visited cells that are listed at most.
const VISITED: usize = 4;

/// The form of an observation, by its word in the setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// What is near, seen from where the player stands, one word an item.
    List,
    /// The whole board, one word a cell.
    Map,
    /// The board as a drawing, and what is to be done with it.
    Text,
    /// Only walls next to the player, one word each.
    Near,
    /// The same in a sentence.
    NearText,
}

impl View {
    /// What `here` looks like; `visited` ends with the latest cell.
    pub fn show(self, board: &Board, here: Cell, visited: &[Cell]) -> String {
        match self {
            View::List => list(board, here, visited),
            View::Map => map(board, here),
            View::Text => text(board, here),
            View::Near => near(board, here),
            View::NearText => near_text(board, here),
        }
    }

    /// How to read an observation.
    pub fn legend(self) -> &'static str {
        match self {
            View::List => {
                "What you see is counted from where you stand, rows downward and columns to the \
                 right. `row+3` and `col-2`: the goal is 3 rows down and 2 columns to the left. \
                 `W(-1,+0)`: there is a wall, or the board ends, 1 row up. `V(+0,+1)`: you have \
                 been in the cell to the right. Only what is near is listed."
            }
            View::Map => {
                "You see the board row by row: `.` is free, `#` is a wall, `@` is you, `G` is the \
                 goal. Then where you are and where the goal is: `row:0` is the uppermost row, \
                 `col:0` the leftmost column."
            }
            View::Text => {
                "You see the board row by row: `.` is free, `#` is a wall, `@` is you, `G` is the \
                 goal. The upper left cell is in row 1, column 1. Write moves with spaces between \
                 them: `U D L R` goes up, down, left and right."
            }
            View::Near => {
                "You see neither the goal nor the board, only walls next to you: `W(-1,+0)` says \
                 that there is a wall, or that the board ends, 1 row up, `W(+0,+1)` the same of \
                 the cell to the right. Where to go you have to be told."
            }
            View::NearText => {
                "You see neither the goal nor the board, only which of the cells next to you are \
                 walls or beyond the edge. Where to go you have to be told. Write moves with \
                 spaces between them: `U D L R` goes up, down, left and right."
            }
        }
    }

    /// The view of a seat that is shown only what is near, where others have this view.
    pub fn nearby(self) -> View {
        if self == View::Text { View::NearText } else { View::Near }
    }

    /// Every word of an observation on a board of this size, and the moves; also
    /// those of a seat that sees only what is near, if there is one.
    pub fn vocabulary(self, size: i8, has_near: bool) -> Vec<String> {
        let mut words: Vec<String> = Move::ALL.iter().map(|step| step.word().to_owned()).collect();
        match self {
            View::List => {
                words.extend((1 - size..size).map(goal_row));
                words.extend((1 - size..size).map(goal_column));
                let near = || {
                    (-RADIUS..=RADIUS)
                        .flat_map(|row| (-RADIUS..=RADIUS).map(move |column| (row, column)))
                };
                words.extend(near().filter(|&offset| offset != (0, 0)).map(wall));
                words.extend(near().filter(|&offset| offset != (0, 0)).map(seen));
            }
            View::Map => {
                words.extend([".", "#", "@", "G", "you", "goal"].map(str::to_owned));
                words.extend((0..size).map(|row| format!("row:{row}")));
                words.extend((0..size).map(|column| format!("col:{column}")));
            }
            // It is for readers who know more words than can be listed.
            View::Text | View::NearText => return Vec::new(),
            View::Near => {}
        }
        if has_near && self != View::List {
            words.extend(Move::ALL.map(|step| wall(step.offset())));
        }
        words
    }
}

fn list(board: &Board, here: Cell, visited: &[Cell]) -> String {
    let (row, column) = here.offset_to(board.goal());
    let mut words = vec![goal_row(row), goal_column(column)];
    words.extend(nearest_walls(board, here).into_iter().take(WALLS).map(wall));
    let near = |&(row, column): &(i8, i8)| {
        row.abs() <= RADIUS && column.abs() <= RADIUS && (row, column) != (0, 0)
    };
    let latest_first = visited.iter().rev().map(|&cell| here.offset_to(cell));
    words.extend(latest_first.filter(near).take(VISITED).map(seen));
    words.join(" ")
}

/// Offsets of the walls in sight, nearest first; the edge counts as wall, but
/// after the walls that are as near.
fn nearest_walls(board: &Board, here: Cell) -> Vec<(i8, i8)> {
    let around =
        (-RADIUS..=RADIUS).flat_map(|row| (-RADIUS..=RADIUS).map(move |column| (row, column)));
    let cell = |(row, column): (i8, i8)| Cell { row: here.row + row, column: here.column + column };
    let mut walls: Vec<_> = around.filter(|&offset| !board.is_free(cell(offset))).collect();
    walls.sort_by_key(|&(row, column)| {
        (row.abs() + column.abs(), !board.contains(cell((row, column))))
    });
    walls
}

fn near(board: &Board, here: Cell) -> String {
    let walls = Move::ALL.map(|step| here.after(step)).into_iter();
    let walls = walls.filter(|&cell| !board.is_free(cell)).map(|cell| wall(here.offset_to(cell)));
    walls.collect::<Vec<_>>().join(" ")
}

fn near_text(board: &Board, here: Cell) -> String {
    let blocked = |step: &&Move| !board.is_free(here.after(**step));
    let walls: Vec<&str> = Move::ALL.iter().filter(blocked).map(|step| step.word()).collect();
    match walls.is_empty() {
        true => "You can go in all directions: U, D, L and R.".to_owned(),
        false => format!("You cannot go {}: there is a wall.", walls.join(" or ")),
    }
}

fn text(board: &Board, here: Cell) -> String {
    let place = |cell: Cell| format!("row {}, column {}", cell.row + 1, cell.column + 1);
    let (you, goal) = (place(here), place(board.goal()));
    let way = way(here.offset_to(board.goal()));
    format!("{}\nYou are in {you}; the goal is in {goal}{way}.", drawn(board, here))
}

/// Where something lies that is so many rows and columns away.
fn way((row, column): (i8, i8)) -> String {
    let vertical = if row < 0 { "up" } else { "down" };
    let horizontal = if column < 0 { "left" } else { "right" };
    let parts = [(row, vertical), (column, horizontal)].into_iter().filter(|(by, _)| *by != 0);
    let parts: Vec<String> =
        parts.map(|(by, side)| format!("{} {side}", by.unsigned_abs())).collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!(", {} of you", parts.join(" and ")),
    }
}

/// The board, one letter a cell.
pub fn drawn(board: &Board, here: Cell) -> String {
    rows(board, here, "")
}

fn map(board: &Board, here: Cell) -> String {
    let place = |cell: Cell| format!("row:{} col:{}", cell.row, cell.column);
    let rows = rows(board, here, " ");
    format!("{rows}\nyou {} goal {}", place(here), place(board.goal()))
}

fn rows(board: &Board, here: Cell, between: &str) -> String {
    let letter = |cell: Cell| match cell {
        _ if cell == here => "@",
        _ if cell == board.goal() => "G",
        _ if board.is_free(cell) => ".",
        _ => "#",
    };
    let cells: Vec<&str> = board.cells().map(letter).collect();
    let rows = cells.chunks(board.size() as usize).map(|row| row.join(between));
    rows.collect::<Vec<_>>().join("\n")
}

fn goal_row(rows: i8) -> String {
    format!("row{rows:+}")
}

fn goal_column(columns: i8) -> String {
    format!("col{columns:+}")
}

fn wall((row, column): (i8, i8)) -> String {
    format!("W({row:+},{column:+})")
}

fn seen((row, column): (i8, i8)) -> String {
    format!("V({row:+},{column:+})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::tests::board;

    #[test]
    fn the_list_is_counted_from_the_player() {
        let board = board(&[".....", ".....", "..#..", "....G", "....."]);
        let here = Cell { row: 2, column: 1 };
        let visited = [Cell { row: 1, column: 1 }, here];
        let shown = View::List.show(&board, here, &visited);
        assert!(shown.starts_with("row+1 col+3 W(+0,+1) W(+0,-2) W(-3,+0) W(-1,-2) "), "{shown}");
        assert!(shown.ends_with(" V(-1,+0)"), "{shown}");
    }

    #[test]
    fn the_map_shows_the_whole_board() {
        let board = board(&["..#", ".#.", "..G"]);
        let shown = View::Map.show(&board, Cell { row: 1, column: 0 }, &[]);
        assert_eq!(shown, ". . #\n@ # .\n. . G\nyou row:1 col:0 goal row:2 col:2");
        let shown = View::Text.show(&board, Cell { row: 1, column: 0 }, &[]);
        let told = "You are in row 2, column 1; the goal is in row 3, column 3, 1 down and 2 right \
                    of you.";
        assert_eq!(shown, format!("..#\n@#.\n..G\n{told}"));
        let shown = View::Text.show(&board, Cell { row: 2, column: 0 }, &[]);
        assert!(shown.ends_with("column 3, 2 right of you."), "{shown}");
    }
}
