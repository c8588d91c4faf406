//! Troupe's side.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use tch::{Kind, Tensor};
use troupe_core::config::{Choice, TrainConfig};
use troupe_core::seed::Seed;
use troupe_model::{Policy, Rounding};
use troupe_trainer::{CreditedSample, Trainer};

use crate::side::resident;
use crate::work::{Precision, Work, WorkSample, chosen_device};

struct Ours {
    work: Work,
    policy: Policy,
    trainer: Option<Trainer>,
    checkpointing: Choice,
}

/// Do what a line asks for, like the scripts.
pub(crate) fn be_our_side(folder: &Path) {
    let work = Work::read(folder);
    let device = chosen_device();
    let free = device.free_memory().unwrap_or_default();
    let mut policy = Policy::load_in(folder, Some(work.dtype.into()), device).unwrap();
    policy.set_threads(work.threads);
    let mut ours = Ours { work, policy, trainer: None, checkpointing: Choice::Off };
    println!("{}", json!({ "ready": true }));
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let mut words = line.split(' ');
        let request = words.next().unwrap();
        let numbers: Vec<usize> = words.map(|number| number.parse().unwrap()).collect();
        let start = Instant::now();
        let mut answer = ours.answer(request, &numbers);
        answer["seconds"] = start.elapsed().as_secs_f64().into();
        answer["resident"] = match device.free_memory() {
            Some(left) if device.is_gpu() => free.saturating_sub(left) as f64 / f64::from(1 << 20),
            _ => resident(),
        }
        .into();
        println!("{answer}");
    }
}

impl Ours {
    fn answer(&mut self, request: &str, numbers: &[usize]) -> Value {
        let rows = numbers.first().copied();
        let tokens = numbers.get(1).copied().unwrap_or(self.work.max_completion_tokens);
        match request {
            "generate" => {
                let answers = self.work.generate(&self.policy, rows, tokens);
                let count: usize = answers.iter().flatten().map(|one| one.tokens.len()).sum();
                json!({ "tokens": count })
            }
            "settle" => {
                Policy::settle([&mut self.policy], Rounding::Nearest);
                json!({})
            }
            "train" => {
                let samples = self.work.samples.clone();
                let tokens = self.update(&samples);
                json!({ "tokens": tokens, "operations": self.work.operations(&self.policy) })
            }
            "step" | "step_checkpointed" => {
                let answers = self.work.generate(&self.policy, rows, tokens);
                let samples = self.work.credit(answers);
                self.checkpointing = if request == "step" { Choice::Off } else { Choice::On };
                let tokens = self.update(&samples);
                json!({ "tokens": tokens })
            }
            "peak" => json!({ "peak": peak(&self.policy, self.work.dtype) }),
            other => json!({ "error": format!("nothing called {other}") }),
        }
    }

    /// One update; the tokens of all samples, prompts counted with each.
    fn update(&mut self, own: &[WorkSample]) -> usize {
        let config = TrainConfig {
            learning_rate: 1e-7,
            minibatch_samples: 0,
            entropy_coefficient: 0.0,
            gradient_checkpointing: self.checkpointing,
            ..TrainConfig::default()
        };
        let policy = &mut self.policy;
        let trainer = self.trainer.get_or_insert_with(|| Trainer::new(policy, &config).unwrap());
        let samples = self.work.samples(own);
        let rows: Vec<CreditedSample> = (samples.iter().zip(own))
            .map(|(sample, own)| CreditedSample {
                sample,
                advantage: Some(own.advantage),
                weight: 1.0,
            })
            .collect();
        let sampling = self.work.sampling(self.work.max_completion_tokens);
        trainer.update(policy, &rows, &sampling.into(), Seed::new(5)).unwrap();
        own.iter().map(WorkSample::length).sum()
    }
}

/// Floating-point operations a second of a product of two large square matrices, the best of ten.
fn peak(policy: &Policy, dtype: Precision) -> f64 {
    let size: i64 = if policy.device().is_gpu() { 8192 } else { 2048 };
    tch::set_num_threads(policy.threads() as i32);
    let kind = match dtype {
        Precision::Float32 => Kind::Float,
        Precision::Bfloat16 => Kind::BFloat16,
    };
    let device = policy.device().torch();
    let one = Tensor::rand([size, size], (Kind::Float, device)).to_kind(kind);
    let seconds = (0..10).map(|_| {
        let start = Instant::now();
        // To look at one number is to wait for all, on a GPU, too.
        std::hint::black_box(one.matmul(&one).double_value(&[0, 0]));
        start.elapsed().as_secs_f64()
    });
    2.0 * (size as f64).powi(3) / seconds.fold(f64::INFINITY, f64::min)
}
