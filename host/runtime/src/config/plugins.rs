//! `[plugins]`: which plugins are used and what they may use up.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Which plugins a run is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct PluginsConfig {
    /// Name of the environment; may be left out when the files offer just one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Name of the workflow; by default the environment's first choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// Component files, or bare names looked up in the plugin path.
    pub files: Vec<PathBuf>,
    /// Further folders to look bare names up in, before `target/plugins`.
    pub path: Vec<PathBuf>,
    /// What one call into a plugin may use.
    pub limits: Limits,
}

/// What one call into a plugin may use. A call that meets a limit makes its
/// episode void; the run goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Deterministic work per call, in wasm instructions, roughly.
    pub fuel: u64,
    /// Wall-clock guard per call, in milliseconds, for a machine under load.
    pub timeout_ms: u64,
    /// Linear memory of one instance, in MiB.
    pub memory_mib: usize,
    /// Length of one string or blob a plugin returns, in KiB.
    pub text_kib: usize,
    /// Actions that may follow one answer before it must be somebody's turn.
    pub actions_per_answer: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            fuel: 1_000_000_000,
            timeout_ms: 10_000,
            memory_mib: 64,
            text_kib: 1024,
            actions_per_answer: 64,
        }
    }
}
