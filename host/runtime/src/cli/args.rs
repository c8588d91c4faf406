//! The command line, as clap sees it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::DeviceChoice;
use crate::grading::{Extraction, Rule};
use crate::plugin::Split;
use crate::program::RunLimits;

const AFTER_HELP: &str = "\
Examples:
  host train --plugins sudoku.wasm
  host train configs/plan-path/quickstart.toml --set roles=per-role
  host train --resume runs/plan-path-planner-executor
  host play --plugins plan-path --oracle
  host run solution.py < input.txt
  host grade --problems problems.jsonl --programs samples.jsonl --out verdicts.jsonl

Exit codes: 0 success, 1 internal fault, 2 usage or configuration, 3 plugin,
4 policy, 5 run folder or checkpoint, 6 the run was stopped, 7 a check found faults";

/// Train teams of LLM agents with on-policy reinforcement learning.
#[derive(Debug, Parser)]
#[command(name = "host", version, after_help = AFTER_HELP)]
pub struct Cli {
    /// Where tensors live: cpu, cuda or cuda:<index>; by default a GPU if there is one.
    #[arg(long, global = true, env = "TROUPE_DEVICE", value_name = "DEVICE")]
    pub device: Option<DeviceChoice>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train a team: warm start, then AT-GRPO.
    Train(TrainArgs),
    /// Measure a policy on held-out tasks.
    Eval(EvalArgs),
    /// Warm-start a policy on the environment's demonstrations or on recorded episodes.
    Imitate(ImitateArgs),
    /// Make or look at policies.
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Look at, check or measure plugins.
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Show one episode in the terminal.
    Play(PlayArgs),
    /// Run one program in the sandbox.
    Run(RunArgs),
    /// Grade programs against the tests of their problems.
    Grade(GradeArgs),
    /// Run and grade programs for other processes, over HTTP.
    Serve(ServeArgs),
    /// Run programs for another process, through its pipes.
    #[command(name = crate::sandbox::WORKER_COMMAND, hide = true)]
    SandboxWorker,
}

/// Where a configuration comes from.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// A TOML file; without one, the defaults.
    pub config: Option<PathBuf>,
    /// Components: files, or bare names looked up in target/plugins.
    #[arg(long, value_delimiter = ',', value_name = "FILE")]
    pub plugins: Vec<PathBuf>,
    /// Let these plugins run model-written programs in the sandbox.
    #[arg(long, value_delimiter = ',', value_name = "PLUGIN")]
    pub grant_sandbox: Vec<String>,
    /// Override a setting, such as train.steps=50.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// `host train`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host train --plugins sudoku.wasm
  host train configs/plan-path/quickstart.toml --set run.seed=7 --set train.steps=50
  host train --plugins plan-path --set roles=per-role --print-config
  host train --resume runs/plan-path-planner-executor")]
pub struct TrainArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Go on with a run that was stopped.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["config", "plugins", "grant_sandbox", "set"])]
    pub resume: Option<PathBuf>,
    /// Resume although the run was begun with other settings, plugins, policies
    /// or another device; they are its own from then on.
    #[arg(long, requires = "resume")]
    pub accept_changes: bool,
    /// Print the resolved configuration and stop.
    #[arg(long)]
    pub print_config: bool,
    /// Rescore every sampled token with the training graph and print the
    /// largest difference of log-probabilities.
    #[arg(long)]
    pub verify_logprobs: bool,
}

/// `host eval`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host eval --run runs/plan-path-planner-executor
  host eval --run runs/plan-path-planner-executor --split test --tasks 2000 --sampled
  host eval --run runs/plan-path-planner-executor --step best
  host eval --run runs/plan-path-planner-executor --split train --tasks 500 --record teacher.jsonl
  host eval configs/plan-path/quickstart.toml --set policies.shared.path=policies/mine")]
pub struct EvalArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Take the configuration and the policies from this run.
    #[arg(long, value_name = "RUN", conflicts_with = "config")]
    pub run: Option<PathBuf>,
    /// Which checkpoint of the run: last, best, or the number of a step. A policy
    /// whose path is given with --set is taken from there.
    #[arg(long, value_name = "STEP", default_value = "last", requires = "run")]
    pub step: CheckpointName,
    /// The tasks to measure on.
    #[arg(long, value_enum, default_value = "validation")]
    pub split: SplitName,
    /// How many tasks; by default validation.tasks.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub tasks: Option<u32>,
    /// Sample at rollout.temperature instead of taking the likeliest token.
    #[arg(long)]
    pub sampled: bool,
    /// Write the episodes into this file, one a line, for `host imitate --from`.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// A checkpoint of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointName {
    /// The latest.
    Last,
    /// The one that solved most during training.
    Best,
    /// The one after this many steps.
    Step(usize),
}

impl FromStr for CheckpointName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "last" => Ok(CheckpointName::Last),
            "best" => Ok(CheckpointName::Best),
            step => step
                .parse()
                .map(CheckpointName::Step)
                .map_err(|_| "it is neither `last` nor `best` nor the number of a step".to_owned()),
        }
    }
}

/// A part of an environment's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SplitName {
    /// What is trained on.
    Train,
    /// What is watched during training.
    Validation,
    /// What nobody has looked at.
    Test,
}

impl From<SplitName> for Split {
    fn from(name: SplitName) -> Self {
        match name {
            SplitName::Train => Split::Train,
            SplitName::Validation => Split::Validation,
            SplitName::Test => Split::Test,
        }
    }
}

/// `host imitate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host imitate --plugins plan-path --out policies/warm
  host imitate --plugins sudoku --set imitation.success=0.8 --set imitation.ceiling=1.01 --out policies/good
  host imitate --plugins plan-path --from teacher.jsonl --from runs/plan-path-planner-executor --out policies/pupil")]
pub struct ImitateArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Imitate the solved training episodes recorded in these runs or files
    /// instead of the environment's expert.
    #[arg(long, value_name = "RUN|FILE")]
    pub from: Vec<PathBuf>,
    /// Folder to write the policies into, one folder each.
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Replace policies that are there already.
    #[arg(long)]
    pub force: bool,
}

/// `host policy`.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Make a small random policy whose words are the plugins' words.
    #[command(
        after_help = "Example:\n  host policy new --preset tiny --plugins sudoku --out policies/new"
    )]
    New(PolicyNewArgs),
    /// Say what a checkpoint holds.
    #[command(
        after_help = "Example:\n  host policy inspect runs/plan-path-planner-executor/checkpoints/step-000200/policies/shared"
    )]
    Inspect {
        /// A folder in the Hugging Face layout.
        folder: PathBuf,
    },
    /// Print how likely a checkpoint thinks each token of a text is, as JSON.
    #[command(after_help = "\
Examples:
  host policy score models/Qwen3-0.6B --text 'The capital of France is Paris'
  host policy score models/Qwen3-0.6B --adapter adapters/planner --tokens 785,6722,315")]
    Score(PolicyScoreArgs),
    /// Write a checkpoint again: with an adapter merged in, or in another type.
    #[command(after_help = "\
Examples:
  host policy export models/Qwen3-0.6B --adapter adapters/planner --out merged
  host policy export models/Qwen3-0.6B --dtype float32 --out models/float")]
    Export(PolicyExportArgs),
}

/// Which policy.
#[derive(Debug, Args)]
pub struct CheckpointArgs {
    /// A folder in the Hugging Face layout.
    pub folder: PathBuf,
    /// An adapter over it, in the layout of `peft`.
    #[arg(long, value_name = "FOLDER")]
    pub adapter: Option<PathBuf>,
    /// Type of the weights; by default the checkpoint's.
    #[arg(long, value_enum)]
    pub dtype: Option<DtypeName>,
}

/// `host policy score`.
#[derive(Debug, Args)]
pub struct PolicyScoreArgs {
    /// The policy.
    #[command(flatten)]
    pub checkpoint: CheckpointArgs,
    /// Token ids.
    #[arg(long, value_delimiter = ',', required_unless_present = "text")]
    pub tokens: Vec<u32>,
    /// A text, taken as it stands.
    #[arg(long, conflicts_with = "tokens")]
    pub text: Option<String>,
}

/// `host policy export`.
#[derive(Debug, Args)]
pub struct PolicyExportArgs {
    /// The policy.
    #[command(flatten)]
    pub checkpoint: CheckpointArgs,
    /// Folder to write.
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Replace a policy that is there already.
    #[arg(long)]
    pub force: bool,
}

/// A type of weights.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum DtypeName {
    /// 32 bits.
    Float32,
    /// 16 bits with the range of 32.
    Bfloat16,
}

/// `host policy new`.
#[derive(Debug, Args)]
pub struct PolicyNewArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// The shape; policies.shared.* override its sizes.
    #[arg(long, value_enum, default_value = "tiny")]
    pub preset: PresetName,
    /// Folder to write.
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Replace a policy that is there already.
    #[arg(long)]
    pub force: bool,
}

/// A shape of a small policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PresetName {
    /// Two layers of width 64: learns a word-level game on a CPU in minutes.
    Tiny,
}

/// `host plugin`.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// List the components in the plugin path.
    List,
    /// Say what a component offers: roles, actions, settings, imports.
    Inspect {
        /// Which one.
        #[command(flatten)]
        subject: PluginSubject,
    },
    /// Test a component against the contract.
    #[command(after_help = "\
Examples:
  host plugin check sudoku
  host plugin check plan-path --tasks 5 --set environment.walls=0
  host plugin check my.wasm --set plugins.limits.memory_mib=256
  host plugin check my.wasm --strict --json > report.json

Exit code 7 if a check fails.")]
    Check {
        /// Which one.
        #[command(flatten)]
        subject: PluginSubject,
        /// Tasks to try of each split; three times as many sessions.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        tasks: u32,
        /// A check that had to be skipped counts as failed.
        #[arg(long)]
        strict: bool,
        /// Print the findings as one JSON object.
        #[arg(long)]
        json: bool,
        /// Override a setting, such as environment.walls=0.
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
    /// Measure instances, calls and forks per second.
    Bench {
        /// Which one.
        #[command(flatten)]
        subject: PluginSubject,
    },
}

/// A component to look at.
#[derive(Debug, Args)]
pub struct PluginSubject {
    /// A file, or a bare name.
    pub plugin: PathBuf,
    /// Let it run model-written programs in the sandbox.
    #[arg(long)]
    pub grant_sandbox: bool,
}

/// `host play`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host play --plugins sudoku --oracle
  host play --plugins plan-path --workflow solo --human
  host play --run runs/plan-path-planner-executor --task 3")]
pub struct PlayArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Play with the policies of this run.
    #[arg(long, value_name = "RUN", conflicts_with = "config")]
    pub run: Option<PathBuf>,
    /// Let the environment's expert play.
    #[arg(long, conflicts_with_all = ["run", "human"])]
    pub oracle: bool,
    /// Type the answers yourself.
    #[arg(long, conflicts_with = "run")]
    pub human: bool,
    /// Use this workflow instead of the environment's first choice.
    #[arg(long)]
    pub workflow: Option<String>,
    /// The part of the tasks.
    #[arg(long, value_enum, default_value = "validation")]
    pub split: SplitName,
    /// Which task of the split.
    #[arg(long, default_value_t = 0)]
    pub task: u32,
}

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

/// `host serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host serve --grader
  host serve --grader --listen 127.0.0.1:0 --jobs 8 --queue 1024
  curl http://127.0.0.1:8080/run_code -d '{\"language\": \"python\", \"code\": \"print(1)\"}'

One line on standard output says where it listens. SIGTERM or ctrl-c ends it
after the programs that run; a second one at once. The limits of one run are
the most that a request can ask for.")]
pub struct ServeArgs {
    /// Serve POST /run_code (with SandboxFusion's fields), POST /grade and GET /health.
    #[arg(long)]
    pub grader: bool,
    /// Where to listen; port 0 is any that is free.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Let other machines reach it; whoever reaches it can run programs.
    #[arg(long)]
    pub public: bool,
    /// Programs that run at a time; 0 means one per core.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,
    /// Requests that may wait besides; further ones are answered 429.
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub queue: usize,
    /// The largest body of a request.
    #[arg(long, value_name = "N", default_value = "64", value_parser = at_most_a_tib)]
    pub max_body_mib: usize,
    /// How long a client may take to send the head of a request, and again its body.
    #[arg(long, value_name = "N", default_value_t = 30_000)]
    pub receive_timeout_ms: u64,
    /// What a run may use.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// A number of MiB that as bytes still fits.
fn at_most_a_tib(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(mib) if mib <= 1 << 20 => Ok(mib),
        _ => Err(format!("`{text}` is no number of MiB up to {}", 1 << 20)),
    }
}
