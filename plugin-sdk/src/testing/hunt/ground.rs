//! One task that is hunted in: who is paid in it, and what a solution pays them.

use super::quota::Quota;
use super::{late, unsolved};
use crate::environment::Task;
use crate::testing::environment::{Examination, Mask, ROUNDING, worth};
use crate::testing::team::Team;
use crate::testing::walk::{BYSTANDER, Walk};
use crate::types::{Seat, Status};

/// A task, and what is known of it before the hunt.
pub struct Ground<'h> {
    pub examination: &'h Examination<'h>,
    pub quota: &'h Quota<'h>,
    pub counters: &'h Mask,
    pub expert: &'h Walk,
    /// A bystander, who gets what all get, and everybody.
    pub payees: Vec<Seat>,
    /// What the solution pays each of them.
    solution: Vec<f64>,
    /// What it pays all together.
    pub worth: f64,
}

impl<'h> Ground<'h> {
    pub fn new(
        examination: &'h Examination<'h>,
        quota: &'h Quota<'h>,
        counters: &'h Mask,
        expert: &'h Walk,
    ) -> Self {
        let seats = examination.team.seats.iter().cloned();
        let payees: Vec<Seat> = std::iter::once(Seat::new(BYSTANDER)).chain(seats).collect();
        let solution = payees.iter().map(|seat| worth(examination, seat, expert)).collect();
        let worth = late::sum(examination, expert, expert);
        Ground { examination, quota, counters, expert, payees, solution, worth }
    }

    pub fn team(&self) -> &'h Team<'h> {
        &self.examination.team
    }

    pub fn task(&self) -> &'h Task {
        &self.expert.task
    }

    /// Whether a solution is known.
    pub fn is_solvable(&self) -> bool {
        self.expert.status() == Status::Solved
    }

    /// What was earned by all: the team's part once, and everybody's own.
    pub fn sum(&self, earned: &[f64]) -> f64 {
        let team = earned.first().copied().unwrap_or_default();
        team + earned.iter().skip(1).map(|all| all - team).sum::<f64>()
    }

    /// The largest share that anybody has earned of what the solution pays; nothing if it pays
    /// nobody.
    pub fn share(&self, earned: &[f64]) -> Option<f64> {
        let team = earned.first().copied().unwrap_or_default();
        let shares = self.payees.iter().zip(earned).zip(&self.solution);
        let shares = shares.filter(|(_, worth)| **worth > ROUNDING).map(|((seat, all), worth)| {
            unsolved::income(self.examination, seat, team, *all) / worth
        });
        shares.reduce(f64::max)
    }
}
