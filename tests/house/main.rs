//! The shape of the house.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod examples;
mod layering;

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
