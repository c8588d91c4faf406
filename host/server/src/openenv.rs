//! An environment, or a team that plays one, for trainers that speak OpenEnv.
//!
//! One socket is one session is one episode at a time. `game` is what is served,
//! `alone` and `team` say what a client is told of it, `session` is where a client
//! stands in it. `socket` is a client that stays connected, `registry` all sessions,
//! `mcp` the same as tools, `service` the paths of HTTP, `gallery` several of them side by side. Between two messages an
//! episode is a saved state, so a session that waits costs no instance; whatever
//! calls a plugin runs on the workers, never on the thread that serves the network.
//!
//! `docs/openenv.md` has the routes and fields.

mod access;
mod action;
mod alone;
mod chance;
mod dialogue;
mod earnings;
mod envelope;
mod gallery;
mod game;
mod invalid;
mod mcp;
mod options;
mod page;
mod registry;
mod reset;
mod schema;
mod service;
mod session;
mod socket;
mod task_list;
mod team;
mod turn;

pub use gallery::GalleryServer;
pub use game::Game;
pub use options::OpenEnvOptions;
pub use service::EnvironmentServer;
