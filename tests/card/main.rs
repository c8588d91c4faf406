//! Every line that only a GPU runs, on a pretended one (`tests/pretend-cuda`), against the same on
//! the CPU. With `TROUPE_CARD=real` it is the card of this machine instead.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

#[path = "../support/mod.rs"]
mod support;

/// Whether the card adds numbers up in the CPU's order, as the pretended one does. On a real one a
/// draw may fall elsewhere; what is compared then are log-probabilities.
fn is_exact() -> bool {
    pretend_cuda::insert().is_some()
}

mod answers;
mod models;
mod pretrained;
mod runs;
mod updates;
