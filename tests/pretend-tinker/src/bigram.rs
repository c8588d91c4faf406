//! The model: each token is drawn by the one before it alone, so that every gradient is known in
//! closed form: ∂ log π(y|x) / ∂ logit(k|x) = [k = y] − π(k|x).

use crate::protobuf::{Datum, Gradient, Scores};
use crate::traps::Sums;

/// Logits by the token before and the token after.
pub type Table = Vec<Vec<f64>>;

/// A base of so many tokens, the same every time.
pub fn base(vocabulary: usize) -> Table {
    let logit = |from: usize, to: usize| 1.5 * ((from * 31 + to * 17) as f64 * 0.37).sin();
    (0..vocabulary).map(|from| (0..vocabulary).map(|to| logit(from, to)).collect()).collect()
}

/// The logarithms of the probabilities after a token.
pub fn log_softmax(logits: &[f64]) -> Vec<f64> {
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logits.iter().map(|logit| (logit - most).exp()).sum();
    logits.iter().map(|logit| logit - most - sum.ln()).collect()
}

/// AdamW's settings, as they come with a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adam {
    pub(crate) rate: f64,
    pub(crate) beta1: f64,
    pub(crate) beta2: f64,
    pub(crate) epsilon: f64,
    pub(crate) decay: f64,
    pub(crate) norm: f64,
}

/// What is learned: what is added to the base, and what the optimizer remembers.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    pub(crate) delta: Table,
    first: Table,
    second: Table,
    steps: i32,
}

/// What was added since the last step.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) sum: Table,
    sequences: f64,
}

fn zeros(vocabulary: usize) -> Table {
    vec![vec![0.0; vocabulary]; vocabulary]
}

impl Pending {
    pub(crate) fn none(vocabulary: usize) -> Self {
        Pending { sum: zeros(vocabulary), sequences: 0.0 }
    }

    /// The gradient as a step sees it.
    pub(crate) fn gradient(&self, sums: Sums) -> Table {
        let share = match sums {
            Sums::SequenceMean => 1.0 / self.sequences.max(1.0),
            Sums::Sum | Sums::TokenMean => 1.0,
        };
        self.sum.iter().map(|row| row.iter().map(|it| it * share).collect()).collect()
    }
}

impl Weights {
    pub(crate) fn fresh(vocabulary: usize) -> Self {
        let table = || zeros(vocabulary);
        Weights { delta: table(), first: table(), second: table(), steps: 0 }
    }

    /// The logarithms of the probabilities after a token.
    pub(crate) fn after(&self, base: &Table, token: usize) -> Vec<f64> {
        let logits = base[token].iter().zip(&self.delta[token]).map(|(base, own)| base + own);
        log_softmax(&logits.collect::<Vec<_>>())
    }

    /// Log-probabilities and losses of the targets of each answer; what they come to is added.
    pub(crate) fn add(
        &self,
        base: &Table,
        gradient: &Gradient,
        sums: Sums,
        pending: &mut Pending,
    ) -> Vec<Scores> {
        let weights = |datum: &Datum| {
            datum.numbers.get("weights").cloned().unwrap_or(vec![1.0; datum.targets.len()])
        };
        let all: f64 = gradient.data.iter().flat_map(weights).sum();
        let mut scored = Vec::new();
        for datum in &gradient.data {
            let weights = weights(datum);
            let share = match sums {
                Sums::Sum => 1.0,
                Sums::SequenceMean => 1.0 / weights.iter().sum::<f64>().max(1e-9),
                Sums::TokenMean => 1.0 / all,
            };
            let (mut logprobs, mut losses) = (Vec::new(), Vec::new());
            for (place, (&from, &to)) in datum.tokens.iter().zip(&datum.targets).enumerate() {
                let after = self.after(base, from as usize);
                let now = after[to as usize];
                let (loss, slope) = loss(gradient, datum, place, now);
                logprobs.push(now);
                losses.push(loss * weights[place]);
                if gradient.forward_only {
                    continue;
                }
                let pull = slope * weights[place] * share;
                for (token, logprob) in after.iter().enumerate() {
                    let own = f64::from(u8::from(token == to as usize));
                    pending.sum[from as usize][token] += pull * (own - logprob.exp());
                }
            }
            if !gradient.forward_only {
                pending.sequences += 1.0;
            }
            scored.push((logprobs, losses));
        }
        scored
    }

    /// One step; gives the gradient's norm.
    pub(crate) fn step(&mut self, gradient: &Table, adam: Adam, clips: bool) -> f64 {
        let norm = gradient.iter().flatten().map(|it| it * it).sum::<f64>().sqrt();
        let share = if clips && adam.norm > 0.0 { (adam.norm / norm).min(1.0) } else { 1.0 };
        self.steps += 1;
        let corrected = |beta: f64| 1.0 - beta.powi(self.steps);
        let (first, second) = (corrected(adam.beta1), corrected(adam.beta2));
        for (row, gradient) in gradient.iter().enumerate() {
            for (place, gradient) in gradient.iter().enumerate() {
                let gradient = gradient * share;
                let mean = &mut self.first[row][place];
                *mean = adam.beta1 * *mean + (1.0 - adam.beta1) * gradient;
                let square = &mut self.second[row][place];
                *square = adam.beta2 * *square + (1.0 - adam.beta2) * gradient * gradient;
                let step = (*mean / first) / ((*square / second).sqrt() + adam.epsilon);
                let weight = &mut self.delta[row][place];
                *weight -= adam.rate * (step + adam.decay * *weight);
            }
        }
        norm
    }

    pub(crate) fn decay(&mut self, share: f64) {
        self.delta.iter_mut().flatten().for_each(|weight| *weight *= 1.0 - share);
    }

    pub(crate) fn ruin(&mut self) {
        self.delta.iter_mut().flatten().for_each(|weight| *weight = f64::NAN);
    }
}

/// A token's loss, and the loss's slope by its log-probability.
fn loss(gradient: &Gradient, datum: &Datum, place: usize, now: f64) -> (f64, f64) {
    let number = |name: &str| datum.numbers.get(name).map_or(0.0, |numbers| numbers[place]);
    let setting = |name: &str, usual: f64| gradient.settings.get(name).copied().unwrap_or(usual);
    let (ratio, advantage) = ((now - number("logprobs")).exp(), number("advantages"));
    let bounds = (setting("clip_low_threshold", 0.8), setting("clip_high_threshold", 1.2));
    match gradient.loss.as_str() {
        "cross_entropy" => (-now, -1.0),
        "importance_sampling" => (-ratio * advantage, -ratio * advantage),
        "ppo" => {
            let held = ratio.clamp(bounds.0, bounds.1) * advantage;
            let free = ratio * advantage;
            (-free.min(held), if free <= held { -free } else { 0.0 })
        }
        other => panic!("the loss `{other}` is not part of this protocol"),
    }
}
