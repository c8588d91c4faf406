//! The clipped surrogate.

use tch::{Kind, Tensor};

use super::share::Share;
use super::{Measures, Objective, columns, regularized};
use crate::anchor::Anchor;
use crate::bundle::Bundle;
use crate::logprobs::LogProbs;
use crate::pack::Target;
use crate::sample::CreditedSample;
use troupe_core::config::{Importance, TrainConfig};
use troupe_model::{Sampling, SamplingByRole};

/// The clipped surrogate of PPO (arXiv 1707.06347, equation 7) with separate
/// bounds (DAPO, arXiv 2503.14476, equation 10), a third one below negative advantages if it is
/// set, an entropy bonus and a KL penalty.
pub(crate) struct Surrogate<'a> {
    config: &'a TrainConfig,
    sampling: &'a SamplingByRole,
    rows: &'a [CreditedSample<'a>],
    anchor: &'a Anchor,
    share: Share,
}

impl<'a> Surrogate<'a> {
    /// Over the mini-batch `bundles`; ratios are those to the `anchor`.
    pub(crate) fn new(
        config: &'a TrainConfig,
        sampling: &'a SamplingByRole,
        rows: &'a [CreditedSample<'a>],
        anchor: &'a Anchor,
        bundles: &[&Bundle],
    ) -> Self {
        Surrogate { config, sampling, rows, anchor, share: Share::new(config, rows, bundles) }
    }

    /// Log-probability before the update (as sampled, if the anchor is the pass's own), advantage,
    /// correction and weight of every target: `[4, targets]`.
    fn columns(&self, targets: &[Target], like: &Tensor) -> Tensor {
        columns(targets, like, |target| {
            let row = &self.rows[target.row];
            let (old, correction) = self.anchor.token(row, target.row, target.token);
            [old, row.advantage.unwrap_or(0.0), correction, self.share.of(row, target.token)]
        })
    }

    /// Where a bound is set, gains below c times a negative advantage (PPO's dual clip, arXiv
    /// 1912.09729, equation 5), and how many it held.
    fn held(&self, gain: Tensor, ratio: &Tensor, advantages: &Tensor) -> (Tensor, Tensor) {
        let dual = self.config.clip_dual;
        if dual == 0.0 {
            return (gain, advantages.new_zeros([], (Kind::Float, advantages.device())));
        }
        let held = ratio.gt(dual).logical_and(&advantages.lt(0.0));
        let count = held.sum(Kind::Float);
        ((advantages * dual).where_self(&held, &gain), count)
    }

    /// By what each target is multiplied whose probability in training is e to the `log_ratios`
    /// `[targets]` of that in sampling, and which ones the cap holds or leaves out.
    fn corrections(&self, log_ratios: &Tensor) -> (Option<Tensor>, Tensor) {
        let cap = self.config.importance_cap;
        let ratios = log_ratios.exp();
        match self.config.importance {
            Importance::Auto | Importance::None => (None, log_ratios.zeros_like()),
            Importance::Truncate => (Some(ratios.clamp_max(cap)), ratios.ge(cap)),
            Importance::Mask | Importance::MaskAnswer => {
                let left_out = log_ratios.abs().gt(cap.ln());
                (Some(ratios.masked_fill(&left_out, 0.0)), left_out)
            }
        }
    }
}

impl Objective for Surrogate<'_> {
    fn ways(&self) -> &[Sampling] {
        self.sampling.ways()
    }

    fn loss(
        &self,
        targets: &[Target],
        logprobs: &LogProbs,
        reference: Option<&Tensor>,
    ) -> (Tensor, Measures) {
        let columns = self.columns(targets, &logprobs.chosen);
        let (advantages, weights) = (columns.get(1), columns.get(3));
        let in_pass = matches!(self.anchor, Anchor::Own);
        let old = if in_pass { logprobs.chosen.detach() } else { columns.get(0) };
        let ratio = (&logprobs.chosen - &old).exp();
        let (low, high) = (1.0 - self.config.clip_low, 1.0 + self.config.clip_high);
        let gain = (&ratio * &advantages).minimum(&(ratio.clamp(low, high) * &advantages)); // [targets]
        let (gain, dual) = self.held(gain, &ratio, &advantages);
        let (corrections, capped) = match in_pass {
            true => self.corrections(&(old - columns.get(0))),
            false => (self.anchor.corrects().then(|| columns.get(2)), advantages.zeros_like()),
        };
        let gain = match corrections {
            Some(corrections) => gain * corrections,
            None => gain,
        };
        let gain = regularized(self.config, gain, logprobs, reference);
        let loss = -gain.dot(&weights);
        let measures = tch::no_grad(|| {
            let count = |clipped: Tensor, sign: Tensor| clipped.logical_and(&sign).sum(Kind::Float);
            Measures::new(
                [
                    &loss,
                    &count(ratio.lt(low), advantages.lt(0.0)),
                    &(count(ratio.gt(high), advantages.gt(0.0)) + dual),
                    &capped.sum(Kind::Float),
                ],
                targets.len(),
            )
        });
        (loss, measures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::{Answer, bundle};
    use crate::pack::micro_batches;
    use troupe_core::config::LossAggregation;
    use troupe_core::config::PolicyConfig;
    use troupe_core::seed::Seed;
    use troupe_core::trajectory::{Completion, Sample, StopReason};
    use troupe_model::{Device, Policy};

    fn sample(logprobs: &[f32]) -> Sample {
        let tokens = (0..logprobs.len() as u32).collect();
        let logprobs = logprobs.to_vec();
        Sample {
            prompt: [9].into(),
            completion: Completion {
                tokens,
                logprobs,
                text: String::new(),
                stop: StopReason::EndOfText,
                forced: Vec::new(),
                usage: None,
            },
            ..troupe_core::example::sample(0, 0, 0, "solver", 0)
        }
    }

    /// Loss and its gradient with respect to the new log-probabilities of two
    /// answers, of two tokens and of one.
    fn toy(config: &TrainConfig, new: &[f32; 3], reference: Option<&[f32; 3]>) -> (f64, Vec<f32>) {
        let (loss, gradient, _) = anchored(config, new, reference, |_| Anchor::Sampled);
        (loss, gradient)
    }

    /// The same with another anchor, and how many tokens it held.
    fn anchored(
        config: &TrainConfig,
        new: &[f32; 3],
        reference: Option<&[f32; 3]>,
        anchor: impl Fn(&[&Sample]) -> Anchor,
    ) -> (f64, Vec<f32>, f64) {
        let samples = [sample(&[-1.0, -1.0]), sample(&[-1.0])];
        let rows = [
            CreditedSample { sample: &samples[0], advantage: Some(2.0), weight: 1.0 },
            CreditedSample { sample: &samples[1], advantage: Some(-1.0), weight: 1.0 },
        ];
        let bundles = bundle(samples.iter().enumerate().map(|(row, sample)| {
            (
                &sample.prompt[..],
                Answer { row, tokens: &sample.completion.tokens, way: 0, automaton: None },
            )
        }));
        let bundles: Vec<&Bundle> = bundles.iter().collect();
        let numbered: Vec<(usize, &Bundle)> = bundles.iter().map(|bundle| (0, *bundle)).collect();
        let policy = Policy::random(&PolicyConfig::default(), &[], Seed::new(1), Device::cpu());
        let policy = policy.unwrap();
        let batches = micro_batches(&numbered, 100, &policy);
        let (pack, _) = batches[0].pack(policy.decoder());
        let chunks = pack.chunks(100);
        // The second answer is a beginning of the first, so it comes first.
        let targets = chunks[0].targets;
        let order: Vec<(usize, usize)> =
            targets.iter().map(|target| (target.row, target.token)).collect();
        assert_eq!(order, [(1, 0), (0, 0), (0, 1)]);
        let chosen = Tensor::from_slice(new).set_requires_grad(true);
        let logprobs = LogProbs {
            chosen: chosen.shallow_clone(),
            all: Tensor::zeros([3, 1], (Kind::Float, tch::Device::Cpu)),
            sources: Tensor::arange(3, (Kind::Int64, tch::Device::Cpu)),
        };
        let sampling = Sampling::plain(2);
        let (by_role, anchor) = (sampling.clone().into(), anchor(&[&samples[0], &samples[1]]));
        let surrogate = Surrogate::new(config, &by_role, &rows, &anchor, &bundles);
        let reference = reference.map(|reference| Tensor::from_slice(reference));
        let (loss, measures) = surrogate.loss(targets, &logprobs, reference.as_ref());
        let gradient = Tensor::run_backward(&[&loss], &[chosen], false, false).remove(0);
        let capped = measures.read().unwrap().capped / 3.0;
        let held = anchor.capped_share(config).unwrap_or(capped);
        (loss.double_value(&[]), Vec::try_from(gradient).unwrap(), held)
    }

    fn near(actual: (f64, Vec<f32>), loss: f64, gradient: [f32; 3]) {
        assert!((actual.0 - loss).abs() < 1e-5, "{actual:?}");
        assert!(actual.1.iter().zip(gradient).all(|(a, b)| (a - b).abs() < 1e-5), "{actual:?}");
    }

    fn config(loss_aggregation: LossAggregation) -> TrainConfig {
        TrainConfig { loss_aggregation, entropy_coefficient: 0.0, ..TrainConfig::default() }
    }

    #[test]
    fn an_anchor_that_the_pass_finds_itself_is_the_rescored_one() {
        let new = [-1.0 + 3.0_f32.ln(), -1.2, -1.0 - 3.0_f32.ln()];
        for importance in [Importance::None, Importance::Truncate, Importance::Mask] {
            let config = TrainConfig {
                importance,
                importance_cap: 2.0,
                ..config(LossAggregation::TokenMean)
            };
            let rescored = anchored(&config, &new, None, |samples| {
                Anchor::at(&config, samples, vec![vec![new[1], new[2]], vec![new[0]]])
            });
            let in_pass = anchored(&config, &new, None, |_| Anchor::Own);
            near((in_pass.0, in_pass.1), rescored.0, rescored.1.try_into().unwrap());
            let held = match importance {
                Importance::Truncate => 1.0 / 3.0,
                Importance::Mask => 2.0 / 3.0,
                _ => 0.0,
            };
            assert!((in_pass.2 - held).abs() < 1e-6 && (rescored.2 - held).abs() < 1e-6);
        }
    }

    #[test]
    fn a_token_that_was_put_there_pulls_nowhere_and_counts_for_nothing() {
        let config = config(LossAggregation::TokenMean);
        let samples = [sample(&[-1.0, -1.0]), sample(&[-1.0])];
        let forced = |row: usize, place: usize| {
            let mut samples = samples.clone();
            samples[row].completion.forced = vec![place];
            let rows = [(Some(2.0), &samples[0]), (Some(-1.0), &samples[1])];
            let rows =
                rows.map(|(advantage, sample)| CreditedSample { sample, advantage, weight: 1.0 });
            let bundles = bundle(samples.iter().enumerate().map(|(row, sample)| {
                (
                    &sample.prompt[..],
                    Answer { row, tokens: &sample.completion.tokens, way: 0, automaton: None },
                )
            }));
            let bundles: Vec<&Bundle> = bundles.iter().collect();
            let (by_role, anchor) = (Sampling::plain(2).into(), Anchor::Sampled);
            let surrogate = Surrogate::new(&config, &by_role, &rows, &anchor, &bundles);
            let share = |row: usize, token| surrogate.share.of(&rows[row], token);
            [share(0, 0), share(0, 1), share(1, 0)]
        };
        assert_eq!(forced(0, 1), [0.5, 0.0, 0.5]);
        assert_eq!(forced(1, 0), [0.5, 0.5, 0.0]);
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
