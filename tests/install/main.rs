//! What pip installs: the wheel that `cargo xtask wheel` writes of the programs at hand, in virtual
//! environments of its own, beside the libtorch of the set-up.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod venv;

mod image;
mod notebook;
mod python;
mod wheel;
