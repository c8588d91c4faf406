//! Puzzles from records, as reasoning-gym has them.

use plugin_sdk::environment::{Action, Environment, Seat, Split, Status, Task};
use sudoku::Sudoku;

/// Puzzles of reasoning-gym 0.1.25, each with full boards and whether the
/// package's own scorer gives them full marks.
const GYM: &str = include_str!("gym.jsonl");

#[test]
fn boards_for_reasoning_gyms_puzzles_are_judged_as_it_judges_them() {
    let mut judged = 0;
    for line in GYM.lines() {
        let record: serde_json::Value = serde_json::from_str(line).expect("a record");
        for pair in record["answers"].as_array().expect("answers") {
            let (answer, accepts) = (pair[0].as_str().expect("a board"), pair[1] == true);
            let plain = Task::of::<Sudoku>(Split::Test, 0);
            let task = Task { entry: Some(line.to_owned()), ..plain };
            let mut sudoku = Sudoku::start(&task).expect("a puzzle");
            let board = Action::new("grid", answer);
            let outcome = sudoku.act(&Seat::new("player"), &board).expect("a board");
            assert_eq!(outcome.status == Status::Solved, accepts, "{answer} in {line}");
            judged += 1;
        }
    }
    assert_eq!(judged, 64);
}
