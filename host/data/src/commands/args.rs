//! Arguments of `host data`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::{DataSet, SplitChoice};
use plugin_sdk::types::Split;

/// `host data`.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Write a published data set's files as records.
    Import(ImportArgs),
    /// Show one record.
    #[command(after_help = "\
Examples:
  host data show gsm8k-records.jsonl
  host data show gsm8k-records.jsonl gsm8k/test/17
  host data show humaneval-records.jsonl 3 --whole")]
    Show {
        /// A file of records.
        file: PathBuf,
        /// Its id, or its number from 1.
        #[arg(default_value = "1", value_name = "N|ID")]
        record: String,
        /// Show values of any length to their end.
        #[arg(long)]
        whole: bool,
    },
    /// Draw records at random; they are printed as they are.
    #[command(after_help = "\
Examples:
  host data sample apps-records.jsonl -n 100 > some.jsonl
  host data sample apps-records.jsonl -n 1 --seed 7")]
    Sample {
        /// A file of records.
        file: PathBuf,
        /// How many; at most as many as there are.
        #[arg(short = 'n', long, value_name = "K", default_value_t = 5)]
        count: usize,
        /// The same seed draws the same records.
        #[arg(long, default_value_t = 0)]
        seed: u64,
    },
    /// Count what a file of records holds.
    #[command(after_help = "\
Examples:
  host data stats math-records.jsonl
  host data stats math-records.jsonl --json")]
    Stats {
        /// A file of records.
        file: PathBuf,
        /// Print it as one JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// `host data import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host data import gsm8k gsm8k/train.jsonl gsm8k/test.jsonl
  host data import humaneval HumanEval.jsonl.gz --out humaneval-records.jsonl
  host data import code-contests data/*.parquet --max-record-mib 16
  host data import math MATH/ --split by-digest

Nothing is fetched: bring the files. JSON lines, JSON lists and Parquet are read, also
compressed with gzip or zstd; of a folder, all such files. Rows that are no record are
dropped and counted; FILE.report.json says why. The sets and their records: docs/data.md.

Exit code 2 if a file is not there or no row is a record, 5 if the records cannot be written.")]
pub struct ImportArgs {
    /// aime, amc, gsm8k, math, math-500, olympiadbench, minerva, polaris, dapo-math, apps,
    /// code-contests, livecodebench, humaneval, mbpp or boxoban.
    pub set: DataSet,
    /// Its files, or folders that hold them.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// File to write the records into, one a line [default: SET-records.jsonl].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// What decides the split of a record; by default the set's own rule, a row's field
    /// `split` or the names of file and folder, and a digest of the problem where none does.
    #[arg(long, value_enum, value_name = "SPLIT")]
    pub split: Option<SplitRule>,
    /// The most that one row may take, packed and unpacked; a run reads records of up to 16.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_record_mib: u32,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
    /// Do not show progress.
    #[arg(long, short)]
    pub quiet: bool,
}

/// What `--split` may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SplitRule {
    /// All to training.
    Train,
    /// All to validation.
    Validation,
    /// All to the test.
    Test,
    /// Eight in ten to training, one each to validation and test, by a digest of the problem.
    ByDigest,
}

impl From<SplitRule> for SplitChoice {
    fn from(rule: SplitRule) -> Self {
        match rule {
            SplitRule::Train => SplitChoice::All(Split::Train),
            SplitRule::Validation => SplitChoice::All(Split::Validation),
            SplitRule::Test => SplitChoice::All(Split::Test),
            SplitRule::ByDigest => SplitChoice::ByDigest,
        }
    }
}
