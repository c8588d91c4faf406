//! A recorded decoding step.

use std::sync::Arc;

use pretend_cuda::{Card, Costs};
use troupe_core::seed::Seed;
use troupe_model::{Engine, Policy, Question, Request, Sampling};

use crate::shape::Shape;

/// Answers to a prompt, and words of a prompt.
pub const BRANCHES: usize = 8;
pub const PROMPT: usize = 256;
/// Steps of a stretch, and tokens of an answer before the one that is counted.
const STEPS: usize = 8;
const BEFORE: usize = 25;
/// Tokens that an answer may have; there is room for 32 by then.
const LIMIT: usize = 64;

fn requests(rows: usize) -> Vec<Request> {
    let prompts = rows.div_ceil(BRANCHES);
    let request = |prompt: usize| {
        let words: Arc<[u32]> =
            (0..PROMPT).map(|at| (4 + (7 * at + 13 * prompt) % 400) as u32).collect();
        let answers = (rows / prompts) as u64;
        Request { prompt: words, seeds: (0..answers).map(Seed::new).collect() }
    };
    (0..prompts).map(request).collect()
}

/// What a step costs with so many rows: a part of a stretch whose room was made and whose steps
/// were recorded in the one before.
fn step(card: Card, policy: &Policy, rows: usize) -> Costs {
    let questions: Vec<Question> = requests(rows).into_iter().map(|asked| (0, asked)).collect();
    let mut engine = Engine::new(&[policy], Sampling::plain(LIMIT), 0).unwrap();
    engine.submit(&questions).unwrap();
    for _ in 0..=BEFORE / STEPS {
        engine.advance().unwrap();
    }
    card.forget();
    engine.advance().unwrap();
    card.costs().shared(STEPS as u64)
}

/// What a layer of a step costs, and all that is no layer.
pub struct Step {
    pub layer: Costs,
    pub rest: Costs,
}

impl Step {
    /// Of a model of this shape: what its second layer adds, and what is left without the first.
    pub fn of(card: Card, policies: &[Policy; 2], rows: usize) -> Self {
        let [one, two] = policies.each_ref().map(|policy| step(card, policy, rows));
        let layer = two.less(&one);
        Step { rest: one.less(&layer), layer }
    }

    /// Bytes of a step of the whole model over those that must be moved: weights once, keys and
    /// values once.
    pub fn over_least(&self, shape: &Shape, rows: usize) -> f64 {
        let lanes = rows.div_ceil(BRANCHES) as u64;
        let written = rows as u64 * (BEFORE + STEPS / 2) as u64;
        let cached = shape.cached() * (lanes * PROMPT as u64 + written);
        let layers = shape.layers as u64;
        let least = layers * (2 * shape.layer_weights() + cached) + 2 * shape.head_weights();
        let moved = layers * self.layer.kernels().bytes() + self.rest.kernels().bytes();
        moved as f64 / least as f64
    }
}
