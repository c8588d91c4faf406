//! What other processes reach over HTTP: the sandbox and the grader (`grader`),
//! environments and teams (`openenv`), for trainers that are other programs, and what
//! crates above this one answer (`api`).
//!
//! `http_server` is the listening side of all three. Of the grader, `POST /run_code` takes
//! and gives the fields of SandboxFusion, so that its clients work unchanged; `POST
//! /grade` is our own and gives verdicts. `docs/server.md` and `docs/openenv.md` have
//! the fields. What holds for all:
//!
//! - An answer is about the program or the episode or it is an error, never a verdict
//!   or a reward that the load of the machine or a failure of ours brought about.
//! - What a client can have held is bounded: a place is taken before a body is read,
//!   a session before a socket is.
//! - A foreign web page cannot reach it: a request with another `Origin`, or for a
//!   `Host` that is not this machine, is refused.

pub mod command;

mod api;
mod api_server;
mod body;
mod error;
mod grade;
mod grade_request;
mod grader;
mod guard;
mod http_server;
mod languages;
mod newcomers;
mod openenv;
mod queue;
mod refusal;
mod run_code;
mod token;

pub use api::{Api, ApiRequest, ApiResponse};
pub use api_server::{ApiOptions, ApiServer};
pub use error::ServeError;
pub use grader::{Grader, GraderOptions};
pub use http_server::{HttpServer, allow_many_files};
pub use languages::Languages;
pub use openenv::{EnvironmentServer, GalleryServer, Game, OpenEnvOptions};
pub use token::Token;

use troupe_core::error::{Asked, ask};

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[ask::<ServeError>];
