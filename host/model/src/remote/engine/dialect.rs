//! What differs from one engine to the next: routes, fields, and what to start them with.

use std::fmt;

use serde_json::{Value, json};

use super::draw::Drawing;
use super::sglang::Sglang;
use super::vllm::Vllm;
use crate::remote::link::Reply;
use crate::sampling::Sampling;
use troupe_core::config::EngineKind;

/// One kind of engine. Routes with a `/` before them lie beside OpenAI's interface.
pub(super) trait Dialect: fmt::Debug + Send + Sync {
    /// How it is started for so many adapters of this rank.
    fn start(&self, adapters: usize, rank: i64) -> String;

    /// Its settings that have to be at least so large: the key, the flag, and the number.
    fn needs(&self, adapters: usize, rank: i64) -> Vec<(&'static str, &'static str, i64)>;

    /// Where it tells its settings, if it does.
    fn settings(&self) -> &'static str;

    /// Where adapters are loaded.
    fn load(&self) -> &'static str;

    /// Where they are unloaded.
    fn unload(&self) -> &'static str;

    /// What to do if it did not load the adapter `name` of the folder `path`.
    fn when_not_loaded(&self, reply: &Reply, name: &str, path: &str) -> String;

    /// Where answers are drawn.
    fn draw(&self) -> &'static str;

    /// What is asked for there.
    fn question(&self, drawing: &Drawing) -> Value;

    /// What was drawn, or why the answer is none.
    fn read(&self, body: &[u8]) -> Result<Drawn, String>;

    /// What a refused question means, if anything is known.
    fn meaning(&self, reply: &Reply, adapter: &str) -> Option<String>;

    /// What to do about a server that answers otherwise than the policy does.
    fn advice(&self) -> &'static EngineAdvice;
}

/// What to do about a server that answers otherwise than the policy does.
#[derive(Debug)]
pub struct EngineAdvice {
    /// The base answers in place of the adapter.
    pub adapters: &'static str,
    /// Log-probabilities are those before temperature.
    pub temperature: &'static str,
    /// They are those before cut-offs.
    pub cut_offs: &'static str,
    /// It may fill in what it is not told.
    pub defaults: &'static str,
}

/// An answer as it came.
#[derive(Debug, PartialEq)]
pub(super) struct Drawn {
    /// The answer's tokens.
    pub(super) tokens: Vec<u32>,
    /// As many log-probabilities in nats, as far as they are told.
    pub(super) logprobs: Vec<Option<f64>>,
    /// Why it ended, in the engine's word.
    pub(super) reason: Option<String>,
    /// The prompt as the engine read it, if it tells.
    pub(super) prompt: Option<PromptRead>,
}

/// What an engine tells of the prompt.
#[derive(Debug, PartialEq)]
pub(super) enum PromptRead {
    /// Its tokens.
    Tokens(Vec<u32>),
    /// How many there were.
    Counted(usize),
}

impl PromptRead {
    /// Whether it may be this one.
    pub(super) fn is(&self, prompt: &[u32]) -> bool {
        match self {
            PromptRead::Tokens(tokens) => tokens == prompt,
            PromptRead::Counted(count) => *count == prompt.len(),
        }
    }
}

/// How engines of this kind are spoken to.
pub(super) fn dialect(kind: EngineKind) -> &'static dyn Dialect {
    match kind {
        EngineKind::Vllm => &Vllm,
        EngineKind::Sglang => &Sglang,
    }
}

/// What decides the distribution, in names that all engines share. Everything is said, also where
/// it is off: what is not said is taken from the model's `generation_config.json`.
pub(super) fn distribution(sampling: &Sampling) -> Value {
    let Sampling { temperature, top_p, top_k, min_p, repetition_penalty, stop, .. } = sampling;
    let mut fields = json!({
        "temperature": temperature,
        "top_p": top_p,
        "top_k": if *top_k == 0 { json!(-1) } else { json!(top_k) },
        "min_p": min_p,
        "repetition_penalty": repetition_penalty,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "n": 1,
    });
    if !stop.is_empty() {
        fields["stop"] = json!(stop);
    }
    fields
}
