//! Programs, answers, data sets and outcomes, without a policy.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod compare;
mod data;
mod examination;
mod grade;
mod sandbox;
