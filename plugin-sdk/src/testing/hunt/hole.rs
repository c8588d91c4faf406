//! What a hunt looks for.

use super::{constant, late, unsolved};
use crate::testing::environment::{Judge, has_no_paid_loop};

/// A way to earn what nobody wanted to pay for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hole {
    /// What a solution pays, without one.
    UnsolvedIncome,
    /// A way that can be gone again and again and pays each time.
    PaidDetours,
    /// More for a solution that comes later.
    LateSolutions,
    /// The same actions solve most tasks.
    BlindSolutions,
}

impl Hole {
    /// All of them.
    pub const ALL: [Hole; 4] =
        [Hole::UnsolvedIncome, Hole::PaidDetours, Hole::LateSolutions, Hole::BlindSolutions];

    /// The finding's name.
    pub fn name(self) -> &'static str {
        match self {
            Hole::UnsolvedIncome => "unsolved-income",
            Hole::PaidDetours => "paid-detours",
            Hole::LateSolutions => "late-solutions",
            Hole::BlindSolutions => "blind-solutions",
        }
    }

    /// Who has the last word.
    pub fn judge(self) -> Judge {
        match self {
            Hole::UnsolvedIncome => unsolved::pays_less,
            Hole::PaidDetours => has_no_paid_loop,
            Hole::LateSolutions => late::pays_no_more,
            Hole::BlindSolutions => constant::looks,
        }
    }
}
