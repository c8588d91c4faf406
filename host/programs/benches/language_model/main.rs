//! A language model in the engine and the trainer against others on the same
//! checkpoint, prompts and samples: `transformers` (`generate`, and its
//! continuous batching `generate_batch`), llama.cpp (decoding; without a file
//! for it, `generate`), an update in plain PyTorch, and a whole step of TRL's
//! `GRPOTrainer`. Both sides have their turn in every round, and on a GPU one
//! more that is not counted, in which kernels are loaded; printed are medians
//! and ratios. Nothing is asserted.
//!
//! ```text
//! cargo bench -p host --bench language_model
//! cargo bench -p host --bench language_model -- --checkpoint SmolLM2-135M-Instruct \
//!     --gguf SmolLM2-135M-Instruct.gguf --prompt-tokens 316
//! ```
//! Without `--checkpoint`, a random Qwen3 of 54 million parameters. The other
//! sides need `$PYTHON` or `python3` with `torch` and `transformers`, with
//! `llama_cpp`, with `trl`; a side that lacks its packages is left out. Every
//! side is a process of its own, so that its memory can be told.

#![expect(clippy::unwrap_used, reason = "a measurement has nobody to report errors to")]
#![expect(clippy::print_stdout, reason = "its tables are its result")]

mod ours;
mod side;
mod work;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use serde_json::Value;
use side::{Rival, Side};
use work::{Precision, Work};

/// What is measured.
#[derive(Clone, Debug, Parser)]
pub(crate) struct Arguments {
    /// A checkpoint in the Hugging Face layout; without one, a random model.
    #[arg(long)]
    checkpoint: Option<PathBuf>,
    /// The same model as llama.cpp has it; what is not F16 there is made so.
    #[arg(long)]
    gguf: Option<PathBuf>,
    /// What weights are held in; llama.cpp has F16 or BF16.
    #[arg(long, value_enum, default_value_t)]
    dtype: Precision,
    /// Prompts of a batch.
    #[arg(long, default_value_t = 16)]
    prompts: usize,
    /// Answers to each prompt.
    #[arg(long, default_value_t = 8)]
    answers: usize,
    /// Tokens of a prompt on average; they differ by up to a quarter.
    #[arg(long, default_value_t = 256)]
    prompt_tokens: usize,
    /// Tokens of an answer at most.
    #[arg(long, default_value_t = 128)]
    max_completion_tokens: usize,
    /// Answers at a time where decoding is measured.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64])]
    rows: Vec<usize>,
    /// Answers of a whole step.
    #[arg(long, default_value_t = 16)]
    step_rows: usize,
    /// Threads of each side.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Rounds; the medians are printed.
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Seconds after which a side has no figure.
    #[arg(long, default_value_t = 600)]
    patience: u64,
    /// Which comparisons, by name (generate, answer, decode, train, step,
    /// step_checkpointed, generate_batch); all, if none.
    #[arg(long, value_delimiter = ',')]
    sides: Vec<String>,
    /// Be our side, for the bench itself.
    #[arg(long, hide = true)]
    side: Option<PathBuf>,
    /// What cargo adds.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Rows that people ask for, at most.
const FEW: usize = 16;

/// A line of the table.
struct Comparison {
    name: &'static str,
    rival: Rival,
    /// What our side is asked for, and the other.
    ours: String,
    theirs: String,
    /// Rows, if only what comes after each answer's first token counts.
    decode: Option<usize>,
}

fn main() {
    let arguments = Arguments::parse();
    if let Some(folder) = &arguments.side {
        return ours::be_our_side(folder);
    }
    // `cargo test --all-targets` runs benchmarks, too, but without this.
    if !arguments.bench {
        return println!("run `cargo bench`");
    }
    let (folder, work) = Work::prepare(&arguments);
    println!(
        "\n{} parameters, {:?}, {} prompts of about {} tokens, {} answers of at most {} tokens \
         each, {} threads a side\n",
        work.parameters,
        arguments.dtype,
        arguments.prompts,
        arguments.prompt_tokens,
        arguments.answers,
        arguments.max_completion_tokens,
        arguments.threads
    );
    println!("| tokens per second | troupe | other side | ratio | MiB troupe | MiB other |");
    println!("|---|---|---|---|---|---|");
    for comparison in comparisons(&arguments) {
        comparison.print(folder.path(), &arguments);
    }
    if arguments.wants("train") {
        share_of_peak(folder.path(), &arguments);
    }
    println!(
        "\nGenerated are sampled tokens; decoded are those after each answer's first. Trained, \
         and what a step handles, are prompt and answer of every sample, on both sides; troupe \
         reads and trains a prompt once for its {} answers, and llama.cpp reads it once. MiB are \
         the largest resident memory of the side's process, and on a GPU what the side had taken \
         of it.",
        arguments.answers
    );
}

impl Arguments {
    fn wants(&self, name: &str) -> bool {
        self.sides.is_empty() || self.sides.iter().any(|one| one == name)
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(self.patience)
    }
}

fn comparisons(arguments: &Arguments) -> Vec<Comparison> {
    let same = |name: &'static str, rival, asked: &str| {
        let (ours, theirs) = (asked.to_owned(), asked.to_owned());
        Comparison { name, rival, ours, theirs, decode: None }
    };
    let decoder = if arguments.gguf.is_some() { Rival::LlamaCpp } else { Rival::Transformers };
    let decode =
        |&rows: &usize| Comparison { decode: Some(rows), ..same("decode", decoder, "generate") };
    // As `host policy ask`, `host play` and `host serve` answer.
    let answer = |rows| Comparison { name: "answer", ..decode(rows) };
    let rows = arguments.step_rows;
    let step = || same("step", Rival::Trl, &format!("step {rows}"));
    // TRL checkpoints by default.
    let checkpointed = Comparison {
        name: "step_checkpointed",
        ours: format!("step_checkpointed {rows}"),
        ..step()
    };
    let mut all = vec![same("generate", Rival::Transformers, "generate")];
    all.extend(arguments.rows.iter().filter(|rows| **rows <= FEW).map(answer));
    all.extend(arguments.rows.iter().map(decode));
    all.extend([same("train", Rival::Transformers, "train"), step(), checkpointed]);
    all.push(Comparison {
        ours: "generate".to_owned(),
        ..same("generate_batch", Rival::Transformers, "generate_batch")
    });
    all.retain(|comparison| arguments.wants(comparison.name));
    all
}

impl Comparison {
    fn label(&self, arguments: &Arguments) -> String {
        match (self.name, self.decode) {
            (name, Some(rows)) => format!("{name}, {rows} at a time ({})", self.rival.name()),
            ("train", _) => "update (plain PyTorch)".to_owned(),
            ("step", _) => format!("step, {} answers (TRL)", arguments.step_rows),
            ("step_checkpointed", _) => "the same, checkpointed (TRL)".to_owned(),
            (name, _) => format!("{name} (transformers)"),
        }
    }

    /// One line of the table.
    fn print(&self, folder: &Path, arguments: &Arguments) {
        let label = self.label(arguments);
        let mut ours = Side::ours(folder, arguments.patience());
        if self.name == "answer" {
            ours.ask("settle");
        }
        let mut theirs = Side::rival(self.rival, folder, arguments.patience());
        let (mut our_rates, mut their_rates) = (Vec::new(), Vec::new());
        if work::chosen_device().is_gpu() {
            // What fails here fails again below, and is said there.
            let _ = self.measure(&mut ours, &self.ours, arguments);
            let _ = theirs.as_mut().map(|theirs| self.measure(theirs, &self.theirs, arguments));
        }
        for _ in 0..arguments.rounds {
            our_rates.push(self.measure(&mut ours, &self.ours, arguments).unwrap());
            let Some(theirs) = &mut theirs else { continue };
            match self.measure(theirs, &self.theirs, arguments) {
                Ok(rate) => their_rates.push(rate),
                Err(error) => {
                    let our = median(our_rates).per_second;
                    return println!("| {label} | {our:.0} | failed: {error} | | | |");
                }
            }
        }
        let our = median(our_rates);
        if their_rates.is_empty() {
            return println!("| {label} | {:.0} | | | {:.0} | |", our.per_second, our.resident);
        }
        let their = median(their_rates);
        println!(
            "| {label} | {:.0} | {:.0} | {:.2} | {:.0} | {:.0} |",
            our.per_second,
            their.per_second,
            our.per_second / their.per_second,
            our.resident,
            their.resident
        );
    }

    /// Ask a side.
    fn measure(
        &self,
        side: &mut Side,
        request: &str,
        arguments: &Arguments,
    ) -> Result<Measured, String> {
        let Some(rows) = self.decode else {
            return Measured::of(&side.ask(request));
        };
        let first = Measured::of(&side.ask(&format!("{request} {rows} 1")))?;
        let all = side.ask(&format!("{request} {rows} {}", arguments.max_completion_tokens));
        let all = Measured::of(&all)?;
        Ok(all.beyond(&first))
    }
}

/// What a side did.
struct Measured {
    tokens: f64,
    seconds: f64,
    per_second: f64,
    resident: f64,
}

impl Measured {
    fn of(answer: &Value) -> Result<Self, String> {
        if let Some(error) = answer["error"].as_str() {
            return Err(error.to_owned());
        }
        let number = |name: &str| answer[name].as_f64().unwrap();
        let (tokens, seconds) = (number("tokens"), number("seconds"));
        let resident = number("resident");
        Ok(Measured { tokens, seconds, per_second: tokens / seconds, resident })
    }

    /// What it did more than another time.
    fn beyond(self, first: &Measured) -> Self {
        let (tokens, seconds) = (self.tokens - first.tokens, self.seconds - first.seconds);
        Measured { tokens, seconds, per_second: tokens / seconds, ..self }
    }
}

fn median(mut rates: Vec<Measured>) -> Measured {
    rates.sort_by(|left, right| left.per_second.total_cmp(&right.per_second));
    let middle = rates.len() / 2;
    rates.swap_remove(middle)
}

/// How much of what products of large matrices reach an update reaches, too; those before it and
/// after it count alike, for a neighbour on the machine slows all of them.
fn share_of_peak(folder: &Path, arguments: &Arguments) {
    let mut ours = Side::ours(folder, arguments.patience());
    let mut shares: Vec<(f64, f64)> = Vec::new();
    if work::chosen_device().is_gpu() {
        ours.ask("train");
    }
    let peak = |ours: &mut Side| ours.ask("peak")["peak"].as_f64().unwrap();
    for _ in 0..arguments.rounds {
        let before = peak(&mut ours);
        let update = ours.ask("train");
        let peak = f64::midpoint(before, peak(&mut ours));
        let reached = update["operations"].as_f64().unwrap() / update["seconds"].as_f64().unwrap();
        shares.push((reached / peak, peak));
    }
    shares.sort_by(|left, right| left.0.total_cmp(&right.0));
    let (share, peak) = shares[shares.len() / 2];
    println!(
        "\nAn update reaches {:.0} % of the {:.0} GFLOP/s of large matrix products.",
        100.0 * share,
        peak / 1e9
    );
}
