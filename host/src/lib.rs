//! Troupe: trains teams of LLM agents with on-policy reinforcement learning.
//!
//! The modules are listed in the order in which they depend on each other: a
//! module uses only modules above it. `tests/it/layering.rs` holds us to it.
//!
//! `config → plugins → policies → episodes → groups → advantages → update →
//! checkpoint`; the loop itself is [`training::Training::step`].

pub mod error;
pub mod seed;
pub mod storage;
pub mod program;
pub mod config;
pub mod trajectory;
pub mod group;
pub mod advantage;
pub mod metrics;
pub mod plugin;
pub mod sandbox;
pub mod grading;
pub mod server;
pub mod policy;
pub mod rollout;
pub mod team;
pub mod evaluation;
pub mod trainer;
pub mod imitation;
pub mod checkpoint;
pub mod run;
pub mod training;
pub mod cli;
