//! Who solves a puzzle and who does not, and what that pays.

use plugin_sdk::environment::{Split, Task};
use plugin_sdk::testing::{Table, Voice, digest_of};
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

fn tasks(split: Split, count: u32) -> Vec<Task> {
    (0..count).map(|seed| Task::of::<Sudoku>(split, seed)).collect()
}

#[test]
fn the_expert_solves_every_one_of_a_thousand_puzzles() {
    for task in tasks(Split::Train, 1000) {
        assert!(TEAM.expert::<Sudoku>(&task).is_solved, "seed {}", task.seed);
    }
    let patient = Table { turns: 45, ..TEAM };
    for size in [6, 8, 9] {
        for task in tasks(Split::Train, 10) {
            let task = task.with("size", size).with("edits_per_turn", 81);
            assert!(patient.expert::<Sudoku>(&task).is_solved, "size {size}, seed {}", task.seed);
        }
    }
}

#[test]
fn nobody_earns_by_not_solving_what_the_worst_solution_pays() {
    let words = ["r1c1=1", "r1c2=2", "r2c3=1", "r3c4=4", "r4c1=3", "r2c2-", "r1c1-", "pass"];
    let said = ["r1c2=3", "pass", "1 2 3 4 3 4 1 2 2 1 4 3 4 3 2 1", "something"];
    for team in [TEAM, PLANNED] {
        team.assert_that_only_solutions_pay::<Sudoku>(&tasks(Split::Test, 100), &said, &words);
    }
}

#[test]
fn one_version_gives_the_same_tasks_for_ever() {
    let of = |split| tasks(split, 8).into_iter().map(|task| task.with("observation", "grid"));
    let digests = Split::ALL.map(|split| digest_of::<Sudoku>(&of(split).collect::<Vec<_>>()));
    assert_eq!(digests, ["d6681975be356ce9", "f5414aa1eca8248f", "8a9ecf5210ea1365"]);
}
