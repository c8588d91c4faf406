//! What a board pays: progress, a paper's table, or solutions alone.

use serde::{Deserialize, Serialize};

use crate::environment::{Description, Outcome};
use crate::settings::{SettingError, Settings};
use crate::types::{Configured, Setting, Status};

const SETTING: &str = "rewards";
/// For a solution, where nothing else is paid, and in the paper's tables.
const SOLVED: f64 = 1.0;

/// What is paid, by its word in the setting. Nothing else depends on it: tasks,
/// observations, feedback and ends are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rewards {
    /// Progress, a bonus for the solution, and penalties.
    #[default]
    Dense,
    /// What the AT-GRPO paper (arXiv 2510.11062) pays the team and its roles, where
    /// it says so.
    Paper,
    /// 1 to the team for the solution.
    Sparse,
}

impl Rewards {
    /// Every kind.
    pub const ALL: [Rewards; 3] = [Rewards::Dense, Rewards::Paper, Rewards::Sparse];
    /// Those of a board for which the paper has no table.
    pub const UNPUBLISHED: [Rewards; 2] = [Rewards::Dense, Rewards::Sparse];

    /// Its name as a value of the setting.
    pub fn name(self) -> &'static str {
        match self {
            Rewards::Dense => "dense",
            Rewards::Paper => "paper",
            Rewards::Sparse => "sparse",
        }
    }

    /// What the setting `rewards` names.
    pub fn of(settings: &[Configured]) -> Result<Self, SettingError> {
        settings.choice(SETTING)
    }

    /// What is paid for this outcome, which has its dense awards; `paper` puts those of
    /// the paper's table in their place.
    ///
    /// ```
    /// use plugin_sdk::Rewards;
    /// use plugin_sdk::environment::Outcome;
    ///
    /// let dense = || Outcome::accepted().team("progress", 0.4).local("illegal", -0.1);
    /// let unpublished = |dense| dense;
    /// assert_eq!(Rewards::Dense.pay(dense(), unpublished), dense());
    /// assert_eq!(Rewards::Sparse.pay(dense(), unpublished), Outcome::accepted());
    /// assert_eq!(Rewards::Sparse.pay(dense().solved(), unpublished).for_team(), 1.0);
    /// ```
    #[must_use]
    pub fn pay(self, dense: Outcome, paper: impl FnOnce(Outcome) -> Outcome) -> Outcome {
        match self {
            Rewards::Dense => dense,
            Rewards::Paper => paper(dense),
            Rewards::Sparse => dense.paying_solutions(&[]),
        }
    }
}

impl Outcome {
    /// The same outcome with 1 to the team if it is a solution. Of its own awards only
    /// those of these names are left.
    #[must_use]
    pub fn paying_solutions(mut self, beside: &[&str]) -> Self {
        self.awards.retain(|award| beside.contains(&award.name.as_str()));
        let is_solved = self.status == Status::Solved;
        self.team("solved", if is_solved { SOLVED } else { 0.0 })
    }
}

impl Description {
    /// Accept a setting `rewards` with these values, the first by default.
    #[must_use]
    pub fn rewards<const N: usize>(self, values: [Rewards; N]) -> Self {
        let summary = match values.contains(&Rewards::Paper) {
            true => {
                "What is paid: progress and penalties; the table of arXiv 2510.11062; or 1 to the \
                 team for the solution, and nothing else."
            }
            false => {
                "What is paid: progress and penalties; or 1 to the team for the solution, and \
                 nothing else."
            }
        };
        self.setting(Setting::choice(SETTING, summary, values.map(Rewards::name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Seat;
    use crate::settings::{check, defaults, with};

    /// Everything that can be paid, and what is said and how it ends.
    fn dense() -> Outcome {
        let outcome = Outcome::rejected("No.").team("progress", 0.5).local("illegal", -0.1);
        outcome.local("plan", 0.2).seat(&Seat::new("other"), "duel", -1.0)
    }

    #[test]
    fn a_setting_says_what_is_paid_and_dense_is_the_default() {
        let described = Description::new("maze", "1.0.0", "").rewards(Rewards::ALL);
        let settings = defaults(&described.settings);
        assert_eq!(Rewards::of(&settings), Ok(Rewards::default()));
        for rewards in Rewards::ALL {
            let settings = with(settings.clone(), SETTING, rewards.name());
            assert_eq!(Rewards::of(&settings), Ok(rewards));
        }
    }

    #[test]
    fn a_board_without_a_table_of_the_paper_refuses_it_by_name() {
        let described = Description::new("maze", "1.0.0", "").rewards(Rewards::UNPUBLISHED);
        let settings = with(defaults(&described.settings), SETTING, "paper");
        let refused = check(&described.settings, &settings).expect_err("no such choice");
        assert!(refused.message.starts_with("`rewards` is \"paper\", but must be one of "));
    }

    #[test]
    fn of_a_dense_outcome_nothing_but_the_solution_is_paid_and_the_rest_is_the_same() {
        for (outcome, paid) in
            [(dense(), 0.0), (dense().failed(), 0.0), (dense().team("solved", 0.25).solved(), 1.0)]
        {
            let sparse = Rewards::Sparse.pay(outcome.clone(), |_| panic!("not the paper's"));
            assert_eq!(sparse.effects, outcome.effects);
            assert_eq!(sparse.status, outcome.status);
            assert_eq!(sparse.for_team(), paid);
            assert_eq!(sparse.awards.len(), usize::from(paid > 0.0));
        }
    }

    #[test]
    fn a_table_may_keep_awards_by_name() {
        let table = |dense: Outcome| dense.paying_solutions(&["plan"]);
        let paid = Rewards::Paper.pay(dense(), table);
        assert_eq!((paid.for_team(), paid.for_mover(0), paid.awards.len()), (0.0, 0.2, 1));
    }
}
