//! Who reaches the goal and who does not, and what that pays.

use plan_path::PlanPath;
use plugin_sdk::environment::{Split, Task};
use plugin_sdk::testing::{Table, Voice, digest_of};

const TEAM: Table<'static> = Table {
    voices: &[
        Voice { role: "planner", kind: "plan", otherwise: "" },
        Voice { role: "executor", kind: "moves", otherwise: "" },
    ],
    turns: 10,
};

fn tasks(split: Split, count: u32) -> Vec<Task> {
    (0..count).map(|seed| Task::of::<PlanPath>(split, seed)).collect()
}

#[test]
fn the_expert_solves_every_one_of_a_thousand_boards() {
    for task in tasks(Split::Train, 1000) {
        assert!(TEAM.expert::<PlanPath>(&task).is_solved, "seed {}", task.seed);
    }
}

#[test]
fn nobody_earns_by_not_solving_what_the_solution_pays() {
    // Progress is paid by the move, so longer ways pay more: each task is
    // compared with its own solution.
    for task in tasks(Split::Validation, 120) {
        let words = ["U", "D", "L", "R"];
        let said = ["D D R", "U D L R", "U D", "go left"];
        TEAM.assert_that_only_solutions_pay::<PlanPath>(&[task], &said, &words);
    }
}

#[test]
fn one_version_gives_the_same_tasks_for_ever() {
    let of = |split| tasks(split, 8).into_iter().map(|task| task.with("observation", "map"));
    let digests = Split::ALL.map(|split| digest_of::<PlanPath>(&of(split).collect::<Vec<_>>()));
    assert_eq!(digests, ["bfef6cb117a4f349", "888053c630ecf708", "e1ae5058dede429b"]);
}
