//! How far boxes are from goals, each as if it were alone.

use crate::level::{Cell, Level, Move, Position};

/// A distance that is none: there is no way.
pub const NO_WAY: u32 = 100_000;

/// Pushes from every cell to every goal, if no other box were in the way.
pub struct Distances {
    /// A list for each goal.
    goals: Vec<(Cell, Vec<u32>)>,
}

impl Distances {
    /// Measure a level, by pulling a box from each goal.
    pub fn of(level: &Level) -> Self {
        Distances { goals: level.goals().map(|goal| (goal, pulls(level, goal))).collect() }
    }

    /// Whether a box here could never come to a goal.
    pub fn is_dead(&self, cell: Cell) -> bool {
        self.goals.iter().all(|(_, pushes)| pushes[usize::from(cell)] == NO_WAY)
    }

    /// Pushes that all boxes need at least, each with a goal of its own; at
    /// least [`NO_WAY`] if there are no such goals.
    pub fn at_least(&self, position: &Position) -> u32 {
        if let [cell] = position.boxes[..] {
            let pushes = self.goals.iter().map(|(_, pushes)| pushes[usize::from(cell)]);
            return pushes.min().unwrap_or(NO_WAY);
        }
        self.assignment(position).iter().fold(0, |sum, &(_, pushes)| sum.saturating_add(pushes))
    }

    /// A goal for every box, in the boxes' order, and the pushes to it, so that
    /// the sum is the least.
    pub fn assignment(&self, position: &Position) -> Vec<(Cell, u32)> {
        let pushes = |cell: Cell, goal: usize| self.goals[goal].1[usize::from(cell)];
        let goal_of = match &position.boxes[..] {
            [cell] => {
                let nearest = (0..self.goals.len()).min_by_key(|&goal| pushes(*cell, goal));
                nearest.into_iter().collect()
            }
            boxes => cheapest(boxes.len(), self.goals.len(), |row, goal| pushes(boxes[row], goal)),
        };
        let pairs = position.boxes.iter().zip(goal_of);
        pairs.map(|(&cell, goal)| (self.goals[goal].0, pushes(cell, goal))).collect()
    }
}

/// Pulls that bring a box from the goal to every cell.
fn pulls(level: &Level, goal: Cell) -> Vec<u32> {
    let mut pulls = vec![NO_WAY; level.cells().len()];
    pulls[usize::from(goal)] = 0;
    let mut reached = Vec::with_capacity(pulls.len());
    reached.push(goal);
    let mut done = 0;
    while let Some(&cell) = reached.get(done) {
        done += 1;
        for step in Move::ALL {
            let Some(next) = level.after(cell, step) else { continue };
            // The player stands behind the box it pulls.
            if pulls[usize::from(next)] == NO_WAY && level.after(next, step).is_some() {
                pulls[usize::from(next)] = pulls[usize::from(cell)] + 1;
                reached.push(next);
            }
        }
    }
    pulls
}

/// The column of every row so that the sum of costs is the least; there are at
/// least as many columns as rows. The Hungarian method with potentials.
fn cheapest(rows: usize, columns: usize, cost: impl Fn(usize, usize) -> u32) -> Vec<usize> {
    // Index 0 stands for "none"; rows and columns count from 1.
    let mut of_row = vec![0_i64; rows + 1];
    let mut of_column = vec![0_i64; columns + 1];
    let mut row_of = vec![0_usize; columns + 1];
    let mut before = vec![0_usize; columns + 1];
    for row in 1..=rows {
        row_of[0] = row;
        let mut column = 0;
        let mut slack = vec![i64::MAX; columns + 1];
        let mut seen = vec![false; columns + 1];
        while row_of[column] != 0 {
            seen[column] = true;
            let (here, mut least, mut next) = (row_of[column], i64::MAX, 0);
            for other in (1..=columns).filter(|&other| !seen[other]) {
                let reduced =
                    i64::from(cost(here - 1, other - 1)) - of_row[here] - of_column[other];
                if reduced < slack[other] {
                    (slack[other], before[other]) = (reduced, column);
                }
                if slack[other] < least {
                    (least, next) = (slack[other], other);
                }
            }
            for other in 0..=columns {
                if seen[other] {
                    of_row[row_of[other]] += least;
                    of_column[other] -= least;
                } else {
                    slack[other] = slack[other].saturating_sub(least);
                }
            }
            column = next;
        }
        while column != 0 {
            row_of[column] = row_of[before[column]];
            column = before[column];
        }
    }
    let mut column_of = vec![0; rows];
    for column in (1..=columns).filter(|&column| row_of[column] != 0) {
        column_of[row_of[column] - 1] = column - 1;
    }
    column_of
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::tests::read;
    use proptest::prelude::*;

    #[test]
    fn a_box_in_a_corner_is_dead_and_one_at_a_wall_without_a_goal_is_too() {
        let (level, start) = read("#######\n#     #\n# @$. #\n#     #\n#######");
        let distances = Distances::of(&level);
        for (row, column, is_dead) in [(1, 1, true), (1, 3, true), (2, 2, false), (2, 5, true)] {
            let cell = level.floor_at(row, column).expect("floor");
            assert_eq!(distances.is_dead(cell), is_dead, "{row} {column}");
        }
        assert_eq!(distances.at_least(&start), 1);
    }

    #[test]
    fn every_box_has_a_goal_of_its_own() {
        let (level, start) = read("########\n#      #\n#@$$..  #\n#      #\n########");
        let distances = Distances::of(&level);
        assert_eq!(distances.at_least(&start), 4, "two pushes each");
        let (level, start) = read("#######\n#@$$ .#\n# .   #\n#  $  #\n#  .  #\n#######");
        assert!(Distances::of(&level).at_least(&start) >= NO_WAY, "two boxes, one goal above");
    }

    proptest! {
        #[test]
        fn no_other_assignment_is_cheaper(
            costs in proptest::collection::vec(0_u32..20, 12),
        ) {
            let cost = |row: usize, column: usize| costs[row * 4 + column];
            let found = cheapest(3, 4, cost);
            let sum: u32 = found.iter().enumerate().map(|(row, &column)| cost(row, column)).sum();
            let mut best = u32::MAX;
            for (a, b, c) in (0..64).map(|index| (index / 16, index / 4 % 4, index % 4)) {
                if a != b && b != c && a != c {
                    best = best.min(cost(0, a) + cost(1, b) + cost(2, c));
                }
            }
            prop_assert_eq!(sum, best);
        }
    }
}
