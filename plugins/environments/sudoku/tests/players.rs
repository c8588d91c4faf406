//! Who solves a puzzle and who does not, and what that pays.

use plugin_sdk::environment::Split;
use plugin_sdk::testing::{
    Table, Voice, assert_that_what_is_revealed_solves, digests_of, first_tasks,
};
use sudoku::Sudoku;

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
    TEAM.plays_to_the_end::<Sudoku>(first_tasks::<Sudoku>(Split::Train, 1000));
    let patient = Table { turns: 45, ..TEAM };
    for size in [6, 8, 9] {
        let tasks = first_tasks::<Sudoku>(Split::Train, 10).into_iter();
        let tasks = tasks.map(|task| task.with("size", size).with("edits_per_turn", 81));
        patient.plays_to_the_end::<Sudoku>(tasks);
    }
}

#[test]
fn nobody_earns_by_not_solving_what_the_worst_solution_pays() {
    let words = ["r1c1=1", "r1c2=2", "r2c3=1", "r3c4=4", "r4c1=3", "r2c2-", "r1c1-", "pass"];
    let said = ["r1c2=3", "pass", "1 2 3 4 3 4 1 2 2 1 4 3 4 3 2 1", "something"];
    for team in [TEAM, PLANNED] {
        team.assert_that_only_solutions_pay::<Sudoku>(
            &first_tasks::<Sudoku>(Split::Test, 100),
            &said,
            &words,
        );
    }
}

#[test]
fn where_rewards_are_sparse_a_solution_pays_one_and_nothing_else_pays() {
    let tasks = first_tasks::<Sudoku>(Split::Test, 40).into_iter();
    let tasks: Vec<_> = tasks.map(|task| task.with("rewards", "sparse")).collect();
    let words = ["r1c1=1", "r1c2=2", "r2c3=1", "r3c4=4", "r4c1=3", "r2c2-", "r1c1-", "pass"];
    let said = ["r1c2=3", "pass", "something"];
    for team in [TEAM, PLANNED] {
        team.assert_that_nothing_but_solutions_pays::<Sudoku>(&tasks, &said, &words);
    }
}

#[test]
fn by_the_papers_table_nobody_earns_by_not_solving_what_the_worst_solution_pays() {
    let tasks = first_tasks::<Sudoku>(Split::Test, 60).into_iter();
    let tasks: Vec<_> = tasks.map(|task| task.with("rewards", "paper")).collect();
    let words = ["r1c1=1", "r1c2=2", "r2c3=1", "r3c4=4", "r4c1=3", "r2c2-", "r1c1-", "pass"];
    let said = ["r1c2=3", "pass", "1 2 3 4 3 4 1 2 2 1 4 3 4 3 2 1", "something"];
    for team in [TEAM, PLANNED] {
        team.assert_that_only_solutions_pay::<Sudoku>(&tasks, &said, &words);
    }
}

#[test]
fn one_version_gives_the_same_tasks_for_ever() {
    assert_eq!(
        digests_of::<Sudoku>("grid"),
        ["d6681975be356ce9", "f5414aa1eca8248f", "8a9ecf5210ea1365"]
    );
}

#[test]
fn what_is_revealed_is_the_solution_from_here() {
    let tasks = first_tasks::<Sudoku>(Split::Train, 100).into_iter();
    let tasks = tasks.map(|task| task.with("edits_per_turn", 81));
    assert_that_what_is_revealed_solves::<Sudoku>(tasks, "fill");
}
