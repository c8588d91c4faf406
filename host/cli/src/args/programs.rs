//! Arguments of the commands that run model-written programs.

use std::path::PathBuf;

use clap::Args;

use troupe_terminal::LimitArgs;

/// `host run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host run solution.py < input.txt
  host run --language javascript --fuel 1000000000 solution -- first second

The exit code is the program's. A run that was stopped ends with 124 (fuel or
time), 137 (memory), 141 (too much output) or 134 (the interpreter crashed).")]
pub struct RunArgs {
    /// The program.
    pub program: PathBuf,
    /// What follows the program's name on its command line.
    pub arguments: Vec<String>,
    /// Its language; by default what its file's ending says.
    #[arg(long)]
    pub language: Option<String>,
    /// What the run may use.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Print the outcome as JSON to standard error.
    #[arg(long)]
    pub json: bool,
    /// Do not print the outcome.
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
}
