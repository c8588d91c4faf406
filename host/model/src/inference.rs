//! How prompts become answers.
//!
//! Read `engine` first, then `batch` and `cohort` (prompts read and answers
//! grown together), `stretch` (steps that are recorded), `kv_cache` and
//! `prefix_cache` (what is not computed twice), and `distribution` (from logits
//! to tokens).

mod batch;
mod cohort;
mod distribution;
mod engine;
mod grid;
mod joint_pass;
mod kv_cache;
mod prefix_cache;
mod prompt_reader;
mod scoring;
mod sequence;
mod stretch;
mod thought;

pub use distribution::{confine, log_probabilities, penalize};
pub use engine::most_at_once;
pub use engine::{Engine, Question, Request};
pub use sequence::SoFar;
