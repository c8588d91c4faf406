//! What all sides are given to do.

use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use troupe_core::config::{DeviceChoice, Dtype, PolicyConfig};
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Completion, Reward, Sample, StopReason};
use troupe_model::{Device, Policy, Request, Sampling};

use crate::Arguments;

/// In what the weights are held and multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Precision {
    #[default]
    Float32,
    Bfloat16,
}

impl From<Precision> for Dtype {
    fn from(precision: Precision) -> Dtype {
        match precision {
            Precision::Float32 => Dtype::Float32,
            Precision::Bfloat16 => Dtype::Bfloat16,
        }
    }
}

/// What the sides read, as `work.json`.
#[derive(Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) parameters: usize,
    pub(crate) threads: usize,
    pub(crate) dtype: Precision,
    pub(crate) prompts: Vec<Vec<u32>>,
    pub(crate) answers: usize,
    pub(crate) max_completion_tokens: usize,
    pub(crate) end: u32,
    pub(crate) pad: u32,
    pub(crate) rows_per_micro_batch: usize,
    pub(crate) samples: Vec<WorkSample>,
    /// A llama.cpp file of the same model.
    pub(crate) gguf: Option<String>,
}

/// An answer and what it was worth.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct WorkSample {
    task: usize,
    prompt: Vec<u32>,
    tokens: Vec<u32>,
    logprobs: Vec<f32>,
    pub(crate) advantage: f32,
}

impl Work {
    /// Save checkpoint and work where all sides find them.
    pub(crate) fn prepare(arguments: &Arguments) -> (tempfile::TempDir, Work) {
        let device = chosen_device();
        let mut policy = match &arguments.checkpoint {
            Some(path) => Policy::load(path, device).unwrap(),
            None => random(device),
        };
        policy.set_threads(arguments.threads);
        let folder = tempfile::tempdir().unwrap();
        policy.save(folder.path()).unwrap();
        let vocabulary = plain_words(&policy);
        let prompt = |index| words(&vocabulary, index, arguments.prompt_tokens);
        let mut work = Work {
            parameters: policy.parameter_count(),
            threads: arguments.threads,
            dtype: arguments.dtype,
            prompts: (0..arguments.prompts).map(prompt).collect(),
            answers: arguments.answers,
            max_completion_tokens: arguments.max_completion_tokens,
            end: 2,
            pad: 0,
            rows_per_micro_batch: 8,
            samples: Vec::new(),
            gguf: arguments.gguf.as_ref().map(|file| file.display().to_string()),
        };
        work.samples = work.credit(work.generate(&policy, None, work.max_completion_tokens));
        std::fs::write(folder.path().join("work.json"), serde_json::to_string(&work).unwrap())
            .unwrap();
        (folder, work)
    }

    pub(crate) fn read(folder: &Path) -> Work {
        let text = std::fs::read_to_string(folder.join("work.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    pub(crate) fn sampling(&self, max_completion_tokens: usize) -> Sampling {
        Sampling::plain(max_completion_tokens)
    }

    /// Answer the prompts; with `rows`, only so many answers in all.
    pub(crate) fn generate(
        &self,
        policy: &Policy,
        rows: Option<usize>,
        tokens: usize,
    ) -> Vec<Vec<Completion>> {
        let (prompts, answers) = self.share(rows);
        let requests: Vec<Request> = (self.prompts[..prompts].iter().enumerate())
            .map(|(index, prompt)| {
                let seed = Seed::new(4).at(index as u64);
                let seeds = (0..answers).map(|answer| seed.at(answer as u64)).collect();
                Request { prompt: prompt.as_slice().into(), seeds }
            })
            .collect();
        policy.generate(&requests, &self.sampling(tokens)).unwrap()
    }

    /// How many prompts with how many answers each are `rows` answers.
    fn share(&self, rows: Option<usize>) -> (usize, usize) {
        let Some(rows) = rows else { return (self.prompts.len(), self.answers) };
        let answers = rows.min(self.answers);
        ((rows / answers).clamp(1, self.prompts.len()), answers)
    }

    /// Answers by prompt as samples, with an advantage each.
    pub(crate) fn credit(&self, answers: Vec<Vec<Completion>>) -> Vec<WorkSample> {
        let by_task = self.prompts.iter().zip(answers).enumerate();
        let all = by_task.flat_map(|(task, (prompt, answers))| {
            answers.into_iter().map(move |answer| (task, prompt, answer))
        });
        all.enumerate()
            .map(|(index, (task, prompt, Completion { tokens, logprobs, .. }))| {
                let advantage = (2.0 * Seed::new(3).at(index as u64).unit() - 1.0) as f32;
                WorkSample { task, prompt: prompt.clone(), tokens, logprobs, advantage }
            })
            .collect()
    }

    /// What the trainer takes.
    pub(crate) fn samples(&self, samples: &[WorkSample]) -> Vec<Sample> {
        let prompts: Vec<Arc<[u32]>> =
            self.prompts.iter().map(|prompt| prompt.as_slice().into()).collect();
        let sample = |(branch, own): (usize, &WorkSample)| Sample {
            task: own.task,
            family: String::new(),
            episode: 0,
            turn: 0,
            role: "player".to_owned(),
            instance: 0,
            thread: String::new(),
            situation: None,
            hint: None,
            parent: None,
            caller: None,
            round: 0,
            policy: "model".to_owned(),
            branch,
            kept: branch == 0,
            state: own.task as u64,
            prompt: prompts[own.task].clone(),
            completion: Completion {
                tokens: own.tokens.clone(),
                logprobs: own.logprobs.clone(),
                text: String::new(),
                stop: StopReason::Length,
                forced: Vec::new(),
                usage: None,
            },
            reward: Reward::default(),
            accepted: true,
        };
        samples.iter().enumerate().map(sample).collect()
    }

    /// Floating-point operations of an update on all samples, each prompt once: forward and
    /// twice as much backward, through the layers for every token, through the head for every
    /// token of an answer, and through attention for every token and what it sees.
    pub(crate) fn operations(&self, policy: &Policy) -> f64 {
        let config = policy.config();
        let heads = if config.tie_word_embeddings { 1 } else { 2 };
        let head = (config.vocab_size * config.hidden_size) as f64;
        let layers = policy.parameter_count() as f64 - head * f64::from(heads);
        let width =
            (config.num_hidden_layers * config.num_attention_heads * config.head_dim) as f64;
        let seen = |before: usize, own: usize| (own * before + own * (own + 1) / 2) as f64;
        let prompts = self.prompts.iter().map(|prompt| (0, prompt.len()));
        let answers = self.samples.iter().map(|own| (own.prompt.len(), own.tokens.len()));
        let answered: usize = answers.clone().map(|(_, own)| own).sum();
        let (tokens, seen) =
            prompts.chain(answers).fold((0.0, 0.0), |(tokens, all), (before, own)| {
                (tokens + own as f64, all + seen(before, own))
            });
        6.0 * (layers * tokens + head * answered as f64) + 12.0 * width * seen
    }
}

impl WorkSample {
    /// Tokens of prompt and answer.
    pub(crate) fn length(&self) -> usize {
        self.prompt.len() + self.tokens.len()
    }
}

/// The device that `TROUPE_DEVICE` names; else a GPU if there is one.
pub(crate) fn chosen_device() -> Device {
    let name = std::env::var("TROUPE_DEVICE").unwrap_or_default();
    Device::choose(name.parse().unwrap_or(DeviceChoice::Automatic)).unwrap()
}

fn random(device: Device) -> Policy {
    let shape = PolicyConfig {
        hidden_size: 512,
        layers: 12,
        heads: 8,
        key_value_heads: 4,
        head_size: 64,
        intermediate_size: 1536,
        rope_theta: 1e6,
        ..PolicyConfig::default()
    };
    let words: Vec<String> = (0..32_000).map(|word| format!("w{word}")).collect();
    Policy::random(&shape, &words, Seed::new(1), device).unwrap()
}

/// Tokens that are a word each, so that a text of them is cut into them again.
fn plain_words(policy: &Policy) -> Vec<u32> {
    let is_word = |token: &u32| {
        let text = policy.wording().decode_text(&[*token]).unwrap_or_default();
        let word = text.strip_prefix(' ').unwrap_or(&text);
        word.len() > 2
            && word.starts_with(|first: char| first.is_ascii_lowercase())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && policy.wording().encode_text(&text).is_ok_and(|tokens| tokens == [*token])
    };
    (0..policy.config().vocab_size as u32).filter(is_word).collect()
}

/// A prompt of about so many tokens, by up to a quarter more or less.
fn words(vocabulary: &[u32], prompt: usize, tokens: usize) -> Vec<u32> {
    let seed = Seed::new(2).at(prompt as u64);
    let spread = tokens / 2;
    let length = tokens - spread / 2 + seed.index(spread.max(1));
    let token = |place| vocabulary[seed.named("word").at(place).index(vocabulary.len())];
    (0..length as u64).map(token).collect()
}
