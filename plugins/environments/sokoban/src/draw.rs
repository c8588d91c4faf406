//! Drawing a level for a task: played backwards, from the end to the start.

use plugin_sdk::environment::{Configured, Problem, Split, Task};
use plugin_sdk::{Random, SettingError, Settings};

use crate::level::{Cell, Cells, Level, Move, Position};
use crate::solver::{Effort, HASTY, OPTIMAL, Solver, Verdict};

/// Levels to draw before the settings are called impossible.
const DRAWS: usize = 3_000;
/// Positions that may be looked at for all of them.
const POSITIONS: usize = 24_000;

/// What the settings ask of a level.
#[derive(Debug)]
pub struct Wanted {
    size: u16,
    boxes: usize,
    walls: usize,
    min_pushes: usize,
    max_pushes: usize,
}

impl Wanted {
    /// Read the settings, or say which no level could meet.
    pub fn of(settings: &[Configured]) -> Result<Self, Problem> {
        let wanted = Wanted::read(settings)?;
        let inside = usize::from(wanted.size - 2).pow(2);
        let Wanted { boxes, walls, min_pushes, max_pushes, .. } = wanted;
        if walls + 2 * boxes + 4 > inside {
            return Err(Problem::settings(format!(
                "{walls} inner walls and {boxes} boxes leave no room on a board of size {}",
                wanted.size
            )));
        }
        if min_pushes > max_pushes {
            return Err(Problem::settings("`min_pushes` is greater than `max_pushes`"));
        }
        Ok(wanted)
    }

    fn read(settings: &[Configured]) -> Result<Self, SettingError> {
        Ok(Wanted {
            size: settings.integer("size")?,
            boxes: settings.integer("boxes")?,
            walls: settings.integer("walls")?,
            min_pushes: settings.integer("min_pushes")?,
            max_pushes: settings.integer("max_pushes")?,
        })
    }

    /// Rows and columns.
    pub fn size(&self) -> u16 {
        self.size
    }

    /// Moves that a solution takes at most.
    pub fn most_moves(&self) -> usize {
        usize::from(self.size) * (2 + 3 * self.boxes)
    }

    /// Draw the level of a task. No level is in two splits, however it is
    /// turned or mirrored.
    pub fn draw(&self, task: &Task) -> Result<(Level, Position), Problem> {
        let mut random = Random::new(task.split, task.seed, "level");
        let mut left = POSITIONS;
        for _ in 0..DRAWS {
            let Some((level, start)) = self.attempt(&mut random) else { continue };
            if owner(&level, &start) == task.split && self.suits(&level, &start, &mut left) {
                return Ok((level, start));
            }
            if left == 0 {
                break;
            }
        }
        Err(Problem::settings(format!(
            "no level with {} inner walls and {} to {} pushes turned up",
            self.walls, self.min_pushes, self.max_pushes
        )))
    }

    /// Walls, goals with a box on each, and then many pulls; nothing if there
    /// is nothing to pull.
    fn attempt(&self, random: &mut Random) -> Option<(Level, Position)> {
        let (level, mut position) = self.end(random);
        let solver = Solver::new(&level);
        let pulls = self.min_pushes + random.below(3 * self.max_pushes);
        for _ in 0..pulls {
            let reach = solver.reach(&position);
            let possible = possible_pulls(&level, &position, &reach);
            let &(cell, step) = random.choose(&possible)?;
            let next = level.after(cell, step)?;
            position.player = level.after(next, step)?;
            position.shift(cell, next);
        }
        let reach = solver.reach(&position);
        let places: Vec<Cell> =
            level.cells().filter(|&cell| reach[usize::from(cell)].is_some()).collect();
        position.player = *random.choose(&places)?;
        Some((level, position))
    }

    /// How a game ends: every box on its goal, and the player anywhere.
    fn end(&self, random: &mut Random) -> (Level, Position) {
        let size = usize::from(self.size);
        let inside = |cell: &usize| {
            let (row, column) = (cell / size, cell % size);
            row.min(column) > 0 && row.max(column) < size - 1
        };
        let mut order: Vec<usize> = (0..size * size).filter(inside).collect();
        random.shuffle(&mut order);
        let (inner_walls, floor) = order.split_at(self.walls);
        let mut walls: Vec<bool> = (0..size * size).map(|cell| !inside(&cell)).collect();
        inner_walls.iter().for_each(|&cell| walls[cell] = true);
        let mut boxes: Cells = floor[..self.boxes].iter().map(|&cell| cell as Cell).collect();
        boxes.sort_unstable();
        let mut goals = vec![false; size * size];
        boxes.iter().for_each(|&cell| goals[usize::from(cell)] = true);
        let player = floor[self.boxes] as Cell;
        (Level::new(self.size, walls, goals), Position { player, boxes })
    }

    /// Whether a solution is found that is neither too short nor too long.
    fn suits(&self, level: &Level, start: &Position, left: &mut usize) -> bool {
        let solver = Solver::new(level);
        let pushes = solver.distances().at_least(start) as usize;
        if start.is_solved(level) || pushes > self.max_pushes {
            return false;
        }
        let mut solve = |effort: Effort| {
            *left = left.saturating_sub(effort.positions / SHARE);
            solver.solve(start, effort)
        };
        let way = match solve(OPTIMAL) {
            Verdict::Unknown => solve(HASTY),
            known => known,
        };
        let Verdict::Solved(way) = way else { return false };
        let pushes = start.walk(level, &way).pushes;
        (self.min_pushes..=self.max_pushes).contains(&pushes) && way.len() <= self.most_moves()
    }
}

/// What part of the positions that a search may look at it usually does.
const SHARE: usize = 8;

/// Boxes that can be pulled, and where to.
fn possible_pulls(level: &Level, position: &Position, reach: &[Option<u32>]) -> Vec<(Cell, Move)> {
    let free = |cell: Cell| !position.has_box(cell);
    let pulls = |&cell: &Cell| Move::ALL.map(|step| (cell, step));
    let is_possible = |&(cell, step): &(Cell, Move)| {
        let next = level.after(cell, step).filter(|&next| reach[usize::from(next)].is_some());
        next.and_then(|next| level.after(next, step)).is_some_and(free)
    };
    position.boxes.iter().flat_map(pulls).filter(is_possible).collect()
}

/// The split a level belongs to, which turning and mirroring do not change.
fn owner(level: &Level, start: &Position) -> Split {
    let size = i32::from(level.width());
    let content = |row: i32, column: i32| {
        let cell = (row * size + column) as Cell;
        u8::from(level.is_floor(cell))
            + 2 * u8::from(level.is_goal(cell))
            + 4 * u8::from(start.has_box(cell))
            + 8 * u8::from(start.player == cell)
    };
    let turned = |symmetry: u8| -> Vec<u8> {
        let places = (0..size * size).map(|cell| (cell / size, cell % size));
        let seen = |(row, column): (i32, i32)| {
            let row = if symmetry & 1 == 0 { row } else { size - 1 - row };
            let column = if symmetry & 2 == 0 { column } else { size - 1 - column };
            if symmetry & 4 == 0 { content(row, column) } else { content(column, row) }
        };
        places.map(seen).collect()
    };
    Split::owning(&(0..8).map(turned).min().unwrap_or_default())
}
