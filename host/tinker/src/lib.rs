//! Policies whose base and adapters are on an engine elsewhere, which speaks Tinker's protocol.
//!
//! A policy is a LoRA that the server trains over a base that it has. Answers are drawn there,
//! groups and advantages are made here, and what crosses is small: token ids, log-probabilities,
//! and one coefficient per token. What a server really does with these is found out by `probe`
//! before anything is learned.
//!
//! From below: `wire` knows the messages, `client` requests, `promise` what comes of them,
//! `session` what is loaded, `lora` the verbs of one model, `policy` what a run wants of it. Only
//! `client` talks.

mod failure;
mod wire;
mod client;
mod promise;
mod lesson;
mod session;
mod reduction;
mod lora;
mod offer;
mod drawing;
mod conduct;
mod probe;
mod canary;
mod archive;
mod policy;
#[cfg(test)]
mod tests;

pub use conduct::{Conduct, Snapshots};
pub use failure::{TinkerFailure, TinkerFailureKind};
pub use policy::{Conducts, Kept, TinkerPolicy};
pub use reduction::Reduction;

use troupe_core::error::{Asked, ask};

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[ask::<TinkerFailure>];
