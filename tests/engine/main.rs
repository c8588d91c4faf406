//! A real server of Tinker's protocol, where it is installed (`cargo xtask engine-check`): SkyRL on
//! JAX, on the CPU. What is learned there is compared with what is learned here.
//!
//! Where it is not installed these tests say so and end: it takes 7 GB and a Python of 3.12.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod agreement;
mod crashes;
mod server;
#[path = "../support/mod.rs"]
mod support;
