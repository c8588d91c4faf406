//! For authors of plugins: the sources of a plugin outside of this repository,
//! and what builds, checks and measures them.

pub mod project;
