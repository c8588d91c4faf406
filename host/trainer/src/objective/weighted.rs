//! Descent on tokens that each pull with a strength of their own.

use std::collections::BTreeMap;

use tch::{Kind, Tensor};

use super::share::Share;
use super::weigh::{Pull, Scored};
use super::{Measures, Objective, columns, regularized};
use crate::anchor::Anchor;
use crate::bundle::Bundle;
use crate::logprobs::LogProbs;
use crate::pack::Target;
use crate::sample::CreditedSample;
use troupe_core::config::TrainConfig;
use troupe_model::{Sampling, SamplingByRole};

/// Σ slope·log π over the tokens of a mini-batch, with entropy bonus and KL penalty.
pub(crate) struct Weighted<'a> {
    config: &'a TrainConfig,
    sampling: &'a SamplingByRole,
    rows: &'a [CreditedSample<'a>],
    share: Share,
    /// Share of an answer that counts once in a mean over answers.
    of_answer: f32,
    /// Of every row of the mini-batch, the pull of its tokens.
    pulls: BTreeMap<usize, Vec<Pull>>,
}

impl<'a> Weighted<'a> {
    /// Over the mini-batch `bundles`.
    pub(crate) fn new(
        config: &'a TrainConfig,
        sampling: &'a SamplingByRole,
        rows: &'a [CreditedSample<'a>],
        bundles: &[&Bundle],
    ) -> Self {
        let share = Share::new(config, rows, bundles);
        let answers = bundles.iter().flat_map(|bundle| bundle.answers());
        let count: f32 = answers.map(|answer| rows[answer.row].weight).sum();
        let (of_answer, pulls) = (1.0 / count.max(1.0), BTreeMap::new());
        Weighted { config, sampling, rows, share, of_answer, pulls }
    }

    /// The shares of a row in the loss: of each drawn token, and of the whole answer in
    /// a mean over answers.
    pub(crate) fn shares(&self, row: usize) -> (f32, f32) {
        let row = &self.rows[row];
        (self.share.of_drawn(row), row.weight * self.of_answer)
    }

    /// Rows of the mini-batch with the log-probabilities of their tokens now, and under the
    /// reference if that is asked.
    pub(crate) fn scored<'s>(
        &'s self,
        rows: &[usize],
        anchor: &'s Anchor,
        now: Vec<Vec<f32>>,
        reference: Option<Vec<Vec<f32>>>,
    ) -> Vec<Scored<'s>> {
        let mut reference = reference.map(Vec::into_iter);
        let of_row = |(&index, now): (&usize, Vec<f32>)| {
            let row = &self.rows[index];
            let reference = reference.as_mut().and_then(Iterator::next);
            let (share, share_of_answer) = self.shares(index);
            Scored { row, index, anchor, now, reference, share, share_of_answer }
        };
        rows.iter().zip(now).map(of_row).collect()
    }

    /// With the pull of every token of these rows.
    pub(crate) fn pulled(mut self, pulls: impl IntoIterator<Item = (usize, Vec<Pull>)>) -> Self {
        self.pulls.extend(pulls);
        self
    }

    /// Slope, gain, whether clipped below and above, and weight of every target:
    /// `[5, targets]`.
    fn columns(&self, targets: &[Target], like: &Tensor) -> Tensor {
        columns(targets, like, |target| {
            let Pull { slope, gain, clipped } = self.pulls[&target.row][target.token];
            let flag = |held: bool| f32::from(u8::from(held));
            let weight = self.share.of(&self.rows[target.row], target.token);
            [slope as f32, gain as f32, flag(clipped[0]), flag(clipped[1]), weight]
        })
    }
}

impl Objective for Weighted<'_> {
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
        let nothing = logprobs.chosen.zeros_like();
        let bonus = regularized(self.config, nothing.shallow_clone(), logprobs, reference)
            .dot(&columns.get(4));
        let loss = -(logprobs.chosen.dot(&columns.get(0)) + &bonus);
        let measures = tch::no_grad(|| {
            let value = -(columns.get(1).sum(Kind::Float) + bonus);
            let count = |column: i64| columns.get(column).sum(Kind::Float);
            Measures::new([&value, &count(2), &count(3), &nothing.sum(Kind::Float)], targets.len())
        });
        (loss, measures)
    }
}
