//! What is compared with what: four choices make an estimator, and the known
//! ones have names.

use super::table::choices;

choices! {
    /// A named way from rewards to advantages: a choice of `unit`, `worth`, `same`
    /// and `scale`, each of which may be set on its own. docs/estimators.md has them
    /// side by side.
    pub enum Estimator {
        /// The completions of one state (AT-GRPO, arXiv 2510.11062).
        AtGrpo,
        /// A role's trajectories of one task (GRPO, arXiv 2402.03300).
        Grpo,
        /// As `grpo`, without dividing by the spread (arXiv 2503.20783).
        DrGrpo,
        /// All roles' trajectories of one task in one group: GRPO as if the team were one agent.
        TeamGrpo,
        /// A role's completions of one task, each worth its whole trajectory (Dr. MAS, arXiv
        /// 2602.08847).
        Drmas,
        /// A role's completions of one task and turn, each worth what comes from it on.
        TurnGrpo,
        /// Each conversation of a role as a whole, with those of the same task (M-GRPO, arXiv
        /// 2511.13288).
        MGrpo,
        /// A role's completions of one task, each worth what all episodes that go on from it earn
        /// from it on (MHGPO, arXiv 2506.02718).
        Mhgpo,
        /// The completions of one state, each worth that (MALT, arXiv 2412.01928).
        Malt,
        /// The completions of one state, each with the mean of the others (RLOO, arXiv 2402.14740).
        Rloo,
        /// The completions of one state, every named share of the reward on its own.
        Gdpo,
        /// A seat's trajectories of one task, and besides its completions to one prompt, each worth
        /// what comes from it on (GiGPO, arXiv 2505.10978).
        Gigpo,
        /// A role's trajectories, each with a running mean of its role's in its family (RAE of
        /// SPIRAL, arXiv 2506.24119).
        Rae,
        /// The completions of one state, in units of their mean (MaxRL).
        MaxRl,
        /// All of a task's completions in one group, whatever state they were drawn in.
        Naive,
    }
}

choices! {
    /// What is compared as a whole.
    pub enum Unit {
        /// One completion.
        Completion,
        /// All that one seat said in one episode.
        Seat,
        /// All that one seat said in one conversation of an episode.
        Thread,
        /// All that everybody said in one episode.
        Episode,
    }
}

choices! {
    /// What a unit is worth.
    pub enum Worth {
        /// A completion's own reward: what happens until the next answers are due, and what it is
        /// credited with.
        Now,
        /// That, and what its episode and its seat earn later, discounted by `discount` a round.
        ToGo,
        /// The team's reward in the whole episode, and what the unit's own seats earned in it.
        Whole,
        /// The team's reward in the whole episode, and what the completion itself earned its role
        /// (RLAnything, arXiv 2602.02488).
        Outcome,
    }
}

choices! {
    /// What the members of a group have in common.
    pub enum Same {
        /// The family: which kind of task of a mixture it is.
        Family,
        /// The task.
        Task,
        /// The role.
        Role,
        /// The role, and which of its seats.
        Seat,
        /// The conversation, by name.
        Thread,
        /// The turn.
        Turn,
        /// Everything that has happened before.
        State,
        /// What is asked, to the last token.
        Prompt,
        /// The workflow's word for situations that are alike.
        Situation,
    }
}

choices! {
    /// What the difference from the group's mean is measured in.
    pub enum Scale {
        /// The reward's own unit.
        None,
        /// The group's standard deviation.
        Spread,
        /// The group's mean.
        Mean,
        /// The reward's own unit, the mean being that of the others.
        LeaveOneOut,
        /// The reward's own unit, the mean being a running one of the role, with `decay`; with
        /// `same = ["family", …]` of the role in the family.
        Running,
        /// Each named share of the reward in its own standard deviation; their sum in that of
        /// the whole step (GDPO).
        Parts,
        /// The reward's own unit, beyond one half: whether a success that counts 1 is likelier than
        /// not (MALT, arXiv 2412.01928).
        Half,
    }
}

/// An estimator, spelled out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// What is compared as a whole.
    pub unit: Unit,
    /// What it is worth.
    pub worth: Worth,
    /// What those have in common that are compared with each other.
    pub same: Vec<Same>,
    /// What the differences are measured in.
    pub scale: Scale,
}

impl Estimator {
    /// What the name stands for.
    pub fn comparison(self) -> Comparison {
        use Same::{Family, Role, Seat, State, Task, Thread, Turn};
        use Scale::{LeaveOneOut, Mean, None, Parts, Running, Spread};
        use Worth::{Now, ToGo, Whole};
        let one_state: &[Same] = &[Task, Seat, Thread, Turn, State];
        let (unit, worth, same, scale): (Unit, Worth, &[Same], Scale) = match self {
            Estimator::AtGrpo => (Unit::Completion, Now, one_state, Spread),
            Estimator::Grpo => (Unit::Seat, Whole, &[Task, Seat], Spread),
            Estimator::DrGrpo => (Unit::Seat, Whole, &[Task, Seat], None),
            Estimator::TeamGrpo => (Unit::Seat, Whole, &[Task], Spread),
            Estimator::Drmas => (Unit::Completion, Whole, &[Task, Role], Spread),
            Estimator::TurnGrpo => (Unit::Completion, ToGo, &[Task, Role, Turn], Spread),
            Estimator::MGrpo => (Unit::Thread, Whole, &[Task, Role], Spread),
            Estimator::Mhgpo => (Unit::Completion, ToGo, &[Task, Role], Spread),
            Estimator::Malt => (Unit::Completion, ToGo, one_state, None),
            Estimator::Rloo => (Unit::Completion, Now, one_state, LeaveOneOut),
            Estimator::Gdpo => (Unit::Completion, Now, one_state, Parts),
            Estimator::Gigpo => (Unit::Seat, Whole, &[Task, Seat], Spread),
            Estimator::Rae => (Unit::Seat, Whole, &[Family, Role], Running),
            Estimator::MaxRl => (Unit::Completion, Now, one_state, Mean),
            Estimator::Naive => (Unit::Completion, Now, &[Task], Spread),
        };
        Comparison { unit, worth, same: same.to_vec(), scale }
    }

    /// What is compared besides, and added with the weight `step_weight`.
    pub fn besides(self) -> Option<Comparison> {
        use Same::{Prompt, Seat, Task};
        (self == Estimator::Gigpo).then(|| Comparison {
            unit: Unit::Completion,
            worth: Worth::ToGo,
            same: vec![Task, Seat, Prompt],
            scale: Scale::Spread,
        })
    }
}
