//! Tests of the whole, through the library and through the real binary.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod components;
mod configs;
mod desk;
mod gguf_file;
mod http;
mod script;
mod scenarios;
mod support;

mod adapters;
mod answers;
mod bad_input;
mod check;
mod contract;
mod data;
mod episodes;
mod examination;
mod experiment;
mod foreign;
mod grade;
mod granted;
mod hostile;
mod imported;
mod languages;
mod layering;
mod mixture;
mod openenv;
mod opponents;
mod pages;
mod outcomes;
mod plugins;
mod pretrained;
mod processes;
mod projects;
mod remote;
mod replay;
mod resume;
mod retrieval;
mod reuse;
mod rollout;
mod sandbox;
mod schemes;
mod serve;
mod sglang;
mod staleness;
mod sudoku;
mod tables;
mod teacher;
mod teams;
mod training;
mod truth;
mod vllm;
mod wiring;
