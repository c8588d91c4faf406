//! The loop: config → plugins → policies → episodes → groups → advantages →
//! update → checkpoint. [`training::Training::step`] is one turn of it.
//!
//! Modules are listed in the order in which they depend on each other.

pub mod metrics;
pub mod rollout;
pub mod family;
pub mod curriculum;
pub mod team;
pub mod rehearsal;
pub mod evaluation;
pub mod truth;
pub mod publication;
pub mod imitation;
pub mod guard;
pub mod health;
pub mod checkpoint;
pub mod manifest;
pub mod run;
pub mod training;
