//! A puzzle: clues with one solution, and how to draw one for a task.

use std::ops::RangeInclusive;

use plugin_sdk::environment::{Configured, Problem, Split, Task};
use plugin_sdk::{Random, Settings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::board::{Board, Cell, Digit, box_of};
use crate::solver::{Completions, completions, full_board, is_unique};

/// Boards to look at before a record's puzzle is called too hard.
const BOARDS: usize = 20_000;

/// Full boards to try before the settings are called impossible.
const ATTEMPTS: usize = 400;

/// Clues and the one way to complete them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Puzzle {
    /// The digits that are given.
    pub clues: Board,
    /// The only full board that agrees with them.
    pub solution: Board,
}

impl Puzzle {
    /// The puzzle of a record: `puzzle` is a list of rows, each a list of digits
    /// with 0 for a blank, perhaps inside of `metadata`.
    pub fn of_record(entry: &str) -> Result<Self, Problem> {
        let record: Value = serde_json::from_str(entry)
            .map_err(|error| Problem::task(format!("the record is not JSON: {error}")))?;
        let rows = [&record["puzzle"], &record["metadata"]["puzzle"]].into_iter();
        let rows = rows.into_iter().find_map(Value::as_array);
        let rows = rows.ok_or_else(|| Problem::task("the record has no list `puzzle`"))?;
        Puzzle::with(rows).map_err(|reason| Problem::task(format!("the puzzle {reason}")))
    }

    fn with(rows: &[Value]) -> Result<Self, String> {
        let size = rows.len();
        box_of(size).ok_or_else(|| format!("has {size} rows, not 4, 6, 8 or 9"))?;
        let digit = |value: &Value| value.as_u64().filter(|&digit| digit <= size as u64);
        let row = |row: &Value| row.as_array().filter(|cells| cells.len() == size).cloned();
        let cells = rows.iter().map(row).collect::<Option<Vec<_>>>();
        let cells = cells.map(|rows| rows.concat()).unwrap_or_default();
        let digits = cells.iter().map(|value| digit(value).map(|digit| digit as Digit));
        let digits: Vec<Digit> = digits.collect::<Option<_>>().unwrap_or_default();
        if digits.len() != size * size {
            return Err(format!("is not {size} rows of {size} digits, with 0 for a blank"));
        }
        let clues = Board::new(size, digits);
        let fits =
            |cell: Cell| clues.get(cell) == 0 || clues.candidates(cell).contains(clues.get(cell));
        if !clues.cells().all(fits) {
            return Err("has the same digit twice in a row, a column or a box".to_owned());
        }
        if clues.blanks().next().is_none() {
            return Err("has no blank".to_owned());
        }
        match completions(&clues, BOARDS) {
            Completions::One(solution) => Ok(Puzzle { clues, solution }),
            Completions::None => Err("has no solution".to_owned()),
            Completions::Several => Err("has more than one solution".to_owned()),
            Completions::Unknown => Err("takes too long to solve".to_owned()),
        }
    }

    /// Draw the puzzle of a task. No puzzle is in two splits, whatever its
    /// digits are called.
    pub fn draw(task: &Task) -> Result<Self, Problem> {
        let (size, blanks) = wanted(&task.settings)?;
        let mut random = Random::new(task.split, task.seed, "puzzle");
        let mut drawn = (0..ATTEMPTS).filter_map(|_| dig(size, blanks, &mut random));
        drawn.find(|puzzle| puzzle.owner() == task.split).ok_or_else(|| {
            Problem::settings(format!(
                "no puzzle with {blanks} blanks turned up in {ATTEMPTS} attempts"
            ))
        })
    }

    /// Whether the cell is part of the problem.
    pub fn is_clue(&self, cell: Cell) -> bool {
        self.clues.get(cell) != 0
    }

    /// How many digits are to be found.
    pub fn blanks(&self) -> usize {
        self.clues.blanks().count()
    }

    /// The split it belongs to. Digits are first renamed in order of their
    /// appearance, so that puzzles that differ in names only stay together.
    fn owner(&self) -> Split {
        let mut names: Vec<Digit> = vec![0];
        let mut name = |digit| {
            let known = names.iter().position(|&other| other == digit);
            known.unwrap_or_else(|| {
                names.push(digit);
                names.len() - 1
            }) as u8
        };
        let renamed: Vec<u8> = self.clues.digits().iter().map(|&digit| name(digit)).collect();
        Split::owning(&renamed)
    }
}

/// The fewest and the most blanks of a board with so many rows, if there is one.
pub fn blanks_of(size: usize) -> Result<RangeInclusive<usize>, Problem> {
    match size {
        4 => Ok(6..=16),
        6 => Ok(8..=24),
        8 => Ok(16..=36),
        // With more, the search for a puzzle is longer than a plugin's call may be.
        9 => Ok(20..=40),
        _ => Err(Problem::settings(format!("a board has 4, 6, 8 or 9 rows, not {size}"))),
    }
}

/// The size of the board and the cells to fill in, if there are such puzzles.
pub fn wanted(settings: &[Configured]) -> Result<(usize, usize), Problem> {
    let size: usize = settings.integer("size")?;
    let blanks: usize = settings.integer("blanks")?;
    let blanks = if blanks == 0 { size * size / 2 } else { blanks };
    let possible = blanks_of(size)?;
    if !possible.contains(&blanks) {
        let (fewest, most) = (possible.start(), possible.end());
        return Err(Problem::settings(format!(
            "{blanks} blanks do not make a puzzle of size {size}; it takes {fewest} to {most}"
        )));
    }
    Ok((size, blanks))
}

/// Take digits off a full board, in random order, as long as one solution is
/// left; nothing if that ends before there are enough blanks.
fn dig(size: usize, blanks: usize, random: &mut Random) -> Option<Puzzle> {
    let solution = full_board(size, random);
    let mut clues = solution.clone();
    let mut order: Vec<Cell> = clues.cells().collect();
    random.shuffle(&mut order);
    let mut missing = blanks;
    for cell in order {
        if missing == 0 {
            break;
        }
        clues.set(cell, 0);
        if is_unique(&clues) {
            missing -= 1;
        } else {
            clues.set(cell, solution.get(cell));
        }
    }
    (missing == 0).then_some(Puzzle { clues, solution })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sudoku;
    use proptest::prelude::*;

    #[test]
    fn settings_that_cannot_be_met_are_named() {
        let draw = |size: i32, blanks: i32| {
            let task =
                Task::of::<Sudoku>(Split::Train, 0).with("size", size).with("blanks", blanks);
            Puzzle::draw(&task).map(|_| ()).map_err(|problem| problem.sentence())
        };
        assert_eq!(
            draw(5, 0),
            Err("invalid settings: a board has 4, 6, 8 or 9 rows, not 5".to_owned())
        );
        assert!(draw(4, 5).is_err_and(|message| message.contains("it takes 6 to 16")));
        assert!(draw(4, 13).is_err_and(|message| message.contains("no puzzle with 13 blanks")));
        assert_eq!((draw(6, 24), draw(8, 36), draw(9, 40)), (Ok(()), Ok(()), Ok(())));
    }

    #[test]
    fn a_record_is_a_puzzle_with_one_solution_or_refused() {
        let read = |rows: &str| {
            let entry = format!("{{\"metadata\": {{\"puzzle\": {rows}}}}}");
            Puzzle::of_record(&entry).map_err(|problem| problem.message)
        };
        let puzzle = read("[[1,2,0,4],[3,4,0,0],[2,0,4,3],[4,3,0,1]]").expect("a puzzle");
        assert_eq!((puzzle.blanks(), puzzle.solution.get(2)), (5, 3));
        for (rows, reason) in [
            ("[[1]]", "has 1 rows"),
            ("[[1,2,0,4],[3,4],[2,0,4,3],[4,3,0,1]]", "is not 4 rows of 4 digits"),
            ("[[1,2,0,5],[3,4,0,0],[2,0,4,3],[4,3,0,1]]", "is not 4 rows of 4 digits"),
            ("[[1,1,0,4],[3,4,0,0],[2,0,4,3],[4,3,0,1]]", "has the same digit twice"),
            ("[[0,0,0,0],[3,4,0,0],[0,0,0,0],[0,0,0,0]]", "has more than one solution"),
            ("[[1,2,3,0],[0,0,0,0],[0,0,0,4],[0,0,0,0]]", "has no solution"),
            ("[[1,2,3,4],[3,4,1,2],[2,1,4,3],[4,3,2,1]]", "has no blank"),
        ] {
            let refused = read(rows).err().unwrap_or_default();
            assert!(refused.contains(reason), "{rows}: {refused}");
        }
        assert!(Puzzle::of_record("{").is_err() && Puzzle::of_record("{}").is_err());
    }

    #[test]
    fn renaming_digits_does_not_move_a_puzzle_to_another_split() {
        for seed in 0..20 {
            let puzzle = Puzzle::draw(&Task::of::<Sudoku>(Split::Test, seed)).expect("a puzzle");
            let swap = |board: &Board| {
                let renamed = board.digits().iter().map(|&digit| [0, 3, 1, 4, 2][digit as usize]);
                Board::new(4, renamed.collect())
            };
            let renamed = Puzzle { clues: swap(&puzzle.clues), solution: swap(&puzzle.solution) };
            assert_eq!(renamed.owner(), Split::Test);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn puzzles_have_one_solution_and_belong_to_their_split(
            seed: u32,
            split in prop::sample::select(Split::ALL.to_vec()),
            blanks in 6_i32..=10,
        ) {
            let task = Task::of::<Sudoku>(split, seed).with("blanks", blanks);
            let puzzle = Puzzle::draw(&task).expect("possible settings");
            prop_assert_eq!(puzzle.blanks() as i32, blanks);
            prop_assert!(is_unique(&puzzle.clues));
            prop_assert_eq!(puzzle.owner(), split);
            for cell in puzzle.clues.cells() {
                prop_assert!(!puzzle.is_clue(cell) || puzzle.clues.get(cell) == puzzle.solution.get(cell));
            }
        }
    }
}
