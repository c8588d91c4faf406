//! What a run notices about itself, step by step.
//!
//! `health` reports signs that something is wrong, each once and with what to
//! try; `guard` reports roles that learn nothing, and ends a run that trains
//! nothing or destroys what it was given. Both are part of a run's progress.

mod guard;
mod health;

pub use guard::{Alarm, Guard, IDLE_STEPS, Lesson, TOO_FAR};
pub use health::{Health, SIGN_STEPS};
