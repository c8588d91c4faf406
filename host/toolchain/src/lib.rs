//! What turns a plugin's sources into a component, for `cargo xtask plugins`
//! and `host plugin build`.

mod cache;
mod component;
mod rust;
mod world;

pub use cache::cache_folder;
pub use component::{NotAModule, component_of, component_of_world};
pub use rust::{NoToolchain, TARGET, Toolchain};
pub use world::{system_calls, world_of};
