//! What a policy's training remembers from one update to the next.

use crate::bundle::{Answer, Bundle, bundle};
use crate::caution::Caution;
use crate::error::TrainerError;
use crate::gradient::{Gradient, gradients};
use crate::learner::Learner;
use crate::metrics::{ImitationMetrics, Tally};
use crate::objective::Imitation;
use crate::optimizer::AdamW;
use crate::pack::micro_batches;
use crate::ranks::Ranks;
use crate::rate::suitable_rate;
use crate::sample::Example;
use crate::schedule;
use crate::shares;
use troupe_core::config::{Choice, TrainConfig};
use troupe_model::{Policy, attempt, give_back_memory};

/// The optimizer of one policy and what it remembers.
#[derive(Debug)]
pub struct Trainer {
    pub(super) config: TrainConfig,
    pub(super) optimizer: AdamW,
    /// Updates made; the learning rate depends on it.
    pub(super) step: usize,
    /// Factor on the learning rate, see [`Trainer::halve_learning_rate`].
    pub(super) rate_scale: f64,
    /// Factor on it since an update moved the policy too far.
    pub(super) caution: Caution,
    /// Share of the run's budget that is spent, if it has one.
    spent: Option<f64>,
    /// The policy as it was at the start, if it is compared with.
    pub(super) reference: Option<Policy>,
    /// The processes that it shares its work with.
    pub(super) ranks: Ranks,
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
    pub(super) fn steps_with(&self, other: &Trainer) -> bool {
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
    pub(super) fn gradients(
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
    pub(super) fn apply(
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
