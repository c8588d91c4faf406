//! What players are paid where rewards are sparse, and what a critic is told.

use plugin_sdk::environment::Split;
use plugin_sdk::testing::{Table, Voice, assert_that_what_is_revealed_solves, first_tasks};
use tower_of_hanoi::TowerOfHanoi;

const TEAM: Table<'static> = Table {
    voices: &[
        Voice { role: "planner", kind: "plan", otherwise: "" },
        Voice { role: "executor", kind: "moves", otherwise: "" },
    ],
    turns: 19,
};

#[test]
fn where_rewards_are_sparse_a_solution_pays_one_and_nothing_else_pays() {
    let tasks = first_tasks::<TowerOfHanoi>(Split::Test, 40).into_iter();
    let tasks: Vec<_> = tasks.map(|task| task.with("rewards", "sparse")).collect();
    let words = ["1>2", "1>3", "2>1", "2>3", "3>1", "3>2"];
    let said = ["1>3", "1>2", "move it"];
    TEAM.assert_that_nothing_but_solutions_pays::<TowerOfHanoi>(&tasks, &said, &words);
}

#[test]
fn what_is_revealed_is_the_solution_from_here() {
    let tasks = first_tasks::<TowerOfHanoi>(Split::Train, 100).into_iter();
    let tasks = tasks.map(|task| task.with("moves_per_turn", 1000));
    assert_that_what_is_revealed_solves::<TowerOfHanoi>(tasks, "moves");
}
