//! Tests of the whole, through the library and through the real binary.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod components;
mod support;

mod adapters;
mod bad_input;
mod check;
mod grade;
mod granted;
mod hostile;
mod layering;
mod plugins;
mod replay;
mod rollout;
mod sandbox;
mod serve;
mod teacher;
mod training;
