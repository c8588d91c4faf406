//! Who solves a board and who does not, and what that pays.

use eight_queens::EightQueens;
use plugin_sdk::environment::{Split, Task};
use plugin_sdk::testing::{Table, Voice, digest_of};

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
    (0..count).map(|seed| Task::of::<EightQueens>(split, seed)).collect()
}

#[test]
fn the_expert_solves_every_one_of_a_thousand_puzzles() {
    for task in tasks(Split::Train, 1000) {
        assert!(TEAM.expert::<EightQueens>(&task).is_solved, "seed {}", task.seed);
    }
}

#[test]
fn nobody_earns_by_not_solving_what_the_worst_solution_pays() {
    let words = ["r1c1=Q", "r2c5=Q", "r5c3=Q", "r8c4=Q", "r4c1=Q", "r2c5-", "r1c1-", "pass"];
    let said = ["r1c2=Q", "pass", "r1c2-", "something"];
    for team in [TEAM, PLANNED] {
        team.assert_that_only_solutions_pay::<EightQueens>(&tasks(Split::Test, 100), &said, &words);
    }
}

#[test]
fn one_version_gives_the_same_tasks_for_ever() {
    let of = |split| tasks(split, 8).into_iter().map(|task| task.with("observation", "map"));
    let digests = Split::ALL.map(|split| digest_of::<EightQueens>(&of(split).collect::<Vec<_>>()));
    assert_eq!(digests, ["358a7b8ac84f3aae", "5d6a3473497278c7", "feb0e67b0b6b73e8"]);
}
