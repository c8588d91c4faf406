//! What the AT-GRPO paper's table pays (arXiv 2510.11062).

use plugin_sdk::environment::{Outcome, Status};

/// For moves after which the level can certainly no longer be solved.
const DEADLOCK: f64 = -1.0;

/// The outcome with the table's awards. Nothing but such moves fails a level, which is
/// over then, so that each is charged once.
pub fn by_the_paper(dense: Outcome) -> Outcome {
    let is_lost = dense.status == Status::Failed;
    dense.paying_solutions(&["plan"]).local("deadlock", if is_lost { DEADLOCK } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use plugin_sdk::environment::{Action, Environment, Outcome, Seat, Split, Status, Task};

    use crate::Sokoban;

    fn outcome(kind: &str, text: &str) -> Outcome {
        let level = "######\\n#@$. #\\n#    #\\n######";
        let entry = Some(format!("{{\"level\": \"{level}\"}}"));
        let task = Task { entry, ..Task::of::<Sokoban>(Split::Test, 0).with("rewards", "paper") };
        let mut sokoban = Sokoban::start(&task).expect("a level");
        sokoban.act(&Seat::new("player"), &Action::new(kind, text)).expect("a known kind")
    }

    #[test]
    fn the_team_is_paid_for_the_solution_and_the_mover_charged_for_a_deadlock() {
        for (moves, team, mover, status) in [
            ("R", 1.0, 0.0, Status::Solved),
            ("R R", 0.0, -1.0, Status::Failed),
            ("D R", 0.0, 0.0, Status::Ongoing),
            ("U", 0.0, 0.0, Status::Ongoing),
            ("", 0.0, 0.0, Status::Ongoing),
            ("go right", 0.0, 0.0, Status::Ongoing),
        ] {
            let outcome = outcome("moves", moves);
            let paid = (outcome.for_team(), outcome.for_mover(0), outcome.status);
            assert_eq!(paid, (team, mover, status), "{moves}");
        }
    }

    #[test]
    fn a_plan_is_worth_what_it_is_worth_elsewhere_and_loses_nothing() {
        for (plan, worth) in [("R", 0.3), ("R R", -0.3), ("go right", 0.0)] {
            let outcome = outcome("plan", plan);
            let paid = (outcome.for_team(), (100.0 * outcome.for_mover(0)).round() / 100.0);
            assert_eq!((paid, outcome.status), ((0.0, worth), Status::Ongoing), "{plan}");
        }
    }
}
