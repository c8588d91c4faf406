//! What tests of several wings use. Each of their programs uses a part of it.

#![allow(dead_code, reason = "each test program uses a part")]
#![allow(unused_imports, reason = "each test program uses a part")]

pub mod client;
pub mod components;
pub mod desk;
pub mod distant;
pub mod http;
mod numbers;
mod program;
pub mod registry;
pub mod sandboxed;
pub mod scenarios;

pub use numbers::near;
pub use program::{copy_all, fixture, host, plugin, plugins, run, shipped};
