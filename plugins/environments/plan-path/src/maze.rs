//! Drawing a board and a start for a task.

use plugin_sdk::environment::{Configured, Problem, Split, Task};
use plugin_sdk::{Random, SettingError, Settings};

use crate::board::{Board, Cell};

/// Cells to draw before the settings are called impossible: 5000 boards of the
/// usual size, fewer large ones.
const DRAWN_CELLS: usize = 500_000;

/// What the settings ask of a board.
struct Wanted {
    size: i8,
    walls: usize,
    min_distance: u16,
    max_distance: u16,
}

/// Say which settings no board could meet.
pub fn check(settings: &[Configured]) -> Result<(), Problem> {
    Wanted::read(settings)?.check()
}

/// Draw the board and the start of a task. No board is in two splits: a board
/// belongs to the split that its walls, goal and start decide.
pub fn draw(task: &Task) -> Result<(Board, Cell), Problem> {
    let wanted = Wanted::read(&task.settings)?;
    wanted.check()?;
    let mut random = Random::new(task.split, task.seed, "maze");
    let attempts = DRAWN_CELLS / (wanted.size as usize).pow(2);
    (0..attempts)
        .map(|_| wanted.draw(&mut random))
        .find(|(board, start)| wanted.suits(board, *start) && owner(board, *start) == task.split)
        .ok_or_else(|| {
            Problem::settings(format!(
                "no board with {} walls and a distance from {} to {} turned up in {attempts} attempts",
                wanted.walls, wanted.min_distance, wanted.max_distance
            ))
        })
}

impl Wanted {
    fn read(settings: &[Configured]) -> Result<Self, SettingError> {
        Ok(Wanted {
            size: settings.integer("size")?,
            walls: settings.integer("walls")?,
            min_distance: settings.integer("min_distance")?,
            max_distance: settings.integer("max_distance")?,
        })
    }

    fn check(&self) -> Result<(), Problem> {
        let cells = self.size as usize * self.size as usize;
        if self.walls + 2 > cells {
            let message = format!("{} walls leave no room on a board of {cells} cells", self.walls);
            return Err(Problem::settings(message));
        }
        if self.min_distance > self.max_distance {
            let message = "`min_distance` is greater than `max_distance`".to_owned();
            return Err(Problem::settings(message));
        }
        Ok(())
    }

    fn draw(&self, random: &mut Random) -> (Board, Cell) {
        let size = self.size as usize;
        let mut order: Vec<usize> = (0..size * size).collect();
        random.shuffle(&mut order);
        let mut walls = vec![false; size * size];
        for &index in &order[2..2 + self.walls] {
            walls[index] = true;
        }
        let cell = |index| Cell { row: (index / size) as i8, column: (index % size) as i8 };
        (Board::new(self.size, walls, cell(order[0])), cell(order[1]))
    }

    fn suits(&self, board: &Board, start: Cell) -> bool {
        let distance = board.distances().from(start);
        distance.is_some_and(|distance| (self.min_distance..=self.max_distance).contains(&distance))
    }
}

/// The split a problem belongs to.
fn owner(board: &Board, start: Cell) -> Split {
    let mut problem: Vec<u8> = board.cells().map(|cell| u8::from(board.is_free(cell))).collect();
    for cell in [board.goal(), start] {
        problem.extend([cell.row as u8, cell.column as u8]);
    }
    Split::owning(&problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlanPath;
    use proptest::prelude::*;

    fn problem(task: &Task) -> String {
        draw(task).expect_err("impossible settings").sentence()
    }

    #[test]
    fn settings_that_cannot_be_met_are_named() {
        let task = Task::of::<PlanPath>(Split::Train, 0);
        insist(&problem(&task.clone().with("walls", 99)), "99 walls leave no room");
        insist(&problem(&task.clone().with("min_distance", 15)), "`min_distance` is greater");
        insist(&problem(&task.with("min_distance", 80).with("max_distance", 90)), "5000 attempts");
    }

    fn insist(message: &str, part: &str) {
        assert!(message.contains(part), "{message}");
    }

    proptest! {
        #[test]
        fn boards_meet_the_settings_and_belong_to_their_split(
            seed: u32,
            split in prop::sample::select(Split::ALL.to_vec()),
            size in 5_i32..12,
            walls in 0_i32..8,
        ) {
            let task = Task::of::<PlanPath>(split, seed).with("size", size).with("walls", walls);
            let (board, start) = draw(&task).expect("possible settings");
            let free = board.cells().filter(|&cell| board.is_free(cell)).count();
            prop_assert_eq!(free as i32, size * size - walls);
            let distance = board.distances().from(start).expect("a way");
            prop_assert!((3..=14).contains(&distance));
            prop_assert_eq!(owner(&board, start), split);
        }
    }
}
