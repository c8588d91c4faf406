//! What is learned from: answers with their advantages, or demonstrations.

use std::sync::Arc;

use troupe_core::trajectory::Sample;

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
