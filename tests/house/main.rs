//! The shape of the house.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod layering;
