//! The sandbox: runs model-written programs in interpreters that are WebAssembly components.
//!
//! Each run is a fresh instance in a worker process that has no secret to lose. A program finds
//! neither environment nor network, no files but its own in `/tmp`, and a clock that moves with
//! the work done, so that a run can be repeated. [`Sandbox`] is the host's side, [`work`] a
//! worker's. It may know nothing of problems, verdicts, episodes or models: it says how
//! a program ended, and what that is worth is somebody else's business. A run that says nothing
//! about the program is a [`SandboxError`](troupe_core::program::SandboxError).
//!
//! ```
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use troupe_core::program::{Program, RunLimits, Runner};
//! use troupe_sandbox::Sandbox;
//!
//! // Workers start when a program is there to be run.
//! let sandbox = Sandbox::with_worker(Path::new("target/release/host"), 2, &[]);
//! assert_eq!((sandbox.jobs(), sandbox.idle_workers().len()), (2, 0));
//!
//! // For this language there is no interpreter: no fault of the program's.
//! let program = Program::new("cobol", *b"DISPLAY 'hello'.");
//! let error = sandbox.run(&program, &Arc::from([]), &RunLimits::default()).unwrap_err();
//! assert!(error.to_string().contains("cobol"));
//! ```

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
