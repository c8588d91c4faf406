//! Who solves a level and who does not, and what that pays.

use plugin_sdk::environment::Split;
use plugin_sdk::testing::{
    Table, Voice, assert_that_what_is_revealed_solves, digests_of, first_tasks,
};
use sokoban::Sokoban;

const TEAM: Table<'static> = Table {
    voices: &[
        Voice { role: "planner", kind: "plan", otherwise: "" },
        Voice { role: "executor", kind: "moves", otherwise: "" },
    ],
    turns: 10,
};

#[test]
fn the_expert_solves_every_one_of_a_thousand_levels() {
    TEAM.plays_to_the_end::<Sokoban>(first_tasks::<Sokoban>(Split::Train, 1000));
}

#[test]
fn nobody_earns_by_not_solving_what_the_worst_solution_pays() {
    let words = ["U", "D", "L", "R"];
    TEAM.assert_that_only_solutions_pay::<Sokoban>(
        &first_tasks::<Sokoban>(Split::Validation, 120),
        &["U D L R", "U D", "L", "go left"],
        &words,
    );
}

#[test]
fn where_rewards_are_sparse_a_solution_pays_one_and_nothing_else_pays() {
    let tasks = first_tasks::<Sokoban>(Split::Validation, 40).into_iter();
    let tasks: Vec<_> = tasks.map(|task| task.with("rewards", "sparse")).collect();
    let said = ["U D L R", "L", "go left"];
    TEAM.assert_that_nothing_but_solutions_pays::<Sokoban>(&tasks, &said, &["U", "D", "L", "R"]);
}

#[test]
fn by_the_papers_table_nobody_earns_by_not_solving_what_the_worst_solution_pays() {
    let tasks = first_tasks::<Sokoban>(Split::Validation, 60).into_iter();
    let tasks: Vec<_> = tasks.map(|task| task.with("rewards", "paper")).collect();
    let said = ["U D L R", "U D", "L", "go left"];
    TEAM.assert_that_only_solutions_pay::<Sokoban>(&tasks, &said, &["U", "D", "L", "R"]);
}

#[test]
fn one_version_gives_the_same_tasks_for_ever() {
    assert_eq!(
        digests_of::<Sokoban>("map"),
        ["37d4488ebff5ce11", "517edad3ec6ff22d", "42224871cef2bb81"]
    );
}

#[test]
fn what_is_revealed_is_the_solution_from_here() {
    let tasks = first_tasks::<Sokoban>(Split::Train, 100).into_iter();
    let tasks = tasks.map(|task| task.with("moves_per_turn", 200));
    assert_that_what_is_revealed_solves::<Sokoban>(tasks, "moves");
}
