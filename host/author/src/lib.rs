//! For authors of plugins: the sources of a plugin outside of this repository,
//! and what builds, checks and measures them.

pub mod commands;

pub mod index;
pub mod project;

mod markup;
mod said;
mod sheet;

use crate::index::IndexError;
use crate::project::ProjectError;
use troupe_core::error::{Asked, ask};

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[ask::<IndexError>, ask::<ProjectError>];
