//! Troupe: trains teams of LLM agents with on-policy reinforcement learning.
//!
//! The modules are listed in the order in which they depend on each other: a
//! module uses only modules above it. `tests/it/layering.rs` holds us to it.
//! What knows no tensors is the crate `runtime`, which lies below all of them.
//!
//! `config → plugins → policies → episodes → groups → advantages → update →
//! checkpoint`; the loop itself is [`training::Training::step`].

pub use runtime::{
    archive, config, error, foreign, grading, interval, loading, outcome, parallel, plugin,
    program, provenance, rank, records, retrieval, sandbox, scenario, seed, server, storage, table,
    totals, trajectory,
};

#[cfg(test)]
#[path = "../runtime/src/test_samples.rs"]
mod test_samples;

pub mod lineage;
pub mod worth;
pub mod group;
pub mod credit;
pub mod advantage;
pub mod audit;
pub mod metrics;
pub mod scalars;
pub mod ranks;
pub mod policy;
pub mod serving;
pub mod rollout;
pub mod family;
pub mod curriculum;
pub mod team;
pub mod rehearsal;
pub mod evaluation;
pub mod truth;
pub mod trainer;
pub mod publication;
pub mod imitation;
pub mod guard;
pub mod health;
pub mod checkpoint;
pub mod manifest;
pub mod run;
pub mod training;
pub mod cli;
