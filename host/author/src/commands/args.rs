//! Arguments of `host plugin`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::project::{Kind, Language};
use troupe_core::oci::OciReference;
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
    /// Send a component to an OCI registry, under the name and version that it says it has.
    #[command(after_help = "\
Examples:
  host plugin push sudoku oci://127.0.0.1:5000/sudoku:1.2.0
  host plugin push my-game.wasm oci://registry.example/games/my-game:0.1.0 --license MIT

Credentials are docker's. Without TLS only registries on this machine are spoken to.")]
    Push {
        /// A file, or a bare name.
        plugin: PathBuf,
        /// Where to.
        #[arg(value_name = "REFERENCE")]
        to: OciReference,
        /// Its licence: an SPDX expression.
        #[arg(long, value_name = "SPDX")]
        license: Option<String>,
        /// Where its sources are.
        #[arg(long, value_name = "URL")]
        source: Option<String>,
    },
    /// Bring a component from an OCI registry, say what is about to be trusted, check it, and write
    /// into `host.lock` which one it is.
    #[command(after_help = "\
Examples:
  host plugin pull oci://127.0.0.1:5000/sudoku:1.2.0
  host plugin pull oci://127.0.0.1:5000/sudoku:1.2 --config mine.toml --update

`host train` and its like pull what their configuration names and is not here.")]
    Pull {
        /// Which one.
        #[arg(value_name = "REFERENCE")]
        from: OciReference,
        /// The configuration that uses it; `host.lock` lies beside it.
        #[arg(long, value_name = "CONFIG")]
        config: Vec<PathBuf>,
        /// Take what has its tag now, though it was another component before.
        #[arg(long)]
        update: bool,
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
    /// A file, a bare name, or a reference to a registry.
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
