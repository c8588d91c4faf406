//! Who solves a level and who does not, and what that pays.

use plugin_sdk::environment::{Split, Task};
use plugin_sdk::testing::{Table, Voice, digest_of};
use sokoban::Sokoban;

const TEAM: Table<'static> = Table {
    voices: &[
        Voice { role: "planner", kind: "plan", otherwise: "" },
        Voice { role: "executor", kind: "moves", otherwise: "" },
    ],
    turns: 10,
};

fn tasks(split: Split, count: u32) -> Vec<Task> {
    (0..count).map(|seed| Task::of::<Sokoban>(split, seed)).collect()
}

#[test]
fn the_expert_solves_every_one_of_a_thousand_levels() {
    for task in tasks(Split::Train, 1000) {
        assert!(TEAM.expert::<Sokoban>(&task).is_solved, "seed {}", task.seed);
    }
}

#[test]
fn nobody_earns_by_not_solving_what_the_worst_solution_pays() {
    let words = ["U", "D", "L", "R"];
    TEAM.assert_that_only_solutions_pay::<Sokoban>(
        &tasks(Split::Validation, 120),
        &["U D L R", "U D", "L", "go left"],
        &words,
    );
}

#[test]
fn one_version_gives_the_same_tasks_for_ever() {
    let of = |split| tasks(split, 8).into_iter().map(|task| task.with("observation", "map"));
    let digests = Split::ALL.map(|split| digest_of::<Sokoban>(&of(split).collect::<Vec<_>>()));
    assert_eq!(digests, ["37d4488ebff5ce11", "517edad3ec6ff22d", "42224871cef2bb81"]);
}
