//! A puzzle: queens that are given, and how to draw them for a task.

use plugin_sdk::environment::{Configured, Problem, Split, Task};
use plugin_sdk::{Random, Settings};
use serde_json::Value;

use crate::board::Board;

/// Puzzles to draw before the settings are called impossible.
const DRAWS: usize = 2_000;
/// Rows of a board.
const SIZES: std::ops::RangeInclusive<usize> = 4..=12;

/// The size of the board and the queens that are given, if there are such puzzles.
pub fn wanted(settings: &[Configured]) -> Result<(usize, usize), Problem> {
    let (size, given): (usize, usize) = (settings.integer("size")?, settings.integer("given")?);
    if given >= size {
        let message = format!("{given} queens are given of {size}; one at least is to be placed");
        return Err(Problem::settings(message));
    }
    Ok((size, given))
}

/// Draw the puzzle of a task: some queens of a random solution. No puzzle is in
/// two splits, however it is turned or mirrored.
pub fn draw(task: &Task) -> Result<Board, Problem> {
    let (size, given) = wanted(&task.settings)?;
    let mut random = Random::new(task.split, task.seed, "queens");
    let draw = |_| {
        let full = Board::empty(size).completed(&mut |columns| random.shuffle(columns))?;
        let mut cells: Vec<usize> = full.queens().collect();
        random.shuffle(&mut cells);
        let mut board = Board::empty(size);
        cells[..given].iter().for_each(|&cell| board.set(cell, true));
        Some(board)
    };
    let mut drawn = (0..DRAWS).filter_map(draw);
    drawn.find(|board| owner(board) == task.split).ok_or_else(|| {
        let split = task.split;
        Problem::settings(format!("no puzzle with {given} of {size} queens belongs to {split}"))
    })
}

/// The puzzle of a record: `puzzle` is a list of rows, each a list of `Q` and
/// `_`, perhaps inside of `metadata`.
pub fn of_record(entry: &str) -> Result<Board, Problem> {
    let record: Value = serde_json::from_str(entry)
        .map_err(|error| Problem::task(format!("the record is not JSON: {error}")))?;
    let mut rows = [&record["puzzle"], &record["metadata"]["puzzle"]].into_iter();
    let rows = rows.find_map(Value::as_array);
    let rows = rows.ok_or_else(|| Problem::task("the record has no list `puzzle`"))?;
    with(rows).map_err(|reason| Problem::task(format!("the puzzle {reason}")))
}

fn with(rows: &[Value]) -> Result<Board, String> {
    let size = rows.len();
    if !SIZES.contains(&size) {
        return Err(format!("has {size} rows, not 4 to 12"));
    }
    let mut board = Board::empty(size);
    for (row, cells) in rows.iter().enumerate() {
        let cells = cells.as_array().filter(|cells| cells.len() == size);
        let cells = cells.ok_or_else(|| format!("is not {size} rows of {size} cells"))?;
        for (column, cell) in cells.iter().enumerate() {
            match cell.as_str() {
                Some("Q") => board.set(row * size + column, true),
                Some("_") => {}
                _ => return Err("has a cell that is neither \"Q\" nor \"_\"".to_owned()),
            }
        }
    }
    match board.completed(&mut |_| {}) {
        Some(full) if full != board => Ok(board),
        Some(_) => Err("has all its queens already".to_owned()),
        None => Err("has no solution".to_owned()),
    }
}

/// The split a puzzle belongs to.
fn owner(board: &Board) -> Split {
    let last = board.size() - 1;
    let turned = |symmetry: u8| -> Vec<u8> {
        let place = |cell: usize| {
            let (row, column) = (cell / board.size(), cell % board.size());
            let row = if symmetry & 1 == 0 { row } else { last - row };
            let column = if symmetry & 2 == 0 { column } else { last - column };
            let (row, column) = if symmetry & 4 == 0 { (row, column) } else { (column, row) };
            (row * board.size() + column) as u8
        };
        let mut places: Vec<u8> = board.queens().map(place).collect();
        places.sort_unstable();
        places.insert(0, board.size() as u8);
        places
    };
    Split::owning(&(0..8).map(turned).min().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EightQueens;

    #[test]
    fn puzzles_can_be_solved_and_belong_to_their_split() {
        for split in Split::ALL {
            for seed in 0..40 {
                let board = draw(&Task::of::<EightQueens>(split, seed)).expect("a puzzle");
                assert_eq!((board.count(), owner(&board)), (3, split));
                assert!(board.completed(&mut |_| {}).is_some());
            }
        }
    }

    #[test]
    fn a_record_is_a_puzzle_that_can_be_solved_or_refused() {
        let read = |rows: &str| {
            of_record(&format!("{{\"puzzle\": {rows}}}")).map_err(|problem| problem.message)
        };
        let row = |row: &str| {
            format!(
                "[{}]",
                row.split("")
                    .filter(|c| !c.is_empty())
                    .map(|c| format!("{c:?}"))
                    .collect::<Vec<_>>()
                    .join(",")
            )
        };
        let rows =
            |text: &str| format!("[{}]", text.split('/').map(row).collect::<Vec<_>>().join(","));
        assert_eq!(read(&rows("_Q__/____/____/____")).map(|board| board.count()), Ok(1));
        for (text, reason) in [
            ("Q___/____/____/____", "has no solution"),
            ("QQ__/____/____/____", "has no solution"),
            ("_Q__/___Q/Q___/__Q_", "has all its queens"),
            ("_Q__/___x/____/____", "neither"),
            ("_Q__/___/____/____", "is not 4 rows"),
            ("_", "has 1 rows"),
        ] {
            assert!(read(&rows(text)).is_err_and(|it| it.contains(reason)), "{text}");
        }
    }
}
