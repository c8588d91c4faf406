//! Who solves a board and who does not, and what that pays.

use eight_queens::EightQueens;
use plugin_sdk::environment::Split;
use plugin_sdk::testing::{
    Table, Voice, assert_that_what_is_revealed_solves, digests_of, first_tasks,
};

const TEAM: Table<'static> = Table {
    voices: &[
        Voice { role: "filler", kind: "fill", otherwise: "pass" },
        Voice { role: "checker", kind: "erase", otherwise: "pass" },
    ],
    turns: 10,
};

const PLANNED: Table<'static> = Table {
    voices: &[
        Voice { role: "planner", kind: "plan", otherwise: "" },
        Voice { role: "filler", kind: "fill", otherwise: "pass" },
    ],
    turns: 10,
};

#[test]
fn the_expert_solves_every_one_of_a_thousand_puzzles() {
    TEAM.plays_to_the_end::<EightQueens>(first_tasks::<EightQueens>(Split::Train, 1000));
}

#[test]
fn nobody_earns_by_not_solving_what_the_worst_solution_pays() {
    let words = ["r1c1=Q", "r2c5=Q", "r5c3=Q", "r8c4=Q", "r4c1=Q", "r2c5-", "r1c1-", "pass"];
    let said = ["r1c2=Q", "pass", "r1c2-", "something"];
    for team in [TEAM, PLANNED] {
        team.assert_that_only_solutions_pay::<EightQueens>(
            &first_tasks::<EightQueens>(Split::Test, 100),
            &said,
            &words,
        );
    }
}

#[test]
fn where_rewards_are_sparse_a_solution_pays_one_and_nothing_else_pays() {
    let tasks = first_tasks::<EightQueens>(Split::Test, 40).into_iter();
    let tasks: Vec<_> = tasks.map(|task| task.with("rewards", "sparse")).collect();
    let words = ["r1c1=Q", "r2c5=Q", "r5c3=Q", "r8c4=Q", "r4c1=Q", "r2c5-", "r1c1-", "pass"];
    let said = ["r1c2=Q", "pass", "something"];
    for team in [TEAM, PLANNED] {
        team.assert_that_nothing_but_solutions_pays::<EightQueens>(&tasks, &said, &words);
    }
}

#[test]
fn one_version_gives_the_same_tasks_for_ever() {
    assert_eq!(
        digests_of::<EightQueens>("map"),
        ["358a7b8ac84f3aae", "5d6a3473497278c7", "feb0e67b0b6b73e8"]
    );
}

#[test]
fn what_is_revealed_is_the_solution_from_here() {
    let tasks = first_tasks::<EightQueens>(Split::Train, 100).into_iter();
    let tasks = tasks.map(|task| task.with("edits_per_turn", 24));
    assert_that_what_is_revealed_solves::<EightQueens>(tasks, "fill");
}
