//! How much of a mini-batch's loss a token is.

use crate::bundle::Bundle;
use crate::sample::CreditedSample;
use troupe_core::config::{LossAggregation, TrainConfig};

/// How token losses become one number: a mean over the tokens of a mini-batch or
/// over its answers, each as often as its row counts.
pub(super) struct Share {
    aggregation: LossAggregation,
    /// Share of a token, or of an answer, that counts once.
    of_one: f64,
}

impl Share {
    pub(super) fn new(config: &TrainConfig, rows: &[CreditedSample], bundles: &[&Bundle]) -> Self {
        let aggregation = config.loss_aggregation;
        let answers = bundles.iter().flat_map(|bundle| bundle.answers());
        let count = answers.map(|answer| {
            let tokens = match aggregation {
                LossAggregation::TokenMean => rows[answer.row].sample.completion.drawn() as f64,
                LossAggregation::SampleMeanTokenMean | LossAggregation::SampleMeanTokenSum => 1.0,
            };
            f64::from(rows[answer.row].weight) * tokens
        });
        Share { aggregation, of_one: 1.0 / count.sum::<f64>().max(1.0) }
    }

    /// The share of a row's token; 0 if it was not drawn.
    pub(super) fn of(&self, row: &CreditedSample, token: usize) -> f32 {
        if row.sample.completion.is_drawn(token) { self.of_drawn(row) } else { 0.0 }
    }

    /// The share of each drawn token of a row.
    pub(super) fn of_drawn(&self, row: &CreditedSample) -> f32 {
        let length = row.sample.completion.drawn().max(1);
        let share = match self.aggregation {
            LossAggregation::SampleMeanTokenMean => 1.0 / length as f64,
            LossAggregation::TokenMean | LossAggregation::SampleMeanTokenSum => 1.0,
        };
        (self.of_one * share) as f32 * row.weight
    }
}
