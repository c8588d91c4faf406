//! `[sandbox]`: who may run model-written programs, and what a run may use.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::program::RunLimits;

/// How model-written programs are run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxConfig {
    /// Plugins that may run programs: names of their files, without `.wasm`.
    pub grant: Vec<String>,
    /// Interpreters' components, or bare names looked up in the plugin path. A
    /// language that is not among them is looked up under its own name.
    pub interpreters: Vec<PathBuf>,
    /// Worker processes, and so runs at a time; 0 means one per core.
    pub jobs: usize,
    /// What one run may use at most, whatever a plugin asks for.
    pub limits: RunLimits,
}
