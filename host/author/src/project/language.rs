//! What a plugin is written in, and what it is.

use serde::{Deserialize, Serialize};

/// A language that plugins are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Rust, with the SDK's own conformance suite.
    Rust,
    /// Python, with CPython in the component.
    Python,
    /// JavaScript with types for TypeScript, run by QuickJS.
    #[value(name = "javascript")]
    JavaScript,
    /// C, compiled by Zig's compiler.
    C,
}

impl Language {
    /// Its name in `plugin.toml` and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::Python => "python",
            Language::JavaScript => "javascript",
            Language::C => "c",
        }
    }
}

/// What a plugin brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Rules and rewards.
    Environment,
    /// The order in which roles speak, and what they are told.
    Workflow,
}

impl Kind {
    /// Its name in `plugin.toml` and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Environment => "environment",
            Kind::Workflow => "workflow",
        }
    }
}
