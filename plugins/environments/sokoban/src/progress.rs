//! How much of the way to the solution is left: a number for every position,
//! so that only what was really gained can be paid for.

use serde::{Deserialize, Serialize};

use crate::deadlock::is_stuck;
use crate::distance::NO_WAY;
use crate::level::{Level, Position};
use crate::solver::{OPTIMAL, Solver, Verdict};

/// What is left of the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Left {
    /// So many steps, in the measure's unit.
    Steps(u32),
    /// There is no way any more, and that is certain.
    Never,
}

/// How ways are measured in a level.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measure {
    /// Whether by the moves of the solver's solution, or by the pushes that
    /// boxes need if nothing is in their way.
    by_solution: bool,
    /// The way from the start.
    whole: u32,
}

impl Measure {
    /// The measure for a level: the solver's where it finds the best solution
    /// of the level soon enough. And what is left at the start.
    pub fn of(level: &Level, start: &Position) -> (Self, Left) {
        let solver = Solver::new(level);
        let verdict = solver.count(start, OPTIMAL);
        let by_solution = verdict != Verdict::Unknown;
        let mut measure = Measure { by_solution, whole: 1 };
        let left = measure.left(level, start);
        if let Left::Steps(steps) = left {
            measure.whole = steps.max(1);
        }
        (measure, left)
    }

    /// Whether the solver measures it, as it is quick in this level.
    pub fn is_by_solution(&self) -> bool {
        self.by_solution
    }

    /// What is left of the way from here.
    pub fn left(&self, level: &Level, position: &Position) -> Left {
        if position.is_solved(level) {
            return Left::Steps(0);
        }
        let solver = Solver::new(level);
        let pushes = solver.distances().at_least(position);
        if pushes >= NO_WAY || is_stuck(level, solver.distances(), position) {
            return Left::Never;
        }
        if !self.by_solution {
            return Left::Steps(pushes);
        }
        match solver.count(position, OPTIMAL) {
            Verdict::Solved(moves) => Left::Steps(moves),
            Verdict::Hopeless => Left::Never,
            // As bad as anything that can be told from lost.
            Verdict::Unknown => Left::Steps(2 * self.whole),
        }
    }

    /// What a position is worth: 0 at the start, 1 when it is solved, and never
    /// less than −1, which is what a lost one is worth.
    pub fn worth(&self, left: Left) -> f64 {
        match left {
            Left::Steps(steps) => (1.0 - f64::from(steps) / f64::from(self.whole)).max(-1.0),
            Left::Never => -1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Move;
    use crate::notation::tests::read;

    #[test]
    fn every_move_of_the_solution_leaves_one_less() {
        let (level, start) = read("#######\n#  #  #\n# $  .#\n#  @  #\n#######");
        let (measure, mut left) = Measure::of(&level, &start);
        let Verdict::Solved(way) = Solver::new(&level).solve(&start, OPTIMAL) else {
            panic!("a small level")
        };
        assert_eq!(left, Left::Steps(way.len() as u32));
        let mut here = start;
        for step in way {
            here = here.walk(&level, &[step]).end;
            let Left::Steps(before) = left else { panic!("it can be solved") };
            left = measure.left(&level, &here);
            assert_eq!(left, Left::Steps(before - 1));
        }
        assert_eq!(measure.worth(left), 1.0);
    }

    #[test]
    fn a_lost_position_is_worth_as_little_as_can_be() {
        let (level, start) = read("######\n#    #\n#@$ .#\n#    #\n######");
        let (measure, left) = Measure::of(&level, &start);
        assert_eq!(measure.worth(left), 0.0);
        let lost = start.walk(&level, &[Move::Down, Move::Right, Move::Up]).end;
        assert_eq!(measure.left(&level, &lost), Left::Never);
        assert_eq!(measure.worth(Left::Never), -1.0);
    }
}
