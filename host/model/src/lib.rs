//! A policy: the weights, tokenizer and chat template of a language model, and the engine that
//! samples answers from it.
//!
//! It may know nothing of plugins, episodes or rewards. The trainer works on the same model code
//! and the same weights in memory, so sampler and trainer cannot disagree and nothing is copied
//! between them.
//!
//! Rooms, each using only those above it:
//!
//! - `error`, `attempt`, `constraint` and `sampling` are what every room may say: what went wrong,
//!   what answers may be and how they are drawn; `keys` is what a file of a checkpoint may say;
//! - `model` is the network: its architecture, its weights, adapters over
//!   shared ones, and the device it is on;
//! - `prompt` is the way from messages to token ids and back;
//! - `language_model` is [`Policy`] itself, a model with its prompts: made,
//!   loaded, saved, adapted. Read it first;
//! - `gguf` makes a folder that can be loaded of llama.cpp's one file;
//! - `inference` is how prompts become answers: engine, batches, caches;
//! - `remote` is a policy on a server, without local weights or
//!   tokenizer, and an engine on a server, which draws answers for one of ours.
//!
//! ```
//! use troupe_core::config::PolicyConfig;
//! use troupe_core::seed::Seed;
//! use troupe_model::{Device, Policy, PolicyError, Request, Sampling};
//!
//! // A tiny policy with random weights draws two answers to one prompt.
//! let words = ["up", "down", "left", "right"].map(str::to_owned);
//! let config = PolicyConfig::default();
//! let policy = Policy::random(&config, &words, Seed::new(1), Device::cpu())?;
//! let mut tokens = policy.wording().encode_text("up up down")?;
//! let seeds = vec![Seed::new(2), Seed::new(3)];
//! let request = Request { prompt: tokens.clone().into(), seeds };
//! let answers = policy.generate(&[request], &Sampling::plain(4))?.remove(0);
//! assert_eq!(answers.len(), 2);
//!
//! // Reading an answer gives the log-probabilities that it was drawn with.
//! tokens.extend(&answers[0].tokens);
//! let read = policy.score(&tokens)?;
//! let drawn = &answers[0].logprobs;
//! for (read, drawn) in read[read.len() - drawn.len()..].iter().zip(drawn) {
//!     assert!((read - drawn).abs() < 1e-4);
//! }
//! # Ok::<(), PolicyError>(())
//! ```
//!
//! `examples/score_a_text.rs` reads a text with a checkpoint.

mod error;
mod keys;
mod constraint;
mod sampling;
mod attempt;
mod completions;
mod model;
mod prompt;
mod language_model;
mod gguf;
mod inference;
mod remote;
pub mod example;
#[cfg(test)]
pub mod parity;

pub use attempt::attempt;
pub use completions::Completions;
pub use constraint::Constraint;
pub use error::{PolicyError, first_line, no_memory};
pub use gguf::{Imported, import as import_gguf};
pub use inference::{
    Engine, Question, Request, SoFar, confine, log_probabilities, most_at_once, penalize,
};
pub use keys::{says, shown};
pub use language_model::Policy;
pub use model::{
    AdapterRows, Attention, Decoder, Device, Input, LayerSight, Mask, Masking, ModelConfig,
    ModelFamily, Parameters, Rotation, Rounding, Segment, SelfAttention, SharedBase, Sight, Slot,
    TrackedHeads, ValueHeads, Values, attend, by_head, done, give_back_memory, read_tensors,
    resident_memory, write_tensors,
};
pub use prompt::{Automaton, ChatOptions, Conversation, Speaker, Walk, Wording};
pub use remote::{
    ChatRequest, EngineAdvice, Exchange, Link, RemoteEngine, RemoteFailure, RemoteFailureKind,
    RemotePolicy, Reply,
};
pub use sampling::{Sampling, SamplingByRole};

use troupe_core::error::{Asked, ask};

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[ask::<PolicyError>];
