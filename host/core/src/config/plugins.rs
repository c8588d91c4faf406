//! `[plugins]`: which plugins are used and what they may use up.

use std::path::PathBuf;

use super::table::table;

table! {
    /// Which plugins a run is made of.
    pub struct PluginsConfig {
        /// Name of the environment; may be left out when the files offer just one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub environment: Option<String> = None;
        /// Name of the workflow; by default the environment's first choice.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub workflow: Option<String> = None;
        /// Component files, bare names looked up in the plugin path, or references to registries
        /// (`oci://registry/name:1.2.0`).
        pub files: Vec<PathBuf> = Vec::new();
        /// Further folders to look bare names up in, before `target/plugins`.
        pub path: Vec<PathBuf> = Vec::new();
        /// What one call into a plugin may use.
        pub limits: Limits = Limits::default();
    }
}

table! {
    /// What one call into a plugin may use. A call that meets a limit makes its
    /// episode void; the run goes on.
    pub struct Limits {
        /// Deterministic work per call, in wasm instructions, roughly.
        pub fuel: u64 = 1_000_000_000, 1..=1_000_000_000_000_000;
        /// Wall-clock guard per call, in milliseconds, for a machine under load.
        pub timeout_ms: u64 = 10_000, 1..=86_400_000;
        /// Linear memory of one instance, in MiB.
        pub memory_mib: usize = 64, 1..=4096;
        /// Length of one string or blob a plugin returns, in KiB.
        pub text_kib: usize = 1024, 1..=65_536;
        /// Actions that may follow one answer before it must be somebody's turn.
        pub actions_per_answer: usize = 64, 1..=65_536;
    }
}

impl Limits {
    /// Bytes of text that the host may answer with at once. In JSON they may
    /// take several times as many.
    pub fn longest_answer(&self) -> usize {
        self.text_kib.saturating_mul(1 << 10) / 4
    }
}
