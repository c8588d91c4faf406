//! The command line, as clap sees it: what all commands share, and which there are.

mod advantage;
mod blame;
mod eval;
mod policy;
mod programs;
mod replay;
mod serve;
mod train;
mod verify;

use std::sync::LazyLock;

use clap::{Parser, Subcommand};

pub use advantage::AdvantageArgs;
pub use blame::{BlameArgs, MeasureName};
pub use eval::{CheckpointName, EvalArgs, PlayArgs, SplitName};
pub use policy::{
    CheckpointArgs, DtypeName, PolicyArgs, PolicyAskArgs, PolicyCardArgs, PolicyCommand,
    PolicyExportArgs, PolicyImportArgs, PolicyNewArgs, PolicyScoreArgs, PresetName, PromptArgs,
};
pub use programs::RunArgs;
pub use replay::{ReplayArgs, Swapped, Weighed};
pub use serve::ServeArgs;
pub use train::{ImitateArgs, TrainArgs};
pub use verify::VerifyArgs;

use troupe_author::commands::PluginCommand;
use troupe_core::config::DeviceChoice;
use troupe_core::provenance::Build;
use troupe_data::commands::DataCommand;
use troupe_experiment::command::ExperimentArgs;
use troupe_grading::commands::{CheckAnswerArgs, GradeArgs};
use troupe_report::commands::{CompareArgs, ReportArgs, WatchArgs};
pub use troupe_terminal::{ConfigArgs, DeviceArg};

const AFTER_HELP: &str = "\
Examples:
  host train --plugins sudoku.wasm
  host train configs/plan-path/quickstart.toml --set roles=per-role
  host train --resume runs/plan-path-planner-executor
  host report runs/plan-path-planner-executor
  host play --plugins plan-path --oracle
  host run solution.py < input.txt
  host data import gsm8k train.jsonl test.jsonl --out gsm8k-records.jsonl
  host experiment configs/experiments/stronger-together.toml --jobs 2
  host compare runs/plan-path-planner-executor
  host replay runs/plan-path-planner-executor --at 40 --set train.learning_rate=3e-4
  host verify runs/plan-path-planner-executor
  host blame runs/plan-path-planner-executor --failures
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
    /// See which turns of which role gained and lost how much, by playing on from every state.
    Blame(BlameArgs),
    /// See whether a run's files are what its steps left, by computing some of them again.
    Verify(VerifyArgs),
    /// See how a run would have gone on if a step had been otherwise.
    Replay(ReplayArgs),
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
    /// Say what each row of an experiment resolves to, for each line of standard input.
    #[command(name = troupe_experiment::RESOLVE_COMMAND, hide = true)]
    ResolveRows(DeviceArg),
    /// Run programs for another process, through its pipes.
    #[command(name = troupe_sandbox::WORKER_COMMAND, hide = true)]
    SandboxWorker,
}

impl Command {
    /// The configuration of a command that has one.
    pub fn config(&self) -> Option<&ConfigArgs> {
        match self {
            Command::Train(args) => Some(&args.config),
            Command::Eval(args) => Some(&args.config),
            Command::Imitate(args) => Some(&args.config),
            Command::Play(args) => Some(&args.config),
            _ => None,
        }
    }

    /// What is chosen for tensors, by a command that has some.
    pub fn device(&self) -> Option<DeviceChoice> {
        match self {
            Command::Train(args) => args.device.device,
            Command::Eval(args) => args.device.device,
            Command::Imitate(args) => args.device.device,
            Command::Experiment(args) => args.device.device,
            Command::Advantage(args) => args.device.device,
            Command::Blame(args) => args.device.device,
            Command::Verify(args) => args.device.device,
            Command::Replay(args) => args.device.device,
            Command::Policy(args) => args.device,
            Command::Play(args) => args.device.device,
            Command::ResolveRows(args) => args.device,
            Command::Serve(args) => args.models.device.device,
            _ => None,
        }
    }
}
