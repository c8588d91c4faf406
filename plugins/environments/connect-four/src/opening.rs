//! How a game begins: some discs have been dropped already, so that no
//! two tasks are the same.

use plugin_sdk::environment::{Configured, Problem, Split, Task};
use plugin_sdk::{Random, SettingError, Settings};

use crate::board::{Board, Shape, Side};
use crate::opponent::threat;

/// Openings to draw before the settings are called impossible.
const ATTEMPTS: usize = 2000;

/// The board that the settings ask for.
pub fn shape(settings: &[Configured]) -> Result<Shape, SettingError> {
    Ok(Shape {
        rows: settings.integer("rows")?,
        columns: settings.integer("columns")?,
        connect: settings.integer("connect")?,
    })
}

/// Say which settings no game could meet.
pub fn check(settings: &[Configured]) -> Result<(), Problem> {
    let Shape { rows, columns, connect } = shape(settings)?;
    if connect > rows.max(columns) {
        return Err(Problem::settings(format!(
            "{connect} in a row do not fit on a board of {rows} rows and {columns} columns"
        )));
    }
    Ok(())
}

/// Draw the opening of a task: neither side can win at once. It belongs to the split
/// that the board decides, so none is in two splits.
pub fn draw(task: &Task) -> Result<Board, Problem> {
    check(&task.settings)?;
    let (shape, discs): (Shape, usize) =
        (shape(&task.settings)?, task.settings.integer("opening")?);
    let mut random = Random::new(task.split, task.seed, "opening");
    (0..ATTEMPTS)
        .filter_map(|_| drop_discs(shape, discs, &mut random))
        .find(|board| threat(board).is_none() && owner(board) == task.split)
        .ok_or_else(|| {
            Problem::settings(format!(
                "no opening of {discs} discs without a threat turned up in {ATTEMPTS} attempts"
            ))
        })
}

/// Discs anywhere, unless that wins.
fn drop_discs(shape: Shape, discs: usize, random: &mut Random) -> Option<Board> {
    let mut board = Board::new(shape);
    for _ in 0..discs {
        let open: Vec<usize> = board.open().collect();
        let won = board.drop_into(*random.choose(&open)?);
        if won {
            return None;
        }
    }
    (!board.is_full()).then_some(board)
}

/// The split an opening belongs to.
fn owner(board: &Board) -> Split {
    let Shape { rows, columns, connect } = board.shape();
    let cells = (0..columns).flat_map(|column| (0..rows).map(move |row| (row, column)));
    let cells = cells.map(|(row, column)| match board.at(row, column) {
        None => 0,
        Some(Side::First) => 1,
        Some(Side::Second) => 2,
    });
    let shape = [rows, columns, connect].map(|count| count as u8);
    Split::owning(&shape.into_iter().chain(cells).collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectFour;

    #[test]
    fn settings_that_cannot_be_met_are_named() {
        let task = Task::of::<ConnectFour>(Split::Train, 0);
        let task = task.with("rows", 4).with("columns", 4).with("connect", 5);
        let fault = draw(&task).expect_err("impossible settings").sentence();
        assert!(fault.contains("5 in a row do not fit"), "{fault}");
    }

    #[test]
    fn openings_are_undecided_and_belong_to_their_split() {
        for split in Split::ALL {
            for seed in 0..100 {
                let board = draw(&Task::of::<ConnectFour>(split, seed)).expect("an opening");
                assert_eq!((threat(&board), owner(&board)), (None, split));
            }
        }
    }
}
