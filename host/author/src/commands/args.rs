//! Arguments of `host plugin`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::project::{Kind, Language};
use troupe_terminal::GrantArg;

/// `host plugin`.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Write the sources of a new plugin, which build as they are.
    #[command(after_help = "\
Examples:
  host plugin new my-game
  host plugin new my-team --kind workflow")]
    New {
        /// Its name, in kebab-case; a folder of this name is made.
        name: String,
        /// What it is written in.
        #[arg(long, value_enum, default_value = "rust")]
        lang: Language,
        /// What it brings.
        #[arg(long, value_enum, default_value = "environment")]
        kind: Kind,
    },
    /// Build a plugin's sources to a component beside them.
    Build {
        /// The folder with `plugin.toml`.
        #[arg(default_value = ".")]
        folder: PathBuf,
    },
    /// Build, check and play one episode, again whenever a source file changes.
    Dev {
        /// The folder with `plugin.toml`.
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// Do it once; exit code 7 if a step fails.
        #[arg(long)]
        once: bool,
    },
    /// List the components in the plugin path.
    List,
    /// Say what a component offers: roles, actions, settings, imports.
    #[command(after_help = "\
Examples:
  host plugin inspect sudoku
  host plugin inspect aggregate --set workflow.reasoners=5")]
    Inspect {
        /// A file, or a bare name.
        plugin: PathBuf,
        /// Override a setting, such as workflow.rounds=3.
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
    /// Test a component against the contract.
    #[command(after_help = "\
Examples:
  host plugin check sudoku
  host plugin check plan-path --tasks 5 --set environment.walls=0
  host plugin check my.wasm --set plugins.limits.memory_mib=256
  host plugin check my.wasm --strict --minutes 2
  host plugin check my.wasm --strict --json > report.json

Exit code 7 if a check fails.")]
    Check {
        /// Which one.
        #[command(flatten)]
        subject: PluginSubject,
        /// Tasks to try of each split; three times as many sessions.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        tasks: u32,
        /// Go on with other tasks and settings for so long, unless something is found.
        #[arg(long, value_parser = minutes)]
        minutes: Option<f64>,
        /// A check that had to be skipped counts as failed.
        #[arg(long)]
        strict: bool,
        /// Print the findings as one JSON object.
        #[arg(long)]
        json: bool,
        /// Play an episode again: the reproducer of a finding, as JSON.
        #[arg(long, value_name = "JSON")]
        replay: Option<String>,
        /// Override a setting, such as environment.walls=0.
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
    /// Measure calls and forks: time, fuel, memory and sizes.
    #[command(after_help = "\
Examples:
  host plugin bench sokoban
  host plugin bench sokoban --set environment.size=10 --set plugins.limits.memory_mib=128")]
    Bench {
        /// Which one.
        #[command(flatten)]
        subject: PluginSubject,
        /// Override a setting, such as environment.size=10.
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
}

/// A component to look at.
#[derive(Debug, Args)]
pub struct PluginSubject {
    /// A file, or a bare name.
    pub plugin: PathBuf,
    /// Grant it what it asks for; the corpus is retrieval.corpus.
    #[arg(long, value_name = "PLUGIN=RIGHT,…")]
    pub grant: Vec<GrantArg>,
    /// Let it run model-written programs in the sandbox.
    #[arg(long)]
    pub grant_sandbox: bool,
    /// Let it search a corpus of these files.
    #[arg(long, value_delimiter = ',', value_name = "FILE")]
    pub grant_retrieval: Vec<PathBuf>,
}

/// Minutes of a look, up to a day.
fn minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse::<f64>().ok().filter(|minutes| (0.0..=1440.0).contains(minutes));
    minutes.ok_or_else(|| "must be a number from 0 to 1440".to_owned())
}
