//! Arguments of `host policy`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{CheckpointName, ConfigArgs};
use troupe_core::config::DeviceChoice;

/// `host policy`.
#[derive(Debug, Args)]
pub struct PolicyArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PolicyCommand,
    /// Where tensors live: cpu, cuda or cuda:<index>; by default a GPU if there is one.
    #[arg(long, global = true, env = "TROUPE_DEVICE", value_name = "DEVICE")]
    pub device: Option<DeviceChoice>,
}

/// What `host policy` does.
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
        /// Type of the weights; by default the checkpoint's.
        #[arg(long, value_enum)]
        dtype: Option<DtypeName>,
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
  host policy export models/Qwen3-0.6B --dtype float32 --out models/float
  host policy export --run runs/plan-path-planner-executor --policy planner --out merged")]
    Export(PolicyExportArgs),
    /// Write what is known of a policy, as a model card in Hugging Face's form: its base and
    /// digests, what it was trained on, how well it did, and what was not measured.
    #[command(after_help = "\
Examples:
  host policy card runs/plan-path-planner-executor
  host policy card runs/math-solver-verifier --policy solver --step last --out README.md")]
    Card(PolicyCardArgs),
    /// Make a checkpoint folder of a GGUF file: Llama, Qwen2, Qwen3 and Gemma 3.
    #[command(after_help = "\
Examples:
  host policy import SmolLM2-135M-Instruct.Q4_1.gguf --out models/SmolLM2-135M-Instruct
  host policy import qwen3.gguf --out models/qwen3 --dtype bfloat16")]
    Import(PolicyImportArgs),
    /// Print the prompt that a text becomes, and its token ids.
    #[command(after_help = "Example:\n  host policy render models/Qwen3-0.6B 'What is 2 + 2?'")]
    Render(PromptArgs),
    /// Print what a policy answers to a text.
    #[command(after_help = "\
Examples:
  host policy ask models/Qwen3-0.6B 'What is 2 + 2?'
  host policy ask models/Qwen3-0.6B 'Tell a joke.' --samples 3 --temperature 0.7
  host policy ask --run runs/math-solver-verifier '85 + 63'")]
    Ask(PolicyAskArgs),
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
    /// A folder in the Hugging Face layout.
    #[arg(required_unless_present = "run", conflicts_with = "run")]
    pub folder: Option<PathBuf>,
    /// An adapter over it, in the layout of `peft`.
    #[arg(long, value_name = "FOLDER", conflicts_with = "run")]
    pub adapter: Option<PathBuf>,
    /// Type of the weights; by default the checkpoint's.
    #[arg(long, value_enum)]
    pub dtype: Option<DtypeName>,
    /// A run whose policy is taken, merged with its base if it is an adapter.
    #[arg(long, value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// Which checkpoint of the run: best (by its validation; the last, if none was validated),
    /// last, or the number of a step.
    #[arg(long, value_name = "STEP", default_value = "best", requires = "run")]
    pub step: CheckpointName,
    /// Which policy of the run, if it trained several.
    #[arg(long, value_name = "NAME", requires = "run")]
    pub policy: Option<String>,
    /// Folder to write.
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Replace a policy that is there already.
    #[arg(long)]
    pub force: bool,
}

/// `host policy card`.
#[derive(Debug, Args)]
pub struct PolicyCardArgs {
    /// A run, or the folder of a policy.
    #[arg(value_name = "RUN_OR_POLICY")]
    pub place: PathBuf,
    /// Which checkpoint of the run: best (by its validation; the last, if none was validated),
    /// last, or the number of a step; by default the best.
    #[arg(long, value_name = "STEP")]
    pub step: Option<CheckpointName>,
    /// Which policy of the run, if it trained several.
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// File to write; by default the card is printed.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace a file that is there already.
    #[arg(long)]
    pub force: bool,
}

/// `host policy import`.
#[derive(Debug, Args)]
pub struct PolicyImportArgs {
    /// The GGUF file.
    pub file: PathBuf,
    /// Folder to write: a new one, or an empty one.
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Type of the weights; by default bfloat16 where the file has it, else float32.
    #[arg(long, value_enum)]
    pub dtype: Option<DtypeName>,
    /// A Jinja template that makes a prompt of messages, in the place of the file's own: models
    /// that were not trained to be instructed have none.
    #[arg(long, value_name = "FILE")]
    pub chat_template: Option<PathBuf>,
}

/// A policy, and what it is told.
#[derive(Debug, Args)]
pub struct PromptArgs {
    /// The policy.
    #[command(flatten)]
    pub checkpoint: CheckpointArgs,
    /// What the user says.
    pub text: String,
    /// The system message.
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// Whether it thinks first; by default as its chat template has it.
    #[arg(long, value_name = "BOOL")]
    pub thinking: Option<bool>,
}

/// What a policy is told that a team is not: its run says it.
const OF_A_POLICY: [&str; 7] =
    ["adapter", "dtype", "system", "thinking", "temperature", "max_tokens", "thinking_budget"];

/// `host policy ask`.
#[derive(Debug, Args)]
pub struct PolicyAskArgs {
    /// A folder in the Hugging Face layout, unless --run says who is asked; and what the user says.
    #[arg(value_name = "[FOLDER] TEXT", required = true, num_args = 1..=2)]
    pub words: Vec<String>,
    /// Ask the team of this run: the question becomes a task that it plays.
    #[arg(long, value_name = "RUN", conflicts_with_all = OF_A_POLICY)]
    pub run: Option<PathBuf>,
    /// Which checkpoint of the run: best (by its validation; the last, if none was validated),
    /// last, or the number of a step.
    #[arg(long, value_name = "STEP", default_value = "best", requires = "run")]
    pub step: CheckpointName,
    /// Have the team draw its answers as the run does, instead of taking the likeliest token.
    #[arg(long, requires = "run")]
    pub sampled: bool,
    /// An adapter over the policy, in the layout of `peft`.
    #[arg(long, value_name = "FOLDER")]
    pub adapter: Option<PathBuf>,
    /// Type of the weights; by default the checkpoint's. Where float32 is asked for, none is
    /// rounded to answer faster.
    #[arg(long, value_enum)]
    pub dtype: Option<DtypeName>,
    /// The system message.
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// Whether it thinks first; by default as its chat template has it.
    #[arg(long, value_name = "BOOL")]
    pub thinking: Option<bool>,
    /// Answers to draw.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub samples: u16,
    /// 0 takes the likeliest token.
    #[arg(long, default_value_t = 0.0)]
    pub temperature: f64,
    /// Tokens of an answer at most.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_tokens: u32,
    /// Tokens of thinking after which `</think>` is put there; 0 sets no bound.
    #[arg(long, default_value_t = 0)]
    pub thinking_budget: u32,
    /// Another one draws other answers; of a team, the number of the task in `host eval`.
    #[arg(long, default_value_t = 0)]
    pub seed: u32,
}

impl PolicyAskArgs {
    /// Which policy, and what it is told.
    ///
    /// # Errors
    /// Only one of the two is said.
    pub fn prompt(&self) -> Result<PromptArgs, String> {
        let [folder, text] = &self.words[..] else {
            return Err("say which policy is asked (a folder, or --run RUN), and what".to_owned());
        };
        let (folder, adapter, dtype) = (folder.into(), self.adapter.clone(), self.dtype);
        Ok(PromptArgs {
            checkpoint: CheckpointArgs { folder, adapter, dtype },
            text: text.clone(),
            system: self.system.clone(),
            thinking: self.thinking,
        })
    }

    /// What a team is asked.
    ///
    /// # Errors
    /// A policy is named besides.
    pub fn question(&self) -> Result<&str, String> {
        match &self.words[..] {
            [text] => Ok(text),
            [folder, ..] => Err(format!("the run says who is asked: leave out `{folder}`")),
            [] => Err("say what is asked".to_owned()),
        }
    }
}

/// A type of weights.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum DtypeName {
    /// The one that suits the device.
    Auto,
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
