//! The sandbox and the grader over HTTP, for trainers that are other processes; and the
//! connections of other services, which answer through the trait [`Api`].
//!
//! `POST /run_code` takes and gives the fields of SandboxFusion, so that its
//! clients work unchanged; `POST /grade` is our own and gives verdicts.
//! `docs/server.md` has the fields. What holds for both:
//!
//! - An answer is about the program or it is an error, never a verdict that the
//!   load of the machine or a failure of ours brought about.
//! - A place in the queue is taken before the body is read, so the memory for
//!   bodies is bounded; without a place the answer is 429.
//! - A web page cannot reach it: a request with an `Origin`, or for a `Host`
//!   that is not this machine, is refused.

mod api;
mod body;
mod connections;
mod error;
mod grade;
mod grade_request;
mod guard;
mod http_server;
mod languages;
mod options;
mod queue;
mod refusal;
mod run_code;
mod service;
mod signals;

pub use api::{Api, ApiOptions, ApiServer, Asked, Said};
pub use error::ServeError;
pub use http_server::HttpServer;
pub use languages::Languages;
pub use options::ServerOptions;
