//! What is minimized.
//!
//! Every token has a weight that is fixed for the whole mini-batch, so a loss
//! is a plain sum over tokens and it does not matter how the tokens are cut
//! into micro-batches. The clipped surrogate is differentiated as it is. What
//! looks at whole answers or at several together takes another way: the
//! mini-batch is scored without a graph, `weigh` says how much every token's
//! log-probability pulls, and `weighted` descends on that. For a loss that
//! depends on a policy through these log-probabilities alone the gradient is the
//! same: ∇L = Σ (∂L/∂log π)·∇log π.

mod imitation;
mod share;
mod surrogate;
mod weigh;
mod weighted;

use tch::{Kind, Tensor};

use crate::logprobs::LogProbs;
use crate::pack::Target;
use troupe_core::config::TrainConfig;
use troupe_model::Sampling;

pub(super) use imitation::Imitation;
pub(super) use surrogate::Surrogate;
#[cfg(test)]
pub(super) use weigh::Scored;
pub(super) use weigh::{Pull, weigh};
pub(super) use weighted::Weighted;

/// What a token gains besides: an entropy bonus, and a KL penalty if there is a
/// reference. `[targets]`, like `gain`.
fn regularized(
    config: &TrainConfig,
    gain: Tensor,
    logprobs: &LogProbs,
    reference: Option<&Tensor>,
) -> Tensor {
    let bonus = config.entropy_coefficient;
    let gain = if bonus == 0.0 { gain } else { gain + logprobs.entropy() * bonus };
    match reference {
        None => gain,
        Some(reference) => {
            // The k3 estimator: http://joschu.net/blog/kl-approx.html
            let log_ratio = reference - &logprobs.chosen;
            gain - (log_ratio.exp() - log_ratio - 1.0) * config.kl_coefficient
        }
    }
}

/// Some numbers for every target, on the device of `like`: `[N, targets]`.
fn columns<const N: usize>(
    targets: &[Target],
    like: &Tensor,
    numbers: impl Fn(&Target) -> [f32; N],
) -> Tensor {
    let mut columns = [const { Vec::new() }; N];
    for target in targets {
        columns.iter_mut().zip(numbers(target)).for_each(|(column, number)| column.push(number));
    }
    let shape = [N as i64, targets.len() as i64];
    Tensor::from_slice(&columns.concat()).view(shape).to_device(like.device())
}

/// A loss over the tokens of a mini-batch.
pub(crate) trait Objective {
    /// The distributions under which answers are scored.
    fn ways(&self) -> &[Sampling];

    /// Loss of some targets (a sum, ready to be added up over the mini-batch)
    /// and what is measured on the way. `reference` are the targets'
    /// log-probabilities under the reference policy, if there is one.
    fn loss(
        &self,
        targets: &[Target],
        logprobs: &LogProbs,
        reference: Option<&Tensor>,
    ) -> (Tensor, Measures);
}

/// Weighted sums over some targets.
pub(crate) struct Measures {
    /// One number for each field of [`Measured`], on the device.
    sums: Tensor,
}

/// The same for a mini-batch, on the host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Measured {
    pub(super) loss: f64,
    pub(super) clipped_low: f64,
    pub(super) clipped_high: f64,
    /// Tokens whose importance weight the cap held, or that are left out for it, as far as the
    /// objective finds the weights itself.
    pub(super) capped: f64,
    pub(super) tokens: f64,
}

impl Measures {
    /// From scalars in the order of the fields of [`Measured`].
    fn new(scalars: [&Tensor; 4], tokens: usize) -> Self {
        let tokens = scalars[0].full_like(tokens as f64);
        let detached: Vec<Tensor> = scalars
            .iter()
            .chain([&&tokens])
            .map(|scalar| scalar.detach().to_kind(Kind::Float))
            .collect();
        Measures { sums: Tensor::stack(&detached, 0) }
    }

    /// Copy to the host; waits for the device.
    pub(super) fn read(&self) -> Result<Measured, tch::TchError> {
        let sums = Vec::<f32>::try_from(&self.sums)?;
        let at = |index: usize| f64::from(sums[index]);
        Ok(Measured::of(std::array::from_fn(at)))
    }
}

impl Measured {
    /// Its numbers, in the order of its fields.
    pub(super) fn numbers(&self) -> [f64; 5] {
        [self.loss, self.clipped_low, self.clipped_high, self.capped, self.tokens]
    }

    /// Of these numbers.
    pub(super) fn of([loss, clipped_low, clipped_high, capped, tokens]: [f64; 5]) -> Self {
        Measured { loss, clipped_low, clipped_high, capped, tokens }
    }

    /// Take in another part of the mini-batch.
    pub(super) fn add(&mut self, other: &Measured) {
        self.loss += other.loss;
        self.clipped_low += other.clipped_low;
        self.clipped_high += other.clipped_high;
        self.capped += other.capped;
        self.tokens += other.tokens;
    }
}
