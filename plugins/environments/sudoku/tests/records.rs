//! Puzzles from records, as reasoning-gym has them.

use plugin_sdk::environment::{Environment, Split, Task};
use plugin_sdk::testing::judge_answers;
use sudoku::Sudoku;

/// Puzzles of reasoning-gym 0.1.25, each with full boards and whether the
/// package's own scorer gives them full marks.
const GYM: &str = include_str!("gym.jsonl");

#[test]
fn boards_for_reasoning_gyms_puzzles_are_judged_as_it_judges_them() {
    let in_text = |task: Task| task.with("observation", "text");
    assert_eq!(judge_answers::<Sudoku>(GYM, "grid", in_text), 64);
}

#[test]
fn a_record_of_another_size_is_refused_where_its_words_are_none() {
    let entry = r#"{"puzzle": [[1,2,0,4],[3,4,0,0],[2,0,4,3],[4,3,0,1]]}"#;
    let task = Task { entry: Some(entry.to_owned()), ..Task::of::<Sudoku>(Split::Test, 0) };
    assert!(Sudoku::start(&task).is_ok());
    let large = task.with("size", 9);
    let refused = Sudoku::start(&large).err().expect("a refusal").sentence();
    assert!(refused.contains("the record has 4 rows") && refused.contains("size = 4"), "{refused}");
    assert!(Sudoku::start(&large.clone().with("observation", "text")).is_ok());
    assert!(Sudoku::start(&large.with("format", "tagged")).is_ok());
}
