//! What is minimized.
//!
//! Every token has a weight that is fixed for the whole mini-batch, so a loss
//! is a plain sum over tokens and it does not matter how the tokens are cut
//! into micro-batches.

use tch::{Kind, Tensor};

use super::Row;
use super::bundle::Bundle;
use super::pack::Target;
use super::scores::Scores;
use crate::config::{LossAggregation, TrainConfig};
use crate::policy::{Sampling, SamplingByRole};

/// A loss over the tokens of a mini-batch.
pub(super) trait Objective {
    /// The distributions under which answers are scored.
    fn ways(&self) -> &[Sampling];

    /// Loss of some targets (a sum, ready to be added up over the mini-batch)
    /// and what is measured on the way. `reference` are the targets'
    /// log-probabilities under the reference policy, if there is one.
    fn loss(
        &self,
        targets: &[Target],
        scores: &Scores,
        reference: Option<&Tensor>,
    ) -> (Tensor, Measures);
}

/// Weighted sums over some targets.
pub(super) struct Measures {
    /// One number per entry of [`Measures::NAMES`], on the device.
    sums: Tensor,
}

/// The same for a mini-batch, on the host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Measured {
    pub(super) loss: f64,
    pub(super) clipped_low: f64,
    pub(super) clipped_high: f64,
    pub(super) tokens: f64,
}

impl Measures {
    /// From scalars in the order of the fields of [`Measured`].
    fn new(scalars: [&Tensor; 3], tokens: usize) -> Self {
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
        Ok(Measured { loss: at(0), clipped_low: at(1), clipped_high: at(2), tokens: at(3) })
    }
}

impl Measured {
    /// Take in another part of the mini-batch.
    pub(super) fn add(&mut self, other: &Measured) {
        self.loss += other.loss;
        self.clipped_low += other.clipped_low;
        self.clipped_high += other.clipped_high;
        self.tokens += other.tokens;
    }
}

/// The clipped surrogate of PPO (arXiv 1707.06347, equation 7) with separate
/// bounds (DAPO, arXiv 2503.14476, equation 10), an entropy bonus and a KL penalty.
pub(super) struct Surrogate<'a> {
    config: &'a TrainConfig,
    sampling: &'a SamplingByRole,
    rows: &'a [Row<'a>],
    /// Σ over tokens of weight(token)·loss(token) is the loss.
    per_token: f64,
}

impl<'a> Surrogate<'a> {
    /// Over the mini-batch `bundles`.
    pub(super) fn new(
        config: &'a TrainConfig,
        sampling: &'a SamplingByRole,
        rows: &'a [Row<'a>],
        bundles: &[&Bundle],
    ) -> Self {
        let tokens: usize = bundles.iter().map(|bundle| bundle.answer_tokens()).sum();
        let answers: usize = bundles.iter().map(|bundle| bundle.answers().len()).sum();
        let count = match config.loss_aggregation {
            LossAggregation::TokenMean => tokens,
            LossAggregation::SampleMeanTokenMean | LossAggregation::SampleMeanTokenSum => answers,
        };
        Surrogate { config, sampling, rows, per_token: 1.0 / count.max(1) as f64 }
    }

    fn weight(&self, row: usize) -> f32 {
        let length = self.rows[row].sample.completion.tokens.len();
        let share = match self.config.loss_aggregation {
            LossAggregation::SampleMeanTokenMean => 1.0 / length as f64,
            LossAggregation::TokenMean | LossAggregation::SampleMeanTokenSum => 1.0,
        };
        (self.per_token * share) as f32
    }

    /// Log-probability as sampled, advantage and weight of every target: `[3, targets]`.
    fn columns(&self, targets: &[Target], like: &Tensor) -> Tensor {
        let (mut old, mut advantages, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for target in targets {
            let row = &self.rows[target.row];
            old.push(row.sample.completion.logprobs[target.token]);
            advantages.push(row.advantage);
            weights.push(self.weight(target.row));
        }
        let count = old.len() as i64;
        old.append(&mut advantages);
        old.append(&mut weights);
        Tensor::from_slice(&old).view([3, count]).to_device(like.device())
    }
}

impl Objective for Surrogate<'_> {
    fn ways(&self) -> &[Sampling] {
        self.sampling.ways()
    }

    fn loss(
        &self,
        targets: &[Target],
        scores: &Scores,
        reference: Option<&Tensor>,
    ) -> (Tensor, Measures) {
        let columns = self.columns(targets, &scores.chosen);
        let (old, advantages, weights) = (columns.get(0), columns.get(1), columns.get(2));
        let ratio = (&scores.chosen - old).exp();
        let (low, high) = (1.0 - self.config.clip_low, 1.0 + self.config.clip_high);
        let gain = (&ratio * &advantages).minimum(&(ratio.clamp(low, high) * &advantages)); // [targets]
        let bonus = self.config.entropy_coefficient;
        let gain = if bonus == 0.0 { gain } else { gain + scores.entropy() * bonus };
        let gain = match reference {
            None => gain,
            Some(reference) => {
                // The k3 estimator: http://joschu.net/blog/kl-approx.html
                let log_ratio = reference - &scores.chosen;
                gain - (log_ratio.exp() - log_ratio - 1.0) * self.config.kl_coefficient
            }
        };
        let loss = -gain.dot(&weights);
        let measures = tch::no_grad(|| {
            let count = |clipped: Tensor, sign: Tensor| clipped.logical_and(&sign).sum(Kind::Float);
            Measures::new(
                [
                    &loss,
                    &count(ratio.lt(low), advantages.lt(0.0)),
                    &count(ratio.gt(high), advantages.gt(0.0)),
                ],
                targets.len(),
            )
        });
        (loss, measures)
    }
}

/// Cross-entropy with demonstrated answers, averaged over their tokens.
pub(super) struct Imitation {
    sampling: [Sampling; 1],
    per_token: f64,
}

impl Imitation {
    /// Over the examples in `bundles`.
    pub(super) fn new(bundles: &[&Bundle]) -> Self {
        let tokens: usize = bundles.iter().map(|bundle| bundle.answer_tokens()).sum();
        Imitation { sampling: [Sampling::plain(1)], per_token: 1.0 / tokens.max(1) as f64 }
    }
}

impl Objective for Imitation {
    fn ways(&self) -> &[Sampling] {
        &self.sampling
    }

    fn loss(&self, targets: &[Target], scores: &Scores, _: Option<&Tensor>) -> (Tensor, Measures) {
        let loss = scores.chosen.sum(Kind::Float) * -self.per_token;
        let measures = tch::no_grad(|| {
            let zero = loss.zeros_like();
            Measures::new([&loss, &zero, &zero], targets.len())
        });
        (loss, measures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PolicyConfig;
    use crate::policy::{Device, Policy};
    use crate::seed::Seed;
    use crate::trainer::bundle::{Answer, bundle};
    use crate::trainer::pack::micro_batches;
    use crate::trajectory::{Completion, Reward, Sample, StopReason};

    fn sample(logprobs: &[f32]) -> Sample {
        let tokens = (0..logprobs.len() as u32).collect();
        let logprobs = logprobs.to_vec();
        Sample {
            task: 0,
            episode: 0,
            turn: 0,
            role: String::new(),
            instance: 0,
            thread: String::new(),
            situation: None,
            parent: None,
            caller: None,
            round: 0,
            policy: String::new(),
            branch: 0,
            kept: true,
            state: 0,
            prompt: [9].into(),
            accepted: true,
            reward: Reward::default(),
            completion: Completion {
                tokens,
                logprobs,
                text: String::new(),
                stop: StopReason::EndOfText,
            },
        }
    }

    /// Loss and its gradient with respect to the new log-probabilities of two
    /// answers, of two tokens and of one.
    fn toy(config: &TrainConfig, new: &[f32; 3], reference: Option<&[f32; 3]>) -> (f64, Vec<f32>) {
        let samples = [sample(&[-1.0, -1.0]), sample(&[-1.0])];
        let rows = [
            Row { sample: &samples[0], advantage: 2.0 },
            Row { sample: &samples[1], advantage: -1.0 },
        ];
        let bundles = bundle(samples.iter().enumerate().map(|(row, sample)| {
            (&sample.prompt[..], Answer { row, tokens: &sample.completion.tokens, way: 0 })
        }));
        let bundles: Vec<&Bundle> = bundles.iter().collect();
        let numbered: Vec<(usize, &Bundle)> = bundles.iter().map(|bundle| (0, *bundle)).collect();
        let policy = Policy::random(&PolicyConfig::default(), &[], Seed::new(1), Device::cpu());
        let batches = micro_batches(&numbered, 100, Device::cpu());
        let (pack, _) = batches[0].pack(policy.unwrap().decoder());
        let chunks = pack.chunks(100);
        // The second answer is a beginning of the first, so it comes first.
        let targets = chunks[0].targets;
        let order: Vec<(usize, usize)> =
            targets.iter().map(|target| (target.row, target.token)).collect();
        assert_eq!(order, [(1, 0), (0, 0), (0, 1)]);
        let chosen = Tensor::from_slice(new).set_requires_grad(true);
        let scores = Scores {
            chosen: chosen.shallow_clone(),
            all: Tensor::zeros([3, 1], (Kind::Float, tch::Device::Cpu)),
            sources: Tensor::arange(3, (Kind::Int64, tch::Device::Cpu)),
        };
        let sampling = Sampling::plain(2);
        let by_role = sampling.clone().into();
        let surrogate = Surrogate::new(config, &by_role, &rows, &bundles);
        let reference = reference.map(|reference| Tensor::from_slice(reference));
        let (loss, _) = surrogate.loss(targets, &scores, reference.as_ref());
        let gradient = Tensor::run_backward(&[&loss], &[chosen], false, false).remove(0);
        (loss.double_value(&[]), Vec::try_from(gradient).unwrap())
    }

    fn near(found: (f64, Vec<f32>), loss: f64, gradient: [f32; 3]) {
        assert!((found.0 - loss).abs() < 1e-5, "{found:?}");
        assert!(found.1.iter().zip(gradient).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?}");
    }

    fn config(loss_aggregation: LossAggregation) -> TrainConfig {
        TrainConfig { loss_aggregation, entropy_coefficient: 0.0, ..TrainConfig::default() }
    }

    #[test]
    fn unchanged_policies_follow_the_advantages() {
        let new = [-1.0; 3];
        near(
            toy(&config(LossAggregation::TokenMean), &new, None),
            -1.0,
            [1.0 / 3.0, -2.0 / 3.0, -2.0 / 3.0],
        );
        near(
            toy(&config(LossAggregation::SampleMeanTokenMean), &new, None),
            -0.5,
            [0.5, -0.5, -0.5],
        );
        near(
            toy(&config(LossAggregation::SampleMeanTokenSum), &new, None),
            -1.5,
            [0.5, -1.0, -1.0],
        );
    }

    #[test]
    fn gains_beyond_the_bounds_carry_no_gradient() {
        let shifted = |ratio: f64| (ratio.ln() - 1.0) as f32;
        let config = config(LossAggregation::SampleMeanTokenSum);
        // Advantage −1 below 1 − 0.2, and advantage 2 above 1 + 0.28: held.
        let held = [shifted(0.5), shifted(1.5), shifted(1.27)];
        near(toy(&config, &held, None), (0.8 - 2.0 * 1.28 - 2.0 * 1.27) / 2.0, [0.0, 0.0, -1.27]);
        // On the other side of each bound the gradient brings them back.
        let free = [shifted(1.5), shifted(0.5), shifted(1.0)];
        near(toy(&config, &free, None), (1.5 - 1.0 - 2.0) / 2.0, [0.75, -0.5, -1.0]);
    }

    #[test]
    fn the_penalty_is_the_k3_estimate() {
        let config =
            TrainConfig { kl_coefficient: 0.3, ..config(LossAggregation::SampleMeanTokenSum) };
        let reference = [-1.0, -1.0, -0.5];
        let estimate = 0.5_f64.exp() - 0.5 - 1.0;
        let slope = 0.3 * (1.0 - 0.5_f64.exp()) / 2.0;
        near(
            toy(&config, &[-1.0; 3], Some(&reference)),
            -1.5 + 0.15 * estimate,
            [0.5, -1.0, -1.0 + slope as f32],
        );
    }
}
