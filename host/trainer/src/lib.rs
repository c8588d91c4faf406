//! Updates of policies from credited samples or from demonstrations, on one process or several.
//!
//! It may know nothing of plugins or episodes: it takes answers with advantages and changes
//! weights. Policies that are adapters over one base learn together, see `update`.
//!
//! From below: how answers become tensors is in `bundle` and `pack`, what is minimized in
//! `objective`, how tensors go through the model and back in `pass`, how weights follow in
//! `optimizer`. `trainer` is what a policy's training remembers, `member` who learns in an update,
//! and `update` the whole of one; `distant` is the same for weights that are elsewhere.
//!
//! ```
//! use troupe_core::config::{PolicyConfig, TrainConfig};
//! use troupe_core::example::sample;
//! use troupe_core::seed::Seed;
//! use troupe_core::trajectory::Sample;
//! use troupe_model::{Device, Policy, Request, Sampling};
//! use troupe_trainer::{CreditedSample, Trainer, TrainerError};
//!
//! // Four answers of a tiny policy with random weights to one prompt.
//! let words = ["up", "down", "left", "right"].map(str::to_owned);
//! let config = PolicyConfig::default();
//! let mut policy = Policy::random(&config, &words, Seed::new(1), Device::cpu())?;
//! let (prompt, sampling) = (policy.wording().encode_text("up up down")?, Sampling::plain(4));
//! let request = Request { prompt: prompt.into(), seeds: (0..4).map(Seed::new).collect() };
//! let answers = policy.generate(&[request.clone()], &sampling)?.remove(0);
//! let samples: Vec<Sample> = answers
//!     .into_iter()
//!     .enumerate()
//!     .map(|(branch, completion)| Sample {
//!         prompt: request.prompt.clone(),
//!         completion,
//!         ..sample(0, 0, 0, "walker", branch)
//!     })
//!     .collect();
//!
//! // The first was better than the others, so an update makes it likelier.
//! let rows: Vec<CreditedSample> = samples
//!     .iter()
//!     .map(|sample| {
//!         let advantage = Some(if sample.branch == 0 { 1.5 } else { -0.5 });
//!         CreditedSample { sample, advantage, weight: 1.0 }
//!     })
//!     .collect();
//! let read = [&request.prompt[..], &samples[0].completion.tokens].concat();
//! let before: f32 = policy.score(&read)?.iter().sum();
//! let config = TrainConfig { warmup_steps: 0, ..TrainConfig::default() };
//! let mut trainer = Trainer::new(&policy, &config)?;
//! trainer.update(&mut policy, &rows, &sampling.into(), Seed::new(7))?;
//! assert!(policy.score(&read)?.iter().sum::<f32>() > before);
//! # Ok::<(), TrainerError>(())
//! ```

pub mod ranks;

mod error;
mod sample;
mod batching;
mod bundle;
mod cluster;
mod tree_attention;
mod pack;
mod allowed;
mod logprobs;
mod base;
mod plan;
mod anchor;
mod objective;
mod learner;
mod sum;
mod pass;
mod gradient;
mod shares;
mod rescoring;
mod information;
mod fingerprint;
mod part;
mod fused;
mod optimizer;
mod rate;
mod critic;
mod caution;
mod schedule;
mod metrics;
mod trainer;
mod state;
mod contest;
mod mini_batch;
mod member;
mod gauge;
mod kept;
mod careful_step;
mod update;
mod distant;
#[cfg(test)]
mod tests;

pub use base::{Base, Load, Machine, critic_bytes};
pub use caution::Caution;
pub use contest::{Contest, ContestMetrics};
pub use critic::{Answered, Appraised, Estimate, Outcome, ValueCritic, ValueMetrics};
pub use distant::{
    Descended, Distant, DistantMember, DistantStep, DistantTrainer, Pulls, update_distant,
};
pub use error::{DistantError, TrainerError};
pub use fingerprint::fingerprint;
pub use information::{Information, information};
pub use member::Member;
pub use metrics::{ImitationMetrics, UpdateMetrics};
pub use plan::{DoesNotFit, Plan};
pub use rate::{destroys, is_language_model, suitable_rate};
pub use rescoring::rescore;
pub use sample::{CreditedSample, Example};
pub use trainer::Trainer;
pub use update::update_together;

use ranks::RanksError;
use troupe_core::error::{Asked, ask};

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[ask::<DoesNotFit>, ask::<RanksError>, ask::<TrainerError>];
