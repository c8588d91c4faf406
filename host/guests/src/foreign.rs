//! Environments that are played on an OpenEnv server: a client of its protocol
//! that looks from outside as an environment of a component does.
//!
//! Nothing that a server says is trusted: frames, texts and times are bounded, and
//! whatever goes wrong is one [`Trouble`], which makes its episode void. A session
//! cannot be saved, so a state is the session itself for the first branch to go on,
//! and the moves to be replayed for the others; what the replay shows is
//! compared with what was seen.

mod address;
mod trouble;
mod options;
mod http;
mod action_form;
mod observation;
mod socket;
mod room;
mod session;
mod server;
mod episode;
mod probe;
mod environment;

pub use environment::ForeignEnvironment;
pub use episode::{ForeignEpisode, ForeignState};
pub use server::ForeignError;
