//! Learning from demonstrations.

use tch::{Kind, Tensor};

use super::{Measures, Objective};
use crate::bundle::Bundle;
use crate::logprobs::LogProbs;
use crate::pack::Target;
use troupe_model::Sampling;

/// Cross-entropy with demonstrated answers, averaged over their tokens.
pub(crate) struct Imitation {
    sampling: [Sampling; 1],
    per_token: f64,
}

impl Imitation {
    /// Over the examples in `bundles`.
    pub(crate) fn new(bundles: &[&Bundle]) -> Self {
        let tokens: usize = bundles.iter().map(|bundle| bundle.answer_tokens()).sum();
        Imitation { sampling: [Sampling::plain(1)], per_token: 1.0 / tokens.max(1) as f64 }
    }
}

impl Objective for Imitation {
    fn ways(&self) -> &[Sampling] {
        &self.sampling
    }

    fn loss(
        &self,
        targets: &[Target],
        logprobs: &LogProbs,
        _: Option<&Tensor>,
    ) -> (Tensor, Measures) {
        let loss = logprobs.chosen.sum(Kind::Float) * -self.per_token;
        let measures = tch::no_grad(|| {
            let zero = loss.zeros_like();
            Measures::new([&loss, &zero, &zero, &zero], targets.len())
        });
        (loss, measures)
    }
}
