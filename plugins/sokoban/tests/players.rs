//! Who solves a level and who does not, and what that pays.

use plugin_sdk::environment::{Environment, Seat, Split, Task};
use plugin_sdk::testing::{Table, Voice};
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
    let digest = |split: Split| {
        let seat = Seat::new("player");
        let drawn = tasks(split, 8).into_iter().map(|task| {
            let task = task.with("observation", "map");
            Sokoban::start(&task).expect("a level").observe(&seat)
        });
        // FNV-1a.
        drawn.flat_map(String::into_bytes).fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        })
    };
    let digests = Split::ALL.map(|split| format!("{:016x}", digest(split)));
    assert_eq!(digests, ["37d4488ebff5ce11", "517edad3ec6ff22d", "42224871cef2bb81"]);
}
