//! Components in OCI registries, as the CNCF's guidance for Wasm artifacts has them and as `wkg`
//! writes and reads them: one layer `application/wasm`, and a configuration that says what it
//! imports and exports.
//!
//! The protocol is `oci-client`'s. Its sister `oci-wasm` would write the configuration; it reads
//! interfaces by libraries of other versions than ours, so the few fields are written here.

mod artifact;
mod error;
mod registry;

use troupe_core::error::{Asked, ask};

pub use artifact::Artifact;
pub use error::RegistryError;
pub use registry::Registry;

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[ask::<RegistryError>];
