//! Updates of policies from credited samples or from demonstrations, on one process or several.
//!
//! It may know nothing of plugins or episodes: it takes answers with advantages and changes
//! weights. Policies that are adapters over one base learn together, see `update`. How answers
//! become tensors is in `bundle` and `pack`, how they go through the model and back in `pass`,
//! what is minimized in `objective`, how weights follow in `optimizer`.
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

mod allowed;
mod anchor;
mod base;
mod batching;
mod bundle;
mod caution;
mod careful_step;
mod cluster;
mod contest;
mod critic;
mod fused;
mod gauge;
mod distant;
mod fingerprint;
mod gradient;
mod information;
mod kept;
mod metrics;
mod mini_batch;
mod objective;
mod optimizer;
mod pack;
mod part;
mod pass;
mod plan;
mod rate;
mod rescoring;
mod schedule;
mod logprobs;
mod shares;
mod state;
#[cfg(test)]
mod tests;
mod tree_attention;
mod update;

use std::sync::Arc;

use crate::ranks::{Ranks, RanksError};
use troupe_core::config::{Choice, TrainConfig};
use troupe_core::error::{Asked, Coded, ExitCode, ask};
use troupe_core::seed::Seed;
use troupe_core::storage::StorageError;
use troupe_core::trajectory::Sample;
use troupe_model::{
    Policy, PolicyError, SamplingByRole, attempt, first_line, give_back_memory, no_memory,
};

pub use base::{Base, Load, critic_bytes};
pub use caution::Caution;
pub use contest::{Contest, ContestMetrics};
pub use critic::{Answered, Appraised, Estimate, Outcome, ValueCritic, ValueMetrics};
pub use distant::{
    Descended, Distant, DistantError, DistantMember, DistantStep, DistantTrainer, Pulls,
    update_distant,
};
pub use fingerprint::fingerprint;
pub use information::{Information, information};
pub use metrics::{ImitationMetrics, UpdateMetrics};
pub use plan::{DoesNotFit, Machine, Plan};
pub use rate::{destroys, is_language_model, suitable_rate};
pub use rescoring::rescore;
pub use update::{Member, update_together};

use bundle::{Answer, Bundle, bundle};
use gradient::{Gradient, Learner, gradients};
use metrics::Tally;
use objective::Imitation;
use optimizer::AdamW;
use pack::micro_batches;

/// Why a policy cannot be trained.
#[derive(Debug, thiserror::Error)]
pub enum TrainerError {
    /// The policy or its device failed.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Optimizer state cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Optimizer state is not that of this policy.
    #[error("the optimizer state in `{folder}` does not fit: {reason}")]
    State {
        /// Where it was read from.
        folder: String,
        /// What is different.
        reason: String,
    },
    /// A sample cannot be learned from.
    #[error("sample {index} cannot be learned from: {reason}")]
    Sample {
        /// Its place among the rows given.
        index: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Greedy answers carry no probability to raise or lower.
    #[error("answers drawn at `temperature = 0` cannot be trained on; sample above 0")]
    Greedy,
    /// Another process of the run is lost.
    #[error(transparent)]
    Ranks(#[from] RanksError),
    /// Weights that are elsewhere did not do what they were asked.
    #[error(transparent)]
    Distant(#[from] DistantError),
    /// libtorch reported an error.
    #[error("libtorch: {}", first_line(.0))]
    Torch(tch::TchError),
}

impl From<tch::TchError> for TrainerError {
    // Not as a source: all of it but the first line is a back trace.
    fn from(error: tch::TchError) -> Self {
        TrainerError::Torch(error)
    }
}

impl TrainerError {
    /// What libtorch said if a card had no memory left.
    pub fn no_memory(&self) -> Option<String> {
        match self {
            TrainerError::Policy(error) => error.no_memory(),
            TrainerError::Torch(error) => no_memory(error),
            _ => None,
        }
    }
}

impl Coded for TrainerError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            TrainerError::Policy(error) => error.code_in_a_run(),
            TrainerError::Storage(error) => error.code(),
            TrainerError::State { .. } => Some(ExitCode::Storage),
            TrainerError::Ranks(error) => error.code(),
            TrainerError::Distant(error) => error.code(),
            _ => Some(ExitCode::Run),
        }
    }
}

/// A sampled answer and what it was worth beyond its group's average.
#[derive(Clone, Copy, Debug)]
pub struct CreditedSample<'a> {
    /// The answer with its log-probabilities as sampled.
    pub sample: &'a Sample,
    /// Positive if it should become likelier; nothing if it was compared with nothing, so that
    /// only entropy bonus and KL penalty act on it.
    pub advantage: Option<f32>,
    /// How often it counts.
    pub weight: f32,
}

/// An answer to be imitated.
#[derive(Clone, Debug)]
pub struct Example {
    /// Token ids of the prompt.
    pub prompt: Arc<[u32]>,
    /// Token ids of the answer, the end-of-text token included.
    pub answer: Vec<u32>,
}

/// The optimizer of one policy and what it remembers.
#[derive(Debug)]
pub struct Trainer {
    config: TrainConfig,
    optimizer: AdamW,
    /// Updates made; the learning rate depends on it.
    step: usize,
    /// Factor on the learning rate, see [`Trainer::halve_learning_rate`].
    rate_scale: f64,
    /// Factor on it since an update moved the policy too far.
    caution: Caution,
    /// Share of the run's budget that is spent, if it has one.
    spent: Option<f64>,
    /// The policy as it was at the start, if it is compared with.
    reference: Option<Policy>,
    /// The processes that it shares its work with.
    ranks: Ranks,
}

impl Trainer {
    /// A fresh optimizer for `policy`. With a KL penalty, the policy as it is
    /// now becomes the reference. A learning rate of 0 is the one that suits the
    /// policy; what `config` leaves to a plan is off.
    ///
    /// # Errors
    /// If the device has no memory for the optimizer's state.
    pub fn new(policy: &Policy, config: &TrainConfig) -> Result<Self, TrainerError> {
        Trainer::among(policy, config, &Ranks::alone())
    }

    /// The same, sharing the work and the optimizer's state with other processes, which have
    /// the same policy and learn from the same.
    ///
    /// # Errors
    /// As [`Trainer::new`].
    pub fn among(
        policy: &Policy,
        config: &TrainConfig,
        ranks: &Ranks,
    ) -> Result<Self, TrainerError> {
        let reference = config.needs_reference().then(|| policy.duplicate()).transpose()?;
        let optimizer = AdamW::new(policy.trainable(), config, ranks)?;
        let mut config = config.clone();
        if config.learning_rate == 0.0 {
            config.learning_rate = suitable_rate(policy);
        }
        let ranks = ranks.clone();
        let (step, rate_scale, caution, spent) = (0, 1.0, Caution::default(), None);
        Ok(Trainer { config, optimizer, step, rate_scale, caution, spent, reference, ranks })
    }

    /// Learn from `rows`, and be measured on them: [`update_together`] of one.
    ///
    /// # Errors
    /// As there.
    pub fn update(
        &mut self,
        policy: &mut Policy,
        rows: &[CreditedSample],
        sampling: &SamplingByRole,
        seed: Seed,
    ) -> Result<UpdateMetrics, TrainerError> {
        let samples: Vec<&Sample> = rows.iter().map(|row| row.sample).collect();
        let member = Member { trainer: self, policy, rows, samples: &samples, seed };
        Ok(update_together(vec![member], sampling)?.remove(0))
    }

    /// One optimizer step that makes demonstrated answers likelier:
    /// cross-entropy, averaged over the answers' tokens.
    ///
    /// # Errors
    /// If an example is empty or libtorch fails.
    pub fn imitate(
        &mut self,
        policy: &mut Policy,
        examples: &[Example],
    ) -> Result<ImitationMetrics, TrainerError> {
        attempt(|| self.imitate_all(policy, examples))
    }

    fn imitate_all(
        &mut self,
        policy: &mut Policy,
        examples: &[Example],
    ) -> Result<ImitationMetrics, TrainerError> {
        let empty = |example: &Example| example.prompt.is_empty() || example.answer.is_empty();
        if let Some(index) = examples.iter().position(empty) {
            return Err(TrainerError::Sample { index, reason: "it has no tokens".to_owned() });
        }
        let mut tally = Tally::new(self.learning_rate());
        let bundles = bundle(examples.iter().enumerate().map(|(row, example)| {
            (&example.prompt[..], Answer { row, tokens: &example.answer, way: 0, automaton: None })
        }));
        let bundles: Vec<&Bundle> = bundles.iter().collect();
        if !bundles.is_empty() {
            let imitation = Imitation::new(&bundles);
            let learner = Learner { policy, reference: None, objective: &imitation };
            let numbered: Vec<(usize, &Bundle)> =
                bundles.iter().map(|bundle| (0, *bundle)).collect();
            for gradient in self.gradients(&[learner], &numbered)? {
                tally.add(&gradient.measured, &bundles);
                self.apply(policy, gradient, &mut tally)?;
            }
        }
        tally.add_up(&self.ranks)?;
        self.step += 1;
        Ok(tally.imitation_metrics())
    }

    /// The learning rate of the next update.
    pub fn learning_rate(&self) -> f64 {
        let scale = self.rate_scale * self.caution.factor();
        scale * schedule::learning_rate(&self.config, self.step, self.spent)
    }

    /// For a run with a budget: how much is spent, on which the learning rate depends.
    pub fn set_spent(&mut self, share: Option<f64>) {
        self.spent = share;
    }

    /// Whether both may take their steps together: their learning rates are their own, all else is
    /// the same.
    fn steps_with(&self, other: &Trainer) -> bool {
        let rest = |trainer: &Trainer| TrainConfig { learning_rate: 0.0, ..trainer.config.clone() };
        rest(self) == rest(other)
    }

    /// Go on with half the learning rate.
    pub fn halve_learning_rate(&mut self) {
        self.rate_scale *= 0.5;
    }

    /// The policy as it was when the trainer was made, if it is compared with.
    pub fn reference(&self) -> Option<&Policy> {
        self.reference.as_ref()
    }

    /// A copy that goes on independently.
    ///
    /// # Errors
    /// If the device has no memory for it.
    pub fn duplicate(&self) -> Result<Self, TrainerError> {
        Ok(Trainer {
            config: self.config.clone(),
            optimizer: self.optimizer.duplicate()?,
            step: self.step,
            rate_scale: self.rate_scale,
            caution: self.caution,
            spent: self.spent,
            reference: self.reference.as_ref().map(Policy::duplicate).transpose()?,
            ranks: self.ranks.clone(),
        })
    }

    /// Gradients of the learners' objectives over `bundles`, which come with
    /// the index of their learner: for all ranks together, each taking its share.
    fn gradients(
        &self,
        learners: &[Learner],
        bundles: &[(usize, &Bundle)],
    ) -> Result<Vec<Gradient>, TrainerError> {
        let share = shares::share_of(&self.ranks, bundles);
        let batches = micro_batches(&share, self.config.microbatch_tokens, learners[0].policy);
        let checkpointing = self.config.gradient_checkpointing == Choice::On;
        let mut gradients = gradients(learners, &batches, checkpointing)?;
        shares::add_up(&self.ranks, &mut gradients)?;
        Ok(gradients)
    }

    /// Change the weights, unless the gradient is not a number.
    fn apply(
        &mut self,
        policy: &mut Policy,
        gradient: Gradient,
        tally: &mut Tally,
    ) -> Result<(), TrainerError> {
        // The passes are over, and the optimizer takes other sizes.
        give_back_memory();
        let (rate, threads) = (self.learning_rate(), policy.threads());
        let parameters = policy.trainable_mut();
        tally.stepped(self.optimizer.step(parameters, gradient.buffer, rate, threads)?);
        Ok(())
    }
}

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[ask::<DoesNotFit>, ask::<RanksError>, ask::<TrainerError>];
