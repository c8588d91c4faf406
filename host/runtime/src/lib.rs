//! The part of Troupe that knows no tensors: it runs components and programs,
//! and judges what programs did.
//!
//! The modules are listed in the order in which they depend on each other: a
//! module uses only modules above it. `tests/it/layering.rs` holds us to it.

#[cfg(test)]
mod test_samples;

pub mod error;
pub mod interval;
pub mod seed;
pub mod statistics;
pub mod parallel;
pub mod caught;
pub mod storage;
pub mod provenance;
pub mod outcome;
pub mod totals;
pub mod installation;
pub mod rank;
pub mod program;
pub mod config;
pub mod trajectory;
pub mod retrieval;
pub mod plugin;
pub mod records;
pub mod foreign;
pub mod scenario;
pub mod sandbox;
pub mod loading;
pub mod project;
pub mod grading;
pub mod data;
pub mod table;
pub mod archive;
pub mod page;
pub mod screen;
pub mod server;
pub mod turnover;
pub mod experiment;
pub mod cli;
