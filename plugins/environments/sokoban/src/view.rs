//! What a player sees, and every word it may contain.

use serde::{Deserialize, Serialize};

use crate::deadlock::is_stuck;
use crate::level::{Cell, Level, Move, Position};
use crate::notation::drawn;
use crate::solver::Solver;

/// How far the player sees walls, in rows and columns together.
const RADIUS: i32 = 2;
/// How far from a box inner walls are told, in rows and in columns.
const AROUND: i32 = 3;
/// Places told where the player has been, the last ones.
const REMEMBERED: usize = 4;
/// Inner walls that are told of a box, the nearest ones.
const MOST: usize = 8;

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
}

impl View {
    /// What a position looks like to a player who has `been` somewhere. `far` is how far boxes and goals are told
    /// apart by distance; what is further away is told as if it were there.
    pub fn show(self, level: &Level, position: &Position, been: &[Cell], far: i32) -> String {
        match self {
            View::List => list(level, position, been, far),
            View::Map => drawn(level, position, " "),
            View::Text => {
                let home = position.boxes_home(level);
                let board = drawn(level, position, "");
                format!("{board}\nBoxes on goals: {home} of {}.", position.boxes.len())
            }
        }
    }

    /// How to read an observation.
    pub fn legend(self) -> &'static str {
        match self {
            View::List => {
                "What you see is counted from where you stand, rows downward and columns to the \
                 right. `B(-1,+2)`: there is a box 1 row up and 2 columns to the right, nearest \
                 ones first. What follows is of that box. `G(+0,+3)`: its goal is 3 columns to \
                 the right of it. `push:R`: it can be pushed to the right, and you can get to \
                 where that is done from. `lose:R`: the same, but the level can then no longer \
                 be solved. `from(+0,+1)`: that place is 1 column to the right of you. \
                 `edge:U2`: two cells lie above it, then the board ends. `W(-1,+0)`: an inner \
                 wall is 1 row up from it. What follows is of you. `#(-1,+0)`: there is a wall, \
                 or the board ends, 1 row up. Only walls that are near are listed. \
                 `been(+0,+1)`: you stood 1 column to the right before, and have moved no box \
                 since."
            }
            View::Map | View::Text => {
                "You see the board row by row: `#` is a wall, `-` is floor, `.` is a goal, `$` is \
                 a box, `*` is a box on a goal, `@` is you, `+` is you on a goal."
            }
        }
    }

    /// Every word of an observation, and the moves.
    pub fn vocabulary(self, far: i32) -> Vec<String> {
        let mut words: Vec<String> = Move::ALL.iter().map(|step| step.word().to_owned()).collect();
        let within = |far: i32| {
            (-far..=far).flat_map(move |row| (-far..=far).map(move |column| (row, column)))
        };
        match self {
            View::List => {
                words.extend(within(far).map(boxed));
                words.extend(within(far).map(goal));
                words.extend(within(AROUND).map(beside_box));
                words.extend(
                    Move::ALL.iter().flat_map(|&step| (0..=far).map(move |n| edge(step, n))),
                );
                words.extend(within(RADIUS).map(wall));
                words.extend(within(far).map(been_at));
                words.extend(within(far).map(from_where));
                words.extend(Move::ALL.map(|step| push(step, false)));
                words.extend(Move::ALL.map(|step| push(step, true)));
            }
            View::Map => words.extend(["#", "-", ".", "$", "*", "@", "+"].map(str::to_owned)),
            // It is for readers who know more words than can be listed.
            View::Text => words.clear(),
        }
        words
    }
}

fn list(level: &Level, position: &Position, been: &[Cell], far: i32) -> String {
    let solver = Solver::new(level);
    let reach = solver.reach(position);
    let clamp = |(row, column): (i32, i32)| (row.clamp(-far, far), column.clamp(-far, far));
    let goals = solver.distances().assignment(position);
    let mut boxes: Vec<(Cell, Cell)> =
        position.boxes.iter().zip(goals).map(|(&cell, (goal, _))| (cell, goal)).collect();
    boxes.sort_by_key(|&(cell, _)| {
        let (rows, columns) = level.offset(position.player, cell);
        (rows.abs() + columns.abs(), cell)
    });
    let mut words = Vec::new();
    for (cell, target) in boxes {
        words.push(boxed(clamp(level.offset(position.player, cell))));
        words.push(goal(clamp(level.offset(cell, target))));
        for step in Move::ALL {
            let side = level.after(cell, step.reversed());
            let is_there = side.is_some_and(|side| reach[usize::from(side)].is_some());
            let ahead = level.after(cell, step).filter(|&ahead| !position.has_box(ahead));
            if let (true, Some(side), Some(ahead)) = (is_there, side, ahead) {
                let mut next = position.clone();
                next.shift(cell, ahead);
                words.push(push(step, is_stuck(level, solver.distances(), &next)));
                words.push(from_where(clamp(level.offset(position.player, side))));
            }
        }
        words.extend(edges(level, cell).map(|(step, cells)| edge(step, cells.min(far))));
        words.extend(inner_walls(level, cell).into_iter().map(beside_box));
    }
    words.extend(walls(level, position.player).into_iter().map(wall));
    let remembered = been.iter().rev().take(REMEMBERED);
    words.extend(remembered.map(|&at| been_at(clamp(level.offset(position.player, at)))));
    words.join(" ")
}

/// Cells between a box and the walls around the board.
fn edges(level: &Level, cell: Cell) -> impl Iterator<Item = (Move, i32)> {
    let (row, column) = level.place(cell);
    let (last_row, last_column) = (level.height() - 2, level.width() - 2);
    Move::ALL.into_iter().map(move |step| {
        let cells = match step {
            Move::Up => row - 1,
            Move::Down => i32::from(last_row) - row,
            Move::Left => column - 1,
            Move::Right => i32::from(last_column) - column,
        };
        (step, cells.max(0))
    })
}

/// Offsets of the walls near a box that are not around the board, nearest first.
fn inner_walls(level: &Level, cell: Cell) -> Vec<(i32, i32)> {
    let (row, column) = level.place(cell);
    let is_inside = |row: i32, column: i32| {
        (1..i32::from(level.height()) - 1).contains(&row)
            && (1..i32::from(level.width()) - 1).contains(&column)
    };
    let mut walls: Vec<(i32, i32)> = (-AROUND..=AROUND)
        .flat_map(|rows| (-AROUND..=AROUND).map(move |columns| (rows, columns)))
        .filter(|(rows, columns)| {
            let (row, column) = (row + rows, column + columns);
            is_inside(row, column) && level.floor_at(row, column).is_none()
        })
        .collect();
    walls.sort_by_key(|&(rows, columns)| rows.abs() + columns.abs());
    walls.truncate(MOST);
    walls
}

/// Offsets of the walls in sight, nearest first.
fn walls(level: &Level, here: Cell) -> Vec<(i32, i32)> {
    let (row, column) = level.place(here);
    let around =
        (-RADIUS..=RADIUS).flat_map(|rows| (-RADIUS..=RADIUS).map(move |columns| (rows, columns)));
    let is_wall = |&(rows, columns): &(i32, i32)| {
        (rows.abs() + columns.abs()) <= RADIUS
            && level.floor_at(row + rows, column + columns).is_none()
    };
    let mut walls: Vec<_> = around.filter(is_wall).collect();
    walls.sort_by_key(|&(rows, columns)| rows.abs() + columns.abs());
    walls
}

fn boxed((row, column): (i32, i32)) -> String {
    format!("B({row:+},{column:+})")
}

fn goal((row, column): (i32, i32)) -> String {
    format!("G({row:+},{column:+})")
}

fn wall((row, column): (i32, i32)) -> String {
    format!("#({row:+},{column:+})")
}

fn beside_box((row, column): (i32, i32)) -> String {
    format!("W({row:+},{column:+})")
}

fn been_at((row, column): (i32, i32)) -> String {
    format!("been({row:+},{column:+})")
}

fn from_where((row, column): (i32, i32)) -> String {
    format!("from({row:+},{column:+})")
}

fn edge(step: Move, cells: i32) -> String {
    format!("edge:{}{cells}", step.word())
}

fn push(step: Move, loses: bool) -> String {
    format!("{}:{}", if loses { "lose" } else { "push" }, step.word())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::tests::read;

    const LEVEL: &str = "######\n#    #\n#@$ .#\n#    #\n######";

    #[test]
    fn the_list_is_counted_from_the_player_and_from_the_box() {
        let (level, position) = read(LEVEL);
        let shown = View::List.show(&level, &position, &[], 5);
        assert!(
            shown.starts_with(
                "B(+0,+1) G(+0,+2) lose:U from(+1,+1) lose:D from(-1,+1) lose:L from(+0,+2) \
                 push:R from(+0,+0) edge:U1 edge:D1 edge:L1 edge:R2 #(+0,-1) "
            ),
            "{shown}"
        );
        let (level, position) = read(&LEVEL.replace("@$ ", " $@"));
        let shown = View::List.show(&level, &position, &[], 1);
        assert!(
            shown.starts_with("B(+0,-1) G(+0,+1) lose:U"),
            "not further than it may say: {shown}"
        );
    }

    #[test]
    fn the_map_and_the_drawing_show_the_whole_board() {
        let (level, position) = read(LEVEL);
        let map = View::Map.show(&level, &position, &[], 5);
        assert_eq!(map.lines().nth(2), Some("# @ $ - . #"));
        let text = View::Text.show(&level, &position, &[], 5);
        assert!(text.ends_with("#@$-.#\n#----#\n######\nBoxes on goals: 0 of 1."), "{text}");
    }
}
