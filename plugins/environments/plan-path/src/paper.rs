//! What the AT-GRPO paper's table pays (arXiv 2510.11062).

use plugin_sdk::environment::Outcome;

use crate::PlanPath;

impl PlanPath {
    /// The outcome with the table's awards. Whoever brings the goal nearer than it has
    /// ever been was on a shortest way, and nobody is paid for that a second time.
    pub(crate) fn by_the_paper(&mut self, dense: Outcome) -> Outcome {
        let left = self.board.distances().from(self.here).unwrap_or(self.nearest);
        let nearer = self.nearest.saturating_sub(left);
        self.nearest -= nearer;
        let shortest = f64::from(nearer) / self.moves_per_turn as f64;
        dense.paying_solutions(&["plan"]).local("shortest", shortest)
    }
}

#[cfg(test)]
mod tests {
    use plugin_sdk::Rewards;
    use plugin_sdk::environment::Environment;

    use crate::PlanPath;
    use crate::tests::{act, game};

    fn start() -> PlanPath {
        let board = game(&["....", ".#..", "....", "...G"]);
        PlanPath { rewards: Rewards::Paper, ..board }
    }

    /// What the team and the mover are paid for each of these.
    fn paid<const N: usize>(game: &mut PlanPath, kind: &str, said: [&str; N]) -> [(f64, f64); N] {
        said.map(|text| {
            let outcome = act(game, kind, text);
            (outcome.for_team(), (100.0 * outcome.for_mover(0)).round() / 100.0)
        })
    }

    #[test]
    fn the_mover_is_paid_for_a_shortest_way_once_and_the_team_for_the_goal() {
        let mut game = start();
        let there = ["D D R", "L U U", "D D R", "R U D", "R", "D"];
        let pays = [(0.0, 1.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.33), (0.0, 0.33), (1.0, 0.33)];
        assert_eq!(paid(&mut game, "moves", there), pays);
    }

    #[test]
    fn nothing_is_paid_or_charged_for_what_leads_nowhere() {
        let mut game = start();
        let nowhere = ["", "U", "go right", "D D R R", "R L", "D U"];
        assert_eq!(paid(&mut game, "moves", nowhere), [(0.0, 0.0); 6]);
        // A move into a wall ends the turn, and those before it count.
        assert_eq!(paid(&mut game, "moves", ["D R"]), [(0.0, 0.33)]);
    }

    #[test]
    fn a_plan_is_paid_for_what_it_adds_to_the_last_one() {
        let mut game = start();
        let plans = ["D D R", "D D R", "D", "say nothing"];
        let pays = [(0.0, 1.0), (0.0, 0.0), (0.0, -0.67), (0.0, -0.33)];
        assert_eq!(paid(&mut game, "plan", plans), pays);
        assert_eq!(paid(&mut game, "moves", ["D D R"]), [(0.0, 1.0)], "a plan goes nowhere");
    }

    #[test]
    fn who_resumes_is_not_paid_again() {
        let mut game = start();
        act(&mut game, "moves", "D D R");
        let saved = game.save().expect("a state");
        let mut resumed = PlanPath::resume(&saved).expect("the same state");
        assert_eq!(paid(&mut resumed, "moves", ["L U U", "D D R"]), [(0.0, 0.0); 2]);
    }
}
