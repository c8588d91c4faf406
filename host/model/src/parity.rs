//! Whether models compute here what they compute in `transformers` and `peft`.
//!
//! The golden files in `tests/parity/golden` hold what those made of small
//! models whose weights follow from a formula, so that the weights need not be
//! kept. Where `TROUPE_PARITY_PYTHON` names a Python with the packages of
//! `tests/parity/requirements.txt`, the same is done with fresh random weights
//! in checkpoints that `transformers` wrote, and what is saved here is read there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use tch::{Kind, Tensor};

use super::model::weights;
use super::*;
use troupe_core::config::LoraConfig;
use troupe_core::seed::Seed;
use troupe_core::storage::{create_folder, write_json};

/// Relative error that 32-bit floats may bring.
const TOLERANCE: f64 = 1e-4;
/// In 16 bits, our distance from a run of `transformers` in units of the
/// distance between two runs of its own, which is a matter of chance itself:
/// 0.4 to 1.5 were measured.
const SPREADS: f64 = 2.0;

const MODELS: [&str; 22] = [
    "qwen3",
    "qwen3-untied-yarn",
    "qwen3-bf16",
    "qwen2",
    "qwen2-mha-sharded",
    "qwen2-bf16",
    "llama3",
    "llama-linear-biases",
    "llama-yarn",
    "llama3-bf16",
    "qwen3-moe",
    "qwen3-moe-mixed",
    "qwen3-moe-bf16",
    "mistral",
    "smollm3",
    "smollm3-listed",
    "gemma3",
    "gemma3-pattern",
    "gemma3-bf16",
    "mistral-window",
    "qwen3-window",
    "smollm3-window",
];
const ADAPTERS: [&str; 5] =
    ["qwen3-lora", "qwen3-rslora", "qwen3-moe-lora", "smollm3-lora", "gemma3-lora"];

/// A file that `make.py` wrote.
#[derive(Deserialize)]
struct Golden {
    #[serde(default)]
    config: serde_json::Value,
    #[serde(default)]
    shapes: BTreeMap<String, Vec<i64>>,
    #[serde(default)]
    adapter: serde_json::Value,
    #[serde(default)]
    adapter_shapes: BTreeMap<String, Vec<i64>>,
    tokens: Vec<i64>,
    logits: Vec<Vec<f32>>,
    logprobs: Vec<f32>,
    gradients: BTreeMap<String, Gradient>,
    spread: Option<Spread>,
}

#[derive(Deserialize)]
struct Gradient {
    norm: f64,
    entries: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Spread {
    logits: f64,
    logprobs: f64,
    gradients: f64,
}

/// Where scripts and golden files are.
pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/parity")
}

fn golden(folder: &Path, case: &str) -> Golden {
    troupe_core::storage::read_json(&folder.join(format!("{case}.json"))).unwrap()
}

/// The checkpoint that a golden file is about, and its adapter beside it.
fn write_checkpoint(golden: &Golden, folder: &Path) {
    let kind = if golden.spread.is_some() { Kind::BFloat16 } else { Kind::Float };
    example::write_checkpoint(folder, &golden.config, &golden.shapes, kind).unwrap();
    if !golden.adapter.is_null() {
        let beside = beside(folder);
        create_folder(&beside).unwrap();
        write_json(&beside.join("adapter_config.json"), &golden.adapter).unwrap();
        let path = beside.join("adapter_model.safetensors");
        example::write_weights(&path, &golden.adapter_shapes, kind).unwrap();
    }
}

fn beside(folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap().to_str().unwrap();
    folder.with_file_name(format!("{name}-adapter"))
}

fn policy(case: &str) -> Policy {
    let folder = tempfile::tempdir().unwrap();
    write_checkpoint(&golden(&self::folder().join("golden"), case), folder.path());
    load(folder.path())
}

fn load(folder: &Path) -> Policy {
    let base = Policy::load(folder, Device::cpu()).unwrap();
    let adapter = beside(folder);
    if !adapter.exists() {
        return base;
    }
    let config = LoraConfig { path: Some(adapter), ..LoraConfig::default() };
    base.adapt(&config, Seed::new(0)).unwrap()
}

/// What a policy makes of tokens, as `run` in `make.py` computes it.
struct Answers {
    logits: Tensor,
    logprobs: Tensor,
    gradients: BTreeMap<String, Tensor>,
}

/// The logits after every token, with what gradients are taken of.
fn recorded_logits(policy: &Policy, tokens: &Tensor) -> (Tensor, Vec<Tensor>) {
    let (shared_base, mut leaves) = Policy::tracked(&[policy]);
    let length = tokens.size1().unwrap();
    let adapter_rows =
        shared_base.adapter_rows(&[Segment { member: 0, rows: length, kept: length }]);
    let positions = Tensor::arange(length, (Kind::Int64, tch::Device::Cpu));
    let input = Input { tokens, positions: &positions, keep: None, adapter_rows: &adapter_rows };
    let masking = shared_base.decoder().masking();
    let mut attention = SelfAttention::causal(1, length, &masking);
    let logits = shared_base.logits(&shared_base.forward(&input, &mut attention));
    (logits, leaves.remove(0))
}

/// The logits after every token.
pub(super) fn logits(policy: &Policy, tokens: &[i64]) -> Tensor {
    recorded_logits(policy, &Tensor::from_slice(tokens)).0.detach()
}

fn answers(policy: &Policy, tokens: &[i64]) -> Answers {
    let length = tokens.len() as i64;
    let tokens = Tensor::from_slice(tokens);
    let (logits, leaves) = recorded_logits(policy, &tokens);
    let next = tokens.narrow(0, 1, length - 1).unsqueeze(1);
    let scores = logits.narrow(0, 0, length - 1).log_softmax(-1, Kind::Float);
    let logprobs = scores.gather(1, &next, false).view([-1]);
    let loss = -logprobs.mean(Kind::Float);
    let found = Tensor::run_backward(&[loss], &leaves, false, false);
    let parameters = policy.trainable();
    let flat = parameters.buffer().zeros_like().to_kind(Kind::Float);
    for (mut block, gradient) in parameters.blocks(&flat).into_iter().zip(found) {
        block.copy_(&gradient);
    }
    let slots = parameters.slots().iter();
    let gradients = slots.map(|slot| (slot.name().to_owned(), slot.view(&flat))).collect();
    Answers { logits: logits.detach(), logprobs: logprobs.detach(), gradients }
}

/// Distance of two tensors in units of the length of the second.
fn distance(found: &Tensor, expected: &Tensor) -> f64 {
    ((found - expected).norm() / expected.norm()).double_value(&[])
}

/// How far a policy is from a golden file.
fn compare(policy: &Policy, golden: &Golden) -> Spread {
    let found = answers(policy, &golden.tokens);
    let logits = golden.logits.concat();
    let logits = Tensor::from_slice(&logits).view(found.logits.size().as_slice());
    let names: Vec<&String> = found.gradients.keys().collect();
    assert_eq!(names, golden.gradients.keys().collect::<Vec<_>>());
    let mut worst: f64 = 0.0;
    for (name, expected) in &golden.gradients {
        let found = &found.gradients[name];
        let flat = Vec::<f32>::try_from(found.flatten(0, -1)).unwrap();
        let entries = (0..expected.entries.len()).map(|k| f64::from(flat[k * 7919 % flat.len()]));
        let entries = entries.zip(&expected.entries).map(|(found, expected)| found - expected);
        let norm = found.norm().double_value(&[]) - expected.norm;
        let off = entries.chain([norm]).map(f64::abs).fold(0.0, f64::max);
        worst = worst.max(off / expected.norm);
    }
    Spread {
        logits: distance(&found.logits, &logits),
        logprobs: distance(&found.logprobs, &Tensor::from_slice(&golden.logprobs)),
        gradients: worst,
    }
}

fn assert_close(case: &str, policy: &Policy, golden: &Golden) {
    let found = compare(policy, golden);
    let limit = match golden.spread {
        None => Spread { logits: TOLERANCE, logprobs: TOLERANCE, gradients: TOLERANCE },
        Some(spread) => Spread {
            logits: SPREADS * spread.logits,
            logprobs: SPREADS * spread.logprobs,
            gradients: SPREADS * spread.gradients,
        },
    };
    println!("{case}: {found:?} of {limit:?}");
    let within = found.logits <= limit.logits
        && found.logprobs <= limit.logprobs
        && found.gradients <= limit.gradients;
    assert!(within, "{case}: {found:?}, but at most {limit:?}");
}

#[test]
fn models_compute_what_transformers_and_peft_made_the_golden_files_from() {
    println!("parity with the golden files of tests/parity/golden");
    for case in MODELS.into_iter().chain(ADAPTERS) {
        let golden = golden(&self::folder().join("golden"), case);
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join(case);
        write_checkpoint(&golden, &folder);
        assert_close(case, &load(&folder), &golden);
    }
}

#[test]
fn every_family_answers_token_by_token_as_it_scores_a_whole_text() {
    for case in MODELS {
        let golden = golden(&self::folder().join("golden"), case);
        if golden.spread.is_some() {
            continue; // In 16 bits, passes of other lengths are rounded in other ways.
        }
        let policy = policy(case);
        let prompt: Vec<u32> = golden.tokens.iter().map(|&token| token as u32).collect();
        let request = Request { prompt: prompt.clone().into(), seeds: vec![Seed::new(1)] };
        let answers = policy.generate(&[request], &Sampling::plain(8)).unwrap();
        let [answer] = &answers[0][..] else { panic!("{case}: {answers:?}") };
        let whole = [&prompt[..], &answer.tokens].concat();
        let scores = policy.score(&whole).unwrap();
        let scores = &scores[scores.len() - answer.tokens.len()..];
        let apart = scores.iter().zip(&answer.logprobs).map(|(a, b)| (a - b).abs());
        let worst = apart.fold(0.0, f32::max);
        assert!(worst < 1e-4 && answer.logprobs.len() > 1, "{case}: {worst} of {answer:?}");
    }
}

#[test]
fn what_is_saved_is_what_was_loaded_in_one_file_or_several() {
    for case in MODELS {
        let golden = golden(&self::folder().join("golden"), case);
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        write_checkpoint(&golden, &from);
        let policy = load(&from);
        let digest = policy.digest().unwrap();
        for limit in [weights::SHARD_BYTES, 10_000, weights::SHARD_BYTES] {
            policy.save(&to).unwrap();
            weights::save(policy.decoder().parameters(), &to, limit).unwrap();
            assert_eq!(load(&to).digest().unwrap(), digest, "{case}");
            assert_eq!(to.join("model.safetensors").exists(), limit > 10_000, "{case}");
        }
        let config: serde_json::Value =
            troupe_core::storage::read_json(&to.join("config.json")).unwrap();
        assert_eq!(config, golden.config);
    }
}

/// Run a script with the Python that `TROUPE_PARITY_PYTHON` names.
pub(super) fn make(python: &str, script: &str, arguments: &[&std::ffi::OsStr]) {
    let path = self::folder().join(script);
    let status = Command::new(python).arg(path).args(arguments).status().unwrap();
    assert!(status.success(), "{script} {arguments:?}");
}

#[test]
fn checkpoints_go_from_transformers_through_the_host_and_back() {
    let Ok(python) = std::env::var("TROUPE_PARITY_PYTHON") else {
        println!(
            "TROUPE_PARITY_PYTHON names no Python with tests/parity/requirements.txt: \
             the golden files stand in for it"
        );
        return models_compute_what_transformers_and_peft_made_the_golden_files_from();
    };
    println!("parity with fresh checkpoints made by {python}");
    let folder = tempfile::tempdir().unwrap();
    let (made, saved) = (folder.path().join("made"), folder.path().join("saved"));
    make(&python, "make.py", &["write".as_ref(), made.as_ref(), "--seed".as_ref(), "20".as_ref()]);
    for case in MODELS.into_iter().chain(ADAPTERS) {
        let policy = load(&made.join(case));
        assert_close(case, &policy, &golden(&made, case));
        let base = Policy::load(&made.join(case), Device::cpu()).unwrap();
        base.save(&saved.join(case)).unwrap();
        if ADAPTERS.contains(&case) {
            policy.save(&beside(&saved.join(case))).unwrap();
        }
    }
    make(&python, "make.py", &["check".as_ref(), made.as_ref(), saved.as_ref()]);
}
