//! The command line, as clap sees it: what all commands share, and which there are.

mod advantage;
mod answers;
mod data;
mod eval;
mod experiment;
mod grant;
mod page;
mod plugin;
mod policy;
mod programs;
mod serve;
mod train;

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Args, Parser, Subcommand};

pub use advantage::AdvantageArgs;
pub use answers::CheckAnswerArgs;
pub use data::{DataCommand, ImportArgs, SplitRule};
pub use eval::{CheckpointName, EvalArgs, PlayArgs, SplitName};
pub use experiment::{CompareArgs, ExperimentArgs};
pub use grant::GrantArg;
pub use page::{ReportArgs, WatchArgs};
pub use plugin::{PluginCommand, PluginSubject};
pub use policy::{
    CheckpointArgs, DtypeName, PolicyArgs, PolicyAskArgs, PolicyCommand, PolicyExportArgs,
    PolicyImportArgs, PolicyNewArgs, PolicyScoreArgs, PresetName, PromptArgs,
};
pub use programs::{GradeArgs, LimitArgs, RunArgs};
pub use serve::{GraderArgs, ServeArgs, SessionArgs};
pub use train::{ImitateArgs, TrainArgs};

use troupe_core::config::{Config, DeviceChoice, Grantee};
use troupe_core::provenance::Build;

const AFTER_HELP: &str = "\
Examples:
  host train --plugins sudoku.wasm
  host train configs/plan-path/quickstart.toml --set roles=per-role
  host train --resume runs/plan-path-planner-executor
  host report runs/plan-path-planner-executor
  host play --plugins plan-path --oracle
  host run solution.py < input.txt
  host data import gsm8k train.jsonl test.jsonl --out gsm8k-records.jsonl
  host experiment configs/experiments/rows.toml --jobs 2
  host compare runs/plan-path-planner-executor
  host grade --problems problems.jsonl --programs samples.jsonl --out verdicts.jsonl
  host check-answer '\\frac{3}{4}' 0.75

Exit codes: 0 success, 1 internal fault, 2 usage or configuration, 3 plugin,
4 policy, 5 run folder or checkpoint, 6 the run was stopped, 7 a check found faults,
8 a process of several, or a server that draws answers, is lost";

/// The version with the commit that this program was built from.
static VERSION: LazyLock<String> = LazyLock::new(|| Build::this().to_string());

/// Train teams of LLM agents with on-policy reinforcement learning.
#[derive(Debug, Parser)]
#[command(name = "host", version = VERSION.as_str(), after_help = AFTER_HELP)]
pub struct Cli {
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
    /// Fill a table: train and measure many rows with several seeds, and compare them.
    Experiment(ExperimentArgs),
    /// See which tasks were gained and which were lost between two states of a policy.
    Compare(CompareArgs),
    /// See what other estimators make of a run's answers.
    Advantage(AdvantageArgs),
    /// Make or look at policies.
    Policy(PolicyArgs),
    /// Look at, check or measure plugins.
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Import published data sets as records, and look at records.
    #[command(subcommand)]
    Data(DataCommand),
    /// Show one episode in the terminal.
    Play(PlayArgs),
    /// Write runs as one page: curves, episodes, and the answers that were compared.
    Report(ReportArgs),
    /// Look at a run in the terminal, while it goes on or later.
    Watch(WatchArgs),
    /// Run one program in the sandbox.
    Run(RunArgs),
    /// Grade programs against the tests of their problems.
    Grade(GradeArgs),
    /// Say whether a mathematical answer is the one that was asked for.
    CheckAnswer(CheckAnswerArgs),
    /// Serve the grader, or an environment, to other processes.
    Serve(Box<ServeArgs>),
    /// Run programs for another process, through its pipes.
    #[command(name = troupe_sandbox::WORKER_COMMAND, hide = true)]
    SandboxWorker,
}

impl Command {
    /// What is chosen for tensors, by a command that has some.
    pub fn device(&self) -> Option<DeviceChoice> {
        match self {
            Command::Train(args) => args.device.device,
            Command::Eval(args) => args.device.device,
            Command::Imitate(args) => args.device.device,
            Command::Experiment(args) => args.device.device,
            Command::Advantage(args) => args.device.device,
            Command::Policy(args) => args.device,
            Command::Play(args) => args.device.device,
            Command::Serve(args) => args.models.device.device,
            _ => None,
        }
    }
}

/// Of every command that works with policies.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct DeviceArg {
    /// Where tensors live: cpu, cuda or cuda:<index>; by default a GPU if there is one.
    #[arg(long, env = "TROUPE_DEVICE", value_name = "DEVICE")]
    pub device: Option<DeviceChoice>,
}

/// Where a configuration comes from.
#[derive(Debug, Default, Args)]
pub struct ConfigArgs {
    /// TOML files, each over those before it; without one, the defaults.
    pub config: Vec<PathBuf>,
    /// Components: files, or bare names looked up in target/plugins.
    #[arg(long, value_delimiter = ',', value_name = "FILE")]
    pub plugins: Vec<PathBuf>,
    /// Grant a plugin what it asks for: to run model-written programs
    /// (`sandbox`), to search the corpus of retrieval.corpus (`search`).
    #[arg(long, value_name = "PLUGIN=RIGHT,…")]
    pub grant: Vec<GrantArg>,
    /// Let these plugins run model-written programs in the sandbox.
    #[arg(long, value_delimiter = ',', value_name = "PLUGIN")]
    pub grant_sandbox: Vec<Grantee>,
    /// Let these plugins search the corpus (retrieval.corpus).
    #[arg(long, value_delimiter = ',', value_name = "PLUGIN")]
    pub grant_retrieval: Vec<Grantee>,
    /// Override a setting, such as train.steps=50.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

impl ConfigArgs {
    /// Grant what the flags grant.
    pub fn grant(&self, config: &mut Config) {
        self.grant.iter().for_each(|grant| grant.apply(config));
        Grantee::extend(&mut config.sandbox.grant, &self.grant_sandbox);
        Grantee::extend(&mut config.retrieval.grant, &self.grant_retrieval);
    }
}
