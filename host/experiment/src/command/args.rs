//! Arguments of the commands that set runs beside each other.

use std::path::PathBuf;

use clap::Args;

use troupe_terminal::DeviceArg;

/// `host experiment`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host experiment configs/experiments/stronger-together.toml
  host experiment configs/experiments/stronger-together.toml --jobs 4
  host experiment configs/experiments/stronger-together.toml --set seeds=[1,2] --only at-shared

A second call does what is missing: runs that were killed or stopped go on, and nothing is made
twice. How to write such a file is in docs/experiment-files.md.")]
pub struct ExperimentArgs {
    /// The experiment: a TOML file.
    pub file: PathBuf,
    /// Runs at a time; by default as many as there are processors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder to fill; by default experiments/ and the file's name.
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Folder of finished cells, such as one beside the sources: those in it are not made again,
    /// and what is finished is kept there, a small file for each row and seed.
    #[arg(long, value_name = "FOLDER")]
    pub cells: Option<PathBuf>,
    /// Override a key of the file, such as exam.tasks=64 or seeds=[1,2].
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Only these rows, and the claims about them, corrected as in the whole table.
    #[arg(long, value_delimiter = ',', value_name = "ROW")]
    pub only: Vec<String>,
    /// Draw the table of what is there, and start nothing.
    #[arg(long)]
    pub table: bool,
    /// The device.
    #[command(flatten)]
    pub device: DeviceArg,
}
