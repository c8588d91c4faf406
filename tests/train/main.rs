//! Everything that works with policies, through the library and through the real binary.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

#[path = "../support/fake_vllm.rs"]
mod fake_vllm;
#[path = "../support/gguf_file.rs"]
mod gguf_file;
#[path = "../support/script.rs"]
mod script;
#[path = "../support/mod.rs"]
mod support;

mod adapters;
mod allowed;
mod asked_team;
mod bad_input;
mod blame;
mod cards;
mod configs;
mod contract;
mod critic_truth;
mod critics;
mod decide;
mod distant;
mod ensembles;
mod episodes;
mod experiment;
mod forecast;
mod foreign;
mod forks;
mod futures;
mod gemma;
mod headline;
mod hostile;
mod imported;
mod inspect_log;
mod knock_out;
mod lessons;
mod mixture;
mod opponents;
mod outcomes;
mod pages;
mod paper_rows;
mod policies;
mod pretrained;
mod processes;
mod records;
mod references;
mod remote;
mod replay;
mod resume;
mod retrieval;
mod rollout;
mod schemes;
mod sglang;
mod staleness;
mod tables;
mod teacher;
mod teams;
mod training;
mod truth;
mod verify;
mod vllm;
mod wiring;
