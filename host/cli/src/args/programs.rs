//! Arguments of the commands that run model-written programs.

use std::path::PathBuf;

use clap::Args;

use troupe_core::program::RunLimits;
use troupe_grading::{Extraction, Rule};

/// What one run of a program may use.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits of one run")]
pub struct LimitArgs {
    /// Deterministic work, in WebAssembly instructions, roughly.
    #[arg(long, value_name = "N", default_value_t = RunLimits::default().fuel)]
    pub fuel: u64,
    /// Guard behind the fuel, in milliseconds of processor time.
    #[arg(long, value_name = "N", default_value_t = RunLimits::default().timeout_ms)]
    pub timeout_ms: u64,
    /// Memory, the interpreter's own included.
    #[arg(long, value_name = "N", default_value_t = RunLimits::default().memory_mib)]
    pub memory_mib: u64,
    /// Standard output and standard error together.
    #[arg(long, value_name = "N", default_value_t = RunLimits::default().output_bytes >> 10)]
    pub output_kib: u64,
}

impl LimitArgs {
    /// The limits.
    pub fn limits(&self) -> RunLimits {
        RunLimits {
            fuel: self.fuel,
            timeout_ms: self.timeout_ms,
            memory_mib: self.memory_mib,
            output_bytes: self.output_kib.saturating_mul(1 << 10),
        }
    }
}

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

/// `host grade`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host grade --problems problems.jsonl --programs samples.jsonl --out verdicts.jsonl
  host grade --problems apps.jsonl --programs samples.jsonl --k 1,5,10 --out verdicts.jsonl
  host grade --problems p.jsonl --programs s.jsonl --compare tokens --fuel 20000000000 --jobs 4 --out v.jsonl

The same command run again goes on where it was stopped, and tries again what was
void. The layouts of the files, the rules and the verdict lines: docs/grading.md.")]
pub struct GradeArgs {
    /// Problems, one record a line: our own layout, APPS, CodeContests or LiveCodeBench.
    #[arg(long, value_name = "FILE")]
    pub problems: PathBuf,
    /// Programs or completions, one record a line.
    #[arg(long, value_name = "FILE")]
    pub programs: PathBuf,
    /// File to write the verdicts into, one a line.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// The language of the programs.
    #[arg(long, default_value = "python")]
    pub language: String,
    /// A component that runs the language; by default the one of its name in target/plugins.
    #[arg(long, value_name = "FILE")]
    pub interpreter: Option<PathBuf>,
    /// When an output is right, for all problems; by default what each problem or its layout says.
    #[arg(long, value_name = "RULE")]
    pub compare: Option<Rule>,
    /// Where the program is in a completion; by default in the last block of the language.
    #[arg(long, value_name = "RULE")]
    pub extract: Option<Extraction>,
    /// Run all tests of a program, also after one that failed.
    #[arg(long)]
    pub all_tests: bool,
    /// Programs graded at a time; 0 means one per core.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,
    /// The k of pass@k; by default 1, 2, 4 and so on, as far as there are samples.
    #[arg(long, value_name = "K", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub k: Vec<u32>,
    /// Throw away the verdicts that are in the file.
    #[arg(long)]
    pub fresh: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
    /// Do not show progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// What one run may use.
    #[command(flatten)]
    pub limits: LimitArgs,
}

impl GradeArgs {
    /// Where the program is in a completion.
    pub fn extraction(&self) -> Extraction {
        let last = || Extraction::LastFence { language: self.language.clone() };
        self.extract.clone().unwrap_or_else(last)
    }
}
