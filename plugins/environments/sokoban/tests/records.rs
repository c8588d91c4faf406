//! Levels from records: four boxes in ten rows and columns, as Boxoban has them.

use plugin_sdk::environment::{Action, Environment, Seat, Split, Status, Task};
use plugin_sdk::testing::judge_answers;
use sokoban::Sokoban;

/// Fifty levels in the published layout.
const LEVELS: &str = include_str!("levels.txt");

fn task(level: &str) -> Task {
    let rows: Vec<String> = level.lines().map(|row| format!("{row:?}")).collect();
    let entry = Some(format!("{{\"level\": [{}]}}", rows.join(", ")));
    Task { entry, ..Task::of::<Sokoban>(Split::Test, 0).with("moves_per_turn", 20) }
}

fn levels() -> impl Iterator<Item = &'static str> {
    LEVELS.split("; ").skip(1).filter_map(|part| part.split_once('\n').map(|(_, level)| level))
}

/// Let the expert play; whether it solved the level, or had nothing to say.
fn played(level: &str) -> (Status, bool) {
    let mut sokoban = Sokoban::start(&task(level)).expect("a level");
    let seat = Seat::new("player");
    for _ in 0..40 {
        let Some(Action { kind, text }) = sokoban.demonstrate(&seat) else {
            return (Status::Ongoing, false);
        };
        let outcome = sokoban.act(&seat, &Action { kind, text }).expect("moves");
        assert!(outcome.is_accepted(), "the expert is never in its own way");
        if outcome.status != Status::Ongoing {
            return (outcome.status, true);
        }
    }
    (Status::Ongoing, true)
}

#[test]
fn fifty_levels_load_and_the_expert_solves_those_that_it_plays() {
    assert_eq!(levels().count(), 50);
    let mut solved = 0;
    for (index, level) in levels().enumerate() {
        assert_eq!(level.lines().next().map(str::len), Some(10));
        match played(level) {
            (Status::Solved, _) => solved += 1,
            (status, has_spoken) => {
                assert!(!has_spoken && status == Status::Ongoing, "level {index}: {status:?}");
            }
        }
    }
    assert!(solved >= 45, "{solved} of 50");
}

#[test]
fn it_is_solved_by_nothing_but_boxes_on_goals_after_the_last_move() {
    let level = "######\n#@$. #\n#    #\n######";
    let seat = Seat::new("player");
    let after = |moves: &str| {
        let mut sokoban = Sokoban::start(&task(level)).expect("a level");
        let outcome = sokoban.act(&seat, &Action::new("moves", moves)).expect("moves");
        (outcome.status, outcome.is_accepted())
    };
    assert_eq!(after("R"), (Status::Solved, true));
    assert_eq!(after("URU"), (Status::Solved, false), "blocked moves do nothing");
    assert_eq!(after("RL"), (Status::Solved, true), "whoever walks away has solved it");
    assert_eq!(after("RR").0, Status::Failed, "pushed too far, into a corner");
    let loiter = ["U", "D"].repeat(10).concat();
    assert_eq!(after(&loiter), (Status::Ongoing, false), "time solves nothing");
}

#[test]
fn a_level_with_nothing_left_to_do_or_to_hope_for_is_refused() {
    let refused = |level| Sokoban::start(&task(level)).err().expect("a refusal").sentence();
    let solved = refused("######\n#@ * #\n######");
    assert_eq!(solved, "invalid task: the level is solved already");
    let lost = refused("######\n#$ . #\n# @  #\n######");
    assert_eq!(lost, "invalid task: the level cannot be solved");
}

/// Puzzles of reasoning-gym 0.1.25, each with answers and whether the package's
/// own scorer accepts them.
const GYM: &str = include_str!("gym.jsonl");

#[test]
fn answers_to_reasoning_gyms_puzzles_are_judged_as_it_judges_them() {
    assert_eq!(
        judge_answers::<Sokoban>(GYM, "moves", |task| task.with("moves_per_turn", 200)),
        168
    );
}
