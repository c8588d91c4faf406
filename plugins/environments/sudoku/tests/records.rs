//! Puzzles from records, as reasoning-gym has them.

use plugin_sdk::testing::judge_answers;
use sudoku::Sudoku;

/// Puzzles of reasoning-gym 0.1.25, each with full boards and whether the
/// package's own scorer gives them full marks.
const GYM: &str = include_str!("gym.jsonl");

#[test]
fn boards_for_reasoning_gyms_puzzles_are_judged_as_it_judges_them() {
    assert_eq!(judge_answers::<Sudoku>(GYM, "grid", |task| task), 64);
}
