//! What a prompt was answered with, here or on a server.

use std::sync::Arc;

use troupe_core::trajectory::Completion;

/// The answers to one prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Completions {
    /// Token ids of the prompt; empty if the server gives none.
    pub prompt: Arc<[u32]>,
    /// One answer per seed, in their order.
    pub completions: Vec<Completion>,
}
