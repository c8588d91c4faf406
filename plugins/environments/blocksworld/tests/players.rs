//! What players are paid where rewards are sparse, and what a critic is told.

use blocksworld::Blocksworld;
use plugin_sdk::environment::Split;
use plugin_sdk::testing::{Table, Voice, assert_that_what_is_revealed_solves, first_tasks};

const TEAM: Table<'static> = Table {
    voices: &[
        Voice { role: "planner", kind: "plan", otherwise: "" },
        Voice { role: "executor", kind: "moves", otherwise: "" },
    ],
    turns: 19,
};

#[test]
fn where_rewards_are_sparse_a_solution_pays_one_and_nothing_else_pays() {
    let tasks = first_tasks::<Blocksworld>(Split::Test, 40).into_iter();
    let tasks: Vec<_> = tasks.map(|task| task.with("rewards", "sparse")).collect();
    let words = ["A>B", "B>A", "C>A", "A>table", "B>table", "C>table"];
    let said = ["A>B", "A>table", "lift A"];
    TEAM.assert_that_nothing_but_solutions_pays::<Blocksworld>(&tasks, &said, &words);
}

#[test]
fn what_is_revealed_is_the_solution_from_here() {
    let tasks = first_tasks::<Blocksworld>(Split::Train, 100).into_iter();
    let tasks = tasks.map(|task| task.with("moves_per_turn", 16));
    assert_that_what_is_revealed_solves::<Blocksworld>(tasks, "moves");
}
