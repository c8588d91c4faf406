//! `host grade` and `host check-answer`.

mod args;
pub mod check_answer;
pub mod grade;

pub use args::{CheckAnswerArgs, GradeArgs};
