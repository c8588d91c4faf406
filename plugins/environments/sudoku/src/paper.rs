//! What the AT-GRPO paper's table pays (arXiv 2510.11062).

use plugin_sdk::environment::Outcome;

use crate::Sudoku;

/// Awards for legality, which are the mover's own already.
const LEGALITY: [&str; 4] = ["plan", "illegal", "idle", "unreadable"];

impl Sudoku {
    /// The outcome with the table's awards. The mover is paid where more is right than
    /// ever before, so that nobody lives on writing and erasing, or on another's mistakes.
    pub(crate) fn by_the_paper(&mut self, dense: Outcome) -> Outcome {
        let best = self.best.max(self.game.score());
        let progress = best - std::mem::replace(&mut self.best, best);
        dense.paying_solutions(&LEGALITY).local("progress", progress)
    }
}

#[cfg(test)]
mod tests {
    use plugin_sdk::Rewards;
    use plugin_sdk::environment::Environment;

    use crate::Sudoku;
    use crate::tests::{act, start};

    fn by_the_paper() -> Sudoku {
        Sudoku { rewards: Rewards::Paper, ..start() }
    }

    /// What the team and the mover are paid for each of these.
    fn paid<const N: usize>(sudoku: &mut Sudoku, said: [(&str, &str); N]) -> [(f64, f64); N] {
        said.map(|(kind, text)| {
            let outcome = act(sudoku, kind, text);
            (outcome.for_team(), (100.0 * outcome.for_mover(0)).round() / 100.0)
        })
    }

    #[test]
    fn the_mover_is_paid_for_right_digits_and_the_team_for_the_solution() {
        let mut sudoku = by_the_paper();
        let fills = ["r1c3=3 r1c4=4", "r2c4=2 r3c2=1", "r4c3=2 r2c3=1"].map(|it| ("fill", it));
        assert_eq!(paid(&mut sudoku, fills), [(0.0, 0.33), (0.0, 0.33), (1.0, 0.33)]);
    }

    #[test]
    fn what_was_right_once_is_not_paid_again_and_a_correction_pays_who_makes_it() {
        let mut sudoku = by_the_paper();
        let there_and_back = [
            ("fill", "r1c3=3"),
            ("erase", "r1c3-"),
            ("fill", "r1c3=3"),
            // A wrong digit holds back what the next right one brings.
            ("fill", "r2c3=2"),
            ("fill", "r3c2=1"),
            ("erase", "r2c3-"),
        ];
        let pays = [0.17, 0.0, 0.0, 0.0, 0.0, 0.17].map(|own| (0.0, own));
        assert_eq!(paid(&mut sudoku, there_and_back), pays);
    }

    #[test]
    fn what_is_not_legal_costs_its_mover() {
        let wrong = [
            ("fill", "pass"),
            ("fill", "r1c1=2"),
            ("erase", "r1c3=3"),
            ("plan", "r1c3=3"),
            ("plan", "r1c3=3"),
        ];
        let pays = [-0.3, -0.1, -0.3, 0.04, 0.0].map(|own| (0.0, own));
        assert_eq!(paid(&mut by_the_paper(), wrong), pays);
    }

    #[test]
    fn who_resumes_is_not_paid_again() {
        let mut sudoku = by_the_paper();
        act(&mut sudoku, "fill", "r1c3=3");
        let saved = sudoku.save().expect("a state");
        let mut resumed = Sudoku::resume(&saved).expect("the same state");
        let again = [("erase", "r1c3-"), ("fill", "r1c3=3")];
        assert_eq!(paid(&mut resumed, again), [(0.0, 0.0); 2]);
    }
}
