//! What authors of plugins use, without a policy.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

#[path = "../support/mod.rs"]
mod support;

mod check;
mod granted;
mod languages;
mod pages;
mod plugins;
mod projects;
mod registry;
mod reuse;
mod sudoku;
