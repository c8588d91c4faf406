//! The sandbox: runs model-written programs.

pub mod loading;

mod bindings;
mod engine;
mod filesystem;
mod image;
mod interpreter;
mod log;
mod memo;
#[expect(unsafe_code, reason = "a linear memory is made of the kernel's pages")]
mod memory;
mod meter;
mod pool;
mod process;
mod protocol;
mod start_error;
mod state;
mod streams;
mod wasi;
mod worker;

pub use pool::{Sandbox, Source};
pub use process::WORKER_COMMAND;
pub use start_error::StartError;
pub use worker::work;

use crate::loading::LoadError;
use troupe_core::error::{Asked, ask};

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[ask::<LoadError>, ask::<StartError>];
