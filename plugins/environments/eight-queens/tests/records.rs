//! Puzzles from records, as reasoning-gym has them.

use eight_queens::EightQueens;
use plugin_sdk::environment::{Environment, Split, Task};
use plugin_sdk::testing::judge_answers;

/// Puzzles of reasoning-gym 0.1.25, each with full boards and whether the
/// package's own scorer gives them full marks.
const GYM: &str = include_str!("gym.jsonl");

#[test]
fn boards_for_reasoning_gyms_puzzles_are_judged_as_it_judges_them() {
    assert_eq!(judge_answers::<EightQueens>(GYM, "grid", |task| task), 72);
}

#[test]
fn a_record_with_more_rows_is_refused_where_its_words_are_none() {
    let rows = [["_"; 6]; 6];
    let entry = Some(format!("{{\"puzzle\": {rows:?}}}"));
    let task = Task { entry, ..Task::of::<EightQueens>(Split::Test, 0) };
    assert!(EightQueens::start(&task).is_ok());
    let small = task.with("size", 4);
    let refused = EightQueens::start(&small).err().expect("a refusal").sentence();
    assert!(refused.contains("the record has 6 rows") && refused.contains("size = 6"), "{refused}");
    assert!(EightQueens::start(&small.with("observation", "text")).is_ok());
}
