//! A policy on a stand-in for a server, with every trap that real ones have.

mod learning;
mod probing;
mod traps;

use std::path::Path;

use pretend_tinker::{Server, Sums, Traps};

use crate::{Conducts, TinkerFailure, TinkerFailureKind as Kind, TinkerPolicy};
use troupe_core::config::{PolicyConfig, TinkerConfig, TrainConfig};
use troupe_core::example::sample;
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Author, Completion, Message, Sample};
use troupe_model::{
    ChatRequest, Completions, Device, Policy, RemoteFailure, Sampling, SamplingByRole, Speaker,
};
use troupe_trainer::{
    Caution, CreditedSample, Distant, DistantMember, DistantTrainer, TrainerError, UpdateMetrics,
    update_distant,
};

/// What the server calls its base.
const BASE: &str = "org/base";

/// A folder with a tokenizer.
fn tokenizer() -> tempfile::TempDir {
    let folder = checkpoint();
    // The server has another model.
    std::fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    folder
}

/// A whole checkpoint.
fn checkpoint() -> tempfile::TempDir {
    let words: Vec<String> = (0..30).map(|word| format!("w{word}")).collect();
    let policy = Policy::random(&PolicyConfig::default(), &words, Seed::new(1), Device::cpu());
    let folder = tempfile::tempdir().unwrap();
    policy.unwrap().save(folder.path()).unwrap();
    folder
}

fn speaker(folder: &Path) -> Speaker {
    Speaker::load(folder).unwrap()
}

fn config(server: &Server, folder: &Path) -> TinkerConfig {
    TinkerConfig {
        url: server.url().to_owned(),
        base: BASE.to_owned(),
        tokenizer: folder.to_owned(),
        rank: 4,
        retry_seconds: 2,
        patience_seconds: 4,
        timeout_seconds: 1,
        ..TinkerConfig::default()
    }
}

fn train() -> TrainConfig {
    TrainConfig {
        entropy_coefficient: 0.0,
        max_gradient_norm: 1e9,
        max_movement: 0.0,
        warmup_steps: 0,
        learning_rate: 0.05,
        minibatch_samples: 0,
        ..TrainConfig::default()
    }
}

/// A server with these traps, and the folder of its tokenizer.
fn start(traps: Traps) -> (Server, tempfile::TempDir) {
    let folder = tokenizer();
    let vocabulary = speaker(folder.path()).vocabulary();
    (Server::start(&[BASE], vocabulary, traps), folder)
}

fn open_with(config: &TinkerConfig, train: &TrainConfig) -> Result<TinkerPolicy, TinkerFailure> {
    let speaker = speaker(&config.tokenizer);
    TinkerPolicy::open(config, speaker, Some((train, 1)), &mut Conducts::new(), Seed::new(1))
}

fn open(server: &Server, folder: &Path) -> TinkerPolicy {
    open_with(&config(server, folder), &train()).unwrap()
}

fn ask(policy: &TinkerPolicy, answers: u64) -> Result<Completions, RemoteFailure> {
    let messages = vec![Message { author: Author::User, text: "w1 w2".to_owned() }];
    let seeds = (0..answers).map(|branch| Seed::new(7).at(branch)).collect();
    let request = ChatRequest { messages, tools: Vec::new(), thinking: None, seeds };
    policy.complete(&[request], &Sampling::plain(5)).remove(0)
}

/// What was drawn, as rows to learn from.
fn samples(drawn: &Completions) -> Vec<Sample> {
    let row = |(branch, completion): (usize, &Completion)| Sample {
        prompt: drawn.prompt.clone(),
        completion: completion.clone(),
        ..sample(0, 0, 0, "solo", branch)
    };
    drawn.completions.iter().enumerate().map(row).collect()
}

/// One update from these answers, each with its advantage by its place.
fn learn(
    policy: &dyn Distant,
    samples: &[Sample],
    train: &TrainConfig,
    advantage: impl Fn(usize) -> f32,
) -> Result<UpdateMetrics, TrainerError> {
    let rows: Vec<CreditedSample> = (samples.iter().enumerate())
        .map(|(row, sample)| CreditedSample {
            sample,
            advantage: Some(advantage(row)),
            weight: 1.0,
        })
        .collect();
    let samples: Vec<&Sample> = samples.iter().collect();
    let (rows, samples, seed) = (&rows[..], &samples[..], Seed::new(5));
    let mut trainer = DistantTrainer::new(train);
    let mut member = DistantMember { trainer: &mut trainer, policy, rows, samples, seed };
    update_distant(&mut member, &SamplingByRole::from(Sampling::plain(5)))
}
