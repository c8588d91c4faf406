//! Policies: weights, tokenizer and chat template of a language model, and
//! the engine that samples answers from them.
//!
//! Knows nothing of plugins, episodes or rewards. The trainer works on the
//! same model code and the same weights in memory, so sampler and trainer
//! cannot disagree and nothing is copied between them. Only this module and
//! `trainer` name `tch`.
//!
//! Five rooms, and what lies between them; each uses only those above it:
//!
//! - `error` and `sampling` are what every room may say: what went wrong, and
//!   how answers are drawn; `keys` is what a file of a checkpoint may say;
//! - `model` is the network: its architecture, its weights, adapters over
//!   shared ones, and the device it is on;
//! - `prompt` is the way from messages to token ids and back;
//! - `language_model` is [`Policy`] itself, a model with its prompts: made,
//!   loaded, saved, adapted. Read it first;
//! - `gguf` makes a folder that can be loaded of llama.cpp's one file;
//! - `inference` is how prompts become answers: engine, batches, caches;
//! - `remote` is a policy on a server, without local weights or
//!   tokenizer, and an engine on a server, which draws answers for one of ours.

mod error;
mod keys;
mod sampling;
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

pub use completions::Completions;
pub use error::PolicyError;
pub use gguf::{Imported, import as import_gguf};
pub use inference::{Engine, Question, Request, SoFar, log_probabilities, most_at_once, penalize};
pub use keys::{says, shown};
pub use language_model::Policy;
pub use model::{
    AdapterRows, Attention, Decoder, Device, Input, LayerSight, Mask, Masking, ModelConfig,
    ModelFamily, Parameters, Rotation, Segment, SelfAttention, SharedBase, Sight, Slot, attend,
    by_head, done, give_back_memory, read_tensors, resident_memory, write_tensors,
};
pub use prompt::{ChatOptions, Conversation, Wording};
pub use remote::{
    ChatRequest, EngineAdvice, RemoteEngine, RemoteFailure, RemoteFailureKind, RemotePolicy,
};
pub use sampling::{Sampling, SamplingByRole};

use troupe_core::error::{Asked, ask};

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[ask::<PolicyError>];
