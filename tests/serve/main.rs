//! The grader and environments as services, without a policy.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

#[path = "../support/mod.rs"]
mod support;

mod openenv;
mod serve;
