//! What is learned there is what is learned here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use tch::{Kind, Tensor};
use troupe_core::config::{LoraConfig, Objective, TinkerConfig, TrainConfig};
use troupe_core::example::sample;
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Author, Message, Sample};
use troupe_model::{ChatRequest, Device, Policy, Sampling, SamplingByRole, Speaker};
use troupe_tinker::{Conducts, Reduction, TinkerPolicy};
use troupe_trainer::ranks::Ranks;
use troupe_trainer::{
    CreditedSample, Distant, DistantMember, DistantTrainer, Trainer, rescore, update_distant,
};

use crate::server::{Server, is_installed};

const TOKENS: usize = 8;

#[derive(Deserialize)]
struct Shape {
    config: serde_json::Value,
    shapes: BTreeMap<String, Vec<i64>>,
}

/// A tiny Llama that the server, `transformers` and we read alike.
fn write_llama(folder: &Path) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/parity/golden");
    let shape = fs::read(golden.join("llama3.json")).unwrap();
    let mut shape: Shape = serde_json::from_slice(&shape).unwrap();
    shape.config["architectures"] = json!(["LlamaForCausalLM"]);
    shape.config["torch_dtype"] = json!("float32");
    // The server knows no other kind of positions.
    shape.config["rope_parameters"] = json!({ "rope_theta": 10000.0, "rope_type": "default" });
    troupe_model::example::write_checkpoint(folder, &shape.config, &shape.shapes, Kind::Float)
        .unwrap();
}

fn by_role() -> SamplingByRole {
    Sampling::plain(TOKENS).into()
}

/// As sharp as can be: with ε at 1 a step is as long as its gradient.
fn train(objective: Objective) -> TrainConfig {
    TrainConfig {
        objective,
        entropy_coefficient: 0.0,
        epsilon: 1.0,
        learning_rate: 0.5,
        max_gradient_norm: 1e9,
        max_movement: 0.0,
        minibatch_samples: 0,
        warmup_steps: 0,
        clip_low: 0.02,
        clip_high: 0.03,
        ..TrainConfig::default()
    }
}

fn open(server: &Server, base: &Path, conducts: &mut Conducts, seed: u64) -> TinkerPolicy {
    let config = TinkerConfig {
        url: server.url(),
        base: base.display().to_string(),
        tokenizer: base.to_owned(),
        rank: 4,
        tolerance: 1e-3,
        ..TinkerConfig::default()
    };
    let (speaker, train) = (Speaker::load(base).unwrap(), train(Objective::Surrogate));
    TinkerPolicy::open(&config, speaker, Some((&train, 2)), conducts, Seed::new(seed)).unwrap()
}

/// Groups of eight answers to some prompts, cut to unequal lengths, with drawn log-probabilities
/// that are a little off so that ratios are others than 1.
fn draw(policy: &TinkerPolicy, groups: usize, off: f32) -> Vec<Sample> {
    let request = |group: usize| {
        let text = (0..3 + 2 * group).map(|word| format!("w{}", (7 * word + group) % 36));
        let text = text.collect::<Vec<_>>().join(" ");
        let seeds = (0..8).map(|branch| Seed::new(group as u64).at(branch)).collect();
        let messages = vec![Message { author: Author::User, text }];
        ChatRequest { messages, tools: Vec::new(), thinking: None, seeds }
    };
    let requests: Vec<ChatRequest> = (0..groups).map(request).collect();
    let answered = policy.complete(&requests, &Sampling::plain(TOKENS));
    let mut samples = Vec::new();
    for (group, answered) in answered.into_iter().enumerate() {
        let answered = answered.unwrap();
        for (branch, mut completion) in answered.completions.into_iter().enumerate() {
            let length = 1 + (branch + group) % completion.tokens.len();
            completion.tokens.truncate(length);
            completion.logprobs.truncate(length);
            for (place, logprob) in completion.logprobs.iter_mut().enumerate() {
                *logprob += off * ((place + branch) as f32).sin();
            }
            let prompt: Arc<[u32]> = answered.prompt.clone();
            samples.push(Sample { prompt, completion, ..sample(group, 0, 0, "solo", branch) });
        }
    }
    samples
}

fn rows(samples: &[Sample]) -> Vec<CreditedSample<'_>> {
    let advantage = |sample: &Sample| (sample.branch as f32 - 3.5) / 2.0;
    let row = |sample| CreditedSample { sample, advantage: Some(advantage(sample)), weight: 1.0 };
    samples.iter().map(row).collect()
}

fn learn(policy: &TinkerPolicy, trainer: &mut DistantTrainer, samples: &[Sample], seed: u64) {
    let (rows, all) = (rows(samples), samples.iter().collect::<Vec<_>>());
    let (rows, samples, seed) = (&rows[..], &all[..], Seed::new(seed));
    let mut member = DistantMember { trainer, policy, rows, samples, seed };
    update_distant(&mut member, &by_role()).unwrap();
}

/// The adapter as it is there, here.
fn fetch(policy: &TinkerPolicy, base: &Policy, folder: &Path) -> Policy {
    policy.export(folder).unwrap();
    let lora = LoraConfig { path: Some(folder.to_owned()), ..LoraConfig::default() };
    base.adapt(&lora, Seed::new(0)).unwrap()
}

fn weights(policy: &Policy) -> BTreeMap<String, Tensor> {
    let tensors = policy.trainable().tensors();
    tensors.map(|(slot, tensor)| (slot.name().to_owned(), tensor.copy())).collect()
}

/// The largest difference between two changes of the same adapter, and the norm of the first.
fn difference(
    start: &BTreeMap<String, Tensor>,
    here: &BTreeMap<String, Tensor>,
    there: &BTreeMap<String, Tensor>,
) -> (f64, f64) {
    let (mut largest, mut squares) = (0.0_f64, 0.0);
    assert!(here.keys().eq(there.keys()), "the same weights are adapted");
    for (name, start) in start {
        let (here, there) = (&here[name] - start, &there[name] - start);
        largest = largest.max((&here - &there).abs().max().double_value(&[]));
        squares += here.pow_tensor_scalar(2).sum(Kind::Double).double_value(&[]);
    }
    (largest, squares.sqrt())
}

#[test]
fn updates_there_are_updates_here() {
    if !is_installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("llama");
    write_llama(&base);
    let server = Server::start(&base, &folder.path().join("state"), 8131);
    let local = Policy::load(&base, Device::cpu()).unwrap();
    let mut conducts = Conducts::new();
    for objective in
        [Objective::Surrogate, Objective::Gspo, Objective::Preference, Objective::Reinforce]
    {
        let policy = open(&server, &base, &mut conducts, 1);
        let conduct = policy.conduct().unwrap();
        assert_eq!(conduct.reduction, Some(Reduction::SequenceMean));
        assert_eq!((conduct.steps_spread, conduct.decay_spreads), (Some(false), Some(true)));
        let mut here = fetch(&policy, &local, &folder.path().join(format!("{objective:?}-0")));
        let start = weights(&here);
        let config = train(objective);
        let mut trainer = Trainer::new(&here, &config).unwrap();
        let mut away = DistantTrainer::new(&config);
        for step in 0..2 {
            // Unequal in number and in how far ratios are from 1, so in their norms.
            let samples = draw(&policy, 1 + 2 * step, 0.02 + 0.03 * step as f32);
            trainer.update(&mut here, &rows(&samples), &by_role(), Seed::new(9)).unwrap();
            learn(&policy, &mut away, &samples, 9);
            let name = format!("{objective:?}-{}", step + 1);
            let there = fetch(&policy, &local, &folder.path().join(name));
            let (largest, norm) = difference(&start, &weights(&here), &weights(&there));
            eprintln!("{objective:?}, step {step}: {largest:.1e} of {norm:.1e}");
            assert!(norm > 1e-3 && largest <= 0.01 * norm, "{objective:?}: {largest} of {norm}");
        }
        policy.close().unwrap();
    }
}

#[test]
fn what_is_drawn_there_is_scored_the_same_there_here_and_by_transformers() {
    if !is_installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("llama");
    write_llama(&base);
    let server = Server::start(&base, &folder.path().join("state"), 8132);
    let local = Policy::load(&base, Device::cpu()).unwrap();
    let policy = open(&server, &base, &mut Conducts::new(), 1);
    let mut trainer = DistantTrainer::new(&train(Objective::Reinforce));
    learn(&policy, &mut trainer, &draw(&policy, 3, 0.0), 1);
    let drawn = draw(&policy, 2, 0.0);
    let answers: Vec<&Sample> = drawn.iter().collect();
    let there = policy.score(&answers).unwrap();
    let adapter = folder.path().join("adapter");
    let fetched = fetch(&policy, &local, &adapter);
    let pair = [(&fetched, answers.clone())];
    let here = rescore(&Ranks::alone(), &pair, &by_role(), 4096).unwrap().remove(0);
    let theirs = by_transformers(&base, &adapter, &answers);
    let plain = rescore(&Ranks::alone(), &[(&local, answers.clone())], &by_role(), 4096).unwrap();
    let mut moved = 0.0_f32;
    for (row, answer) in answers.iter().enumerate() {
        for place in 0..answer.completion.tokens.len() {
            let scores = [here[row][place], theirs[row][place], answer.completion.logprobs[place]];
            for score in scores {
                assert!((score - there[row][place]).abs() < 1e-4, "{scores:?}");
            }
            moved = moved.max((plain[0][row][place] - there[row][place]).abs());
        }
    }
    assert!(moved > 0.01, "the adapter does something: {moved}");
    policy.close().unwrap();
}

const SCORE: &str = "
import json, sys, torch
from peft import PeftModel
from transformers import AutoModelForCausalLM
base, adapter, asked = sys.argv[1:]
model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), adapter).float()
for prompt, answer in json.loads(asked):
    with torch.no_grad():
        scores = model(torch.tensor([prompt + answer])).logits.log_softmax(-1)[0]
    places = range(len(prompt) - 1, len(prompt) + len(answer) - 1)
    print(json.dumps([scores[at, token].item() for at, token in zip(places, answer)]))
";

/// As `peft` and `transformers` score the answers, with the folder that was fetched.
fn by_transformers(base: &Path, adapter: &Path, answers: &[&Sample]) -> Vec<Vec<f32>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let asked = answers.iter().map(|it| (it.prompt.to_vec(), &it.completion.tokens));
    let asked = json!(asked.collect::<Vec<_>>()).to_string();
    let output = Command::new(root.join(".deps/engine/venv/bin/python"))
        .args(["-c", SCORE])
        .args([base, adapter])
        .arg(asked)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let scores: Vec<Vec<f32>> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(scores.len(), answers.len(), "{}", String::from_utf8_lossy(&output.stderr));
    scores
}

#[test]
fn two_policies_learn_in_turn_and_neither_moves_the_other() {
    if !is_installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("llama");
    write_llama(&base);
    let server = Server::start(&base, &folder.path().join("state"), 8133);
    let mut conducts = Conducts::new();
    let policies = [1, 2].map(|seed| open(&server, &base, &mut conducts, seed));
    let drawn = policies.each_ref().map(|policy| draw(policy, 2, 0.0));
    let scores =
        |index: usize| policies[index].score(&drawn[index].iter().collect::<Vec<_>>()).unwrap();
    let mut trainers = [1, 2].map(|_| DistantTrainer::new(&train(Objective::Surrogate)));
    for step in 0..2 {
        for index in [0, 1] {
            let (own, other) = (scores(index), scores(1 - index));
            learn(&policies[index], &mut trainers[index], &drawn[index], step);
            assert_ne!(scores(index), own);
            assert_eq!(scores(1 - index), other, "to the last bit");
        }
    }
}
