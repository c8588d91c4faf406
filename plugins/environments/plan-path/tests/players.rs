//! Who reaches the goal and who does not, and what that pays.

use plan_path::PlanPath;
use plugin_sdk::environment::Split;
use plugin_sdk::testing::{
    Table, Voice, assert_that_what_is_revealed_solves, digests_of, first_tasks,
};

const TEAM: Table<'static> = Table {
    voices: &[
        Voice { role: "planner", kind: "plan", otherwise: "" },
        Voice { role: "executor", kind: "moves", otherwise: "" },
    ],
    turns: 10,
};

#[test]
fn the_expert_solves_every_one_of_a_thousand_boards() {
    TEAM.plays_to_the_end::<PlanPath>(first_tasks::<PlanPath>(Split::Train, 1000));
}

#[test]
fn nobody_earns_by_not_solving_what_the_solution_pays() {
    // Progress is paid by the move, so longer ways pay more: each task is
    // compared with its own solution.
    for task in first_tasks::<PlanPath>(Split::Validation, 120) {
        let words = ["U", "D", "L", "R"];
        let said = ["D D R", "U D L R", "U D", "go left"];
        TEAM.assert_that_only_solutions_pay::<PlanPath>(&[task], &said, &words);
    }
}

#[test]
fn where_rewards_are_sparse_a_solution_pays_one_and_nothing_else_pays() {
    let tasks = first_tasks::<PlanPath>(Split::Validation, 60).into_iter();
    let tasks: Vec<_> = tasks.map(|task| task.with("rewards", "sparse")).collect();
    let said = ["D D R", "U D L R", "go left"];
    TEAM.assert_that_nothing_but_solutions_pays::<PlanPath>(&tasks, &said, &["U", "D", "L", "R"]);
}

#[test]
fn by_the_papers_table_nobody_earns_by_not_solving_what_the_solution_pays() {
    for task in first_tasks::<PlanPath>(Split::Validation, 120) {
        let task = task.with("rewards", "paper");
        let said = ["D D R", "U D L R", "U D", "go left"];
        TEAM.assert_that_only_solutions_pay::<PlanPath>(&[task], &said, &["U", "D", "L", "R"]);
    }
}

#[test]
fn one_version_gives_the_same_tasks_for_ever() {
    assert_eq!(
        digests_of::<PlanPath>("map"),
        ["bfef6cb117a4f349", "888053c630ecf708", "e1ae5058dede429b"]
    );
}

#[test]
fn what_is_revealed_is_the_solution_from_here() {
    let tasks = first_tasks::<PlanPath>(Split::Train, 100).into_iter();
    let tasks = tasks.map(|task| task.with("moves_per_turn", 20));
    assert_that_what_is_revealed_solves::<PlanPath>(tasks, "moves");
}
