//! A language model in the engine and the trainer, against `transformers`
//! (`generate`, and its continuous batching `generate_batch`) and an update in
//! plain PyTorch, on the same checkpoint, prompts and samples. Both sides have
//! their turn in every round; printed are medians and ratios. Nothing is
//! asserted.
//!
//! ```text
//! cargo bench -p host --bench language_model
//! cargo bench -p host --bench language_model -- --checkpoint Qwen3-1.7B --prompts 64 \
//!     --max-completion-tokens 512
//! ```
//! Without `--checkpoint`, a random Qwen3 of 54 million parameters. The other
//! side needs `$PYTHON` or `python3` with `torch` and `transformers`; every
//! side is a process of its own, so that its memory can be told.

#![expect(clippy::unwrap_used, reason = "a measurement has nobody to report errors to")]
#![expect(clippy::print_stdout, reason = "its tables are its result")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use clap::Parser;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use troupe::config::{DeviceChoice, PolicyConfig, TrainConfig};
use troupe::policy::{Device, Policy, Request, Sampling};
use troupe::seed::Seed;
use troupe::trainer::{CreditedSample, Trainer};
use troupe::trajectory::{Completion, Reward, Sample};

/// What is measured.
#[derive(Clone, Debug, Parser)]
struct Arguments {
    /// A checkpoint in the Hugging Face layout; without one, a random model.
    #[arg(long)]
    checkpoint: Option<PathBuf>,
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
    /// Threads of each side.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Rounds; the medians are printed.
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Seconds after which a side has no figure.
    #[arg(long, default_value_t = 600)]
    patience: u64,
    /// Which sides, by name; all, if none.
    #[arg(long, value_delimiter = ',')]
    sides: Vec<String>,
    /// Be our side, for the bench itself.
    #[arg(long, hide = true)]
    side: Option<PathBuf>,
    /// What cargo adds.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let arguments = Arguments::parse();
    if let Some(folder) = &arguments.side {
        return be_our_side(folder);
    }
    // `cargo test --all-targets` runs benchmarks, too, but without this.
    if !arguments.bench {
        return println!("run `cargo bench`");
    }
    let (folder, work) = prepare(&arguments);
    let wanted =
        |name: &str| arguments.sides.is_empty() || arguments.sides.iter().any(|one| one == name);
    let sides: Vec<&str> =
        ["generate", "train", "generate_batch"].into_iter().filter(|name| wanted(name)).collect();
    println!(
        "\n{} parameters, {} prompts of about {} tokens, {} answers of at most {} tokens each, \
         {} threads a side\n",
        work.parameters,
        arguments.prompts,
        arguments.prompt_tokens,
        arguments.answers,
        arguments.max_completion_tokens,
        arguments.threads
    );
    println!("| tokens per second | troupe | other side | ratio | MiB troupe | MiB other |");
    println!("|---|---|---|---|---|---|");
    for side in sides {
        compare(side, folder.path(), &arguments);
    }
    println!(
        "\nGenerated are sampled tokens. Trained are prompt and answer of every sample, on both \
         sides; troupe reads and trains a prompt once for its {} answers. MiB are the largest \
         resident memory of the side's process.",
        arguments.answers
    );
}

/// One line of the table.
fn compare(name: &str, folder: &Path, arguments: &Arguments) {
    let patience = Duration::from_secs(arguments.patience);
    let mut ours = Side::ours(folder, patience);
    let mut theirs = Side::theirs(folder, patience);
    let our_request = if name == "train" { "train" } else { "generate" };
    let (mut our_rates, mut their_rates) = (Vec::new(), Vec::new());
    let (mut our_memory, mut their_memory) = (0.0, 0.0);
    for _ in 0..arguments.rounds {
        let our = ours.ask(our_request);
        let their = theirs.as_mut().map(|side| side.ask(name));
        if let Some(error) = their.as_ref().and_then(|answer| answer["error"].as_str()) {
            println!("| {name} | {:.0} | failed: {error} | | | |", rate(&our));
            return;
        }
        our_memory = our["resident"].as_f64().unwrap();
        their_memory = their.as_ref().map_or(0.0, |answer| answer["resident"].as_f64().unwrap());
        our_rates.push(rate(&our));
        their_rates.extend(their.as_ref().map(rate));
    }
    let ours = median(our_rates);
    if their_rates.is_empty() {
        return println!("| {name} | {ours:.0} | | | {our_memory:.0} | |");
    }
    let theirs = median(their_rates);
    let ratio = ours / theirs;
    println!(
        "| {name} | {ours:.0} | {theirs:.0} | {ratio:.2} | {our_memory:.0} | {their_memory:.0} |"
    );
}

fn rate(answer: &Value) -> f64 {
    answer["tokens"].as_f64().unwrap() / answer["seconds"].as_f64().unwrap()
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// What both sides are given to do, as `work.json`.
#[derive(Serialize, Deserialize)]
struct Work {
    parameters: usize,
    threads: usize,
    prompts: Vec<Vec<u32>>,
    answers: usize,
    max_completion_tokens: usize,
    end: u32,
    pad: u32,
    rows_per_micro_batch: usize,
    samples: Vec<WorkSample>,
}

#[derive(Serialize, Deserialize)]
struct WorkSample {
    task: usize,
    prompt: Vec<u32>,
    tokens: Vec<u32>,
    logprobs: Vec<f32>,
    advantage: f32,
}

/// Save checkpoint and work where both sides find them.
fn prepare(arguments: &Arguments) -> (tempfile::TempDir, Work) {
    let device = Device::choose(DeviceChoice::Automatic).unwrap();
    let mut policy = match &arguments.checkpoint {
        Some(path) => Policy::load(path, device).unwrap(),
        None => random(device),
    };
    policy.set_threads(arguments.threads);
    let folder = tempfile::tempdir().unwrap();
    policy.save(folder.path()).unwrap();
    let mut work = Work {
        parameters: policy.parameter_count(),
        threads: arguments.threads,
        prompts: (0..arguments.prompts).map(|prompt| words(&policy, prompt, arguments)).collect(),
        answers: arguments.answers,
        max_completion_tokens: arguments.max_completion_tokens,
        end: 2,
        pad: 0,
        rows_per_micro_batch: 8,
        samples: Vec::new(),
    };
    let answers = work.generate(&policy);
    for (task, (prompt, answers)) in work.prompts.iter().zip(answers).enumerate() {
        for Completion { tokens, logprobs, .. } in answers {
            let seed = Seed::new(3).at(work.samples.len() as u64);
            let advantage = (2.0 * seed.unit() - 1.0) as f32;
            let prompt = prompt.clone();
            work.samples.push(WorkSample { task, prompt, tokens, logprobs, advantage });
        }
    }
    std::fs::write(folder.path().join("work.json"), json!(work).to_string()).unwrap();
    (folder, work)
}

fn random(device: Device) -> Policy {
    let shape = PolicyConfig {
        hidden_size: 512,
        layers: 12,
        heads: 8,
        key_value_heads: 4,
        head_size: 64,
        intermediate_size: 1536,
        rope_theta: 1e6,
        ..PolicyConfig::default()
    };
    let words: Vec<String> = (0..32_000).map(|word| format!("w{word}")).collect();
    Policy::random(&shape, &words, Seed::new(1), device).unwrap()
}

fn words(policy: &Policy, prompt: usize, arguments: &Arguments) -> Vec<u32> {
    const SPECIALS: u32 = 4;
    let seed = Seed::new(2).at(prompt as u64);
    let spread = arguments.prompt_tokens / 2;
    let length = arguments.prompt_tokens - spread / 2 + seed.index(spread.max(1));
    let vocabulary = policy.config().vocab_size as usize - SPECIALS as usize;
    let token = |place| SPECIALS + seed.named("word").at(place).index(vocabulary) as u32;
    (0..length as u64).map(token).collect()
}

impl Work {
    fn sampling(&self) -> Sampling {
        Sampling::plain(self.max_completion_tokens)
    }

    fn generate(&self, policy: &Policy) -> Vec<Vec<Completion>> {
        let requests: Vec<Request> = (self.prompts.iter().enumerate())
            .map(|(index, prompt)| {
                let seed = Seed::new(4).at(index as u64);
                let seeds = (0..self.answers).map(|answer| seed.at(answer as u64)).collect();
                Request { prompt: prompt.as_slice().into(), seeds }
            })
            .collect();
        policy.generate(&requests, &self.sampling()).unwrap()
    }

    fn samples(&self) -> Vec<Sample> {
        let prompts: Vec<Arc<[u32]>> =
            self.prompts.iter().map(|prompt| prompt.as_slice().into()).collect();
        let sample = |(branch, own): (usize, &WorkSample)| Sample {
            task: own.task,
            family: String::new(),
            episode: 0,
            turn: 0,
            role: "player".to_owned(),
            instance: 0,
            thread: String::new(),
            situation: None,
            parent: None,
            caller: None,
            round: 0,
            policy: "model".to_owned(),
            branch,
            kept: branch == 0,
            state: own.task as u64,
            prompt: prompts[own.task].clone(),
            completion: Completion {
                tokens: own.tokens.clone(),
                logprobs: own.logprobs.clone(),
                text: String::new(),
                stop: troupe::trajectory::StopReason::Length,
            },
            reward: Reward::default(),
            accepted: true,
        };
        self.samples.iter().enumerate().map(sample).collect()
    }
}

/// Do what a line asks for, like the script.
fn be_our_side(folder: &Path) {
    let text = std::fs::read_to_string(folder.join("work.json")).unwrap();
    let work: Work = serde_json::from_str(&text).unwrap();
    let device = Device::choose(DeviceChoice::Automatic).unwrap();
    let mut policy = Policy::load(folder, device).unwrap();
    policy.set_threads(work.threads);
    let config = TrainConfig {
        learning_rate: 1e-7,
        minibatch_samples: 0,
        entropy_coefficient: 0.0,
        ..TrainConfig::default()
    };
    let mut trainer = None;
    println!("{}", json!({ "ready": true }));
    let samples = work.samples();
    for line in std::io::stdin().lines() {
        let start = Instant::now();
        let tokens: usize = match line.unwrap().as_str() {
            "generate" => {
                work.generate(&policy).iter().flatten().map(|answer| answer.tokens.len()).sum()
            }
            _ => {
                let trainer =
                    trainer.get_or_insert_with(|| Trainer::new(&policy, &config).unwrap());
                let rows: Vec<CreditedSample> = (samples.iter().zip(&work.samples))
                    .map(|(sample, own)| CreditedSample {
                        sample,
                        advantage: own.advantage,
                        weight: 1.0,
                    })
                    .collect();
                trainer.update(&mut policy, &rows, &work.sampling().into(), Seed::new(5)).unwrap();
                samples.iter().map(|s| s.prompt.len() + s.completion.tokens.len()).sum()
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        println!("{}", json!({ "tokens": tokens, "seconds": seconds, "resident": resident() }));
    }
}

/// The largest resident memory of this process, in MiB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kibibytes.unwrap_or(0.0) / 1024.0
}

/// A process that does what a line asks for.
struct Side {
    process: Child,
    to: ChildStdin,
    lines: Receiver<String>,
    patience: Duration,
}

impl Side {
    fn ours(folder: &Path, patience: Duration) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("--side").arg(folder);
        Side::start(command, patience)
    }

    fn theirs(folder: &Path, patience: Duration) -> Option<Self> {
        let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let mut probe = Command::new(&python);
        probe.args(["-c", "import torch, transformers"]).stderr(Stdio::null());
        if !probe.status().is_ok_and(|status| status.success()) {
            println!("`{python}` cannot import torch and transformers; set PYTHON\n");
            return None;
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/transformers_side.py");
        let mut command = Command::new(python);
        command.arg(script).arg(folder).stderr(Stdio::null());
        Some(Side::start(command, patience))
    }

    fn start(mut command: Command, patience: Duration) -> Self {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let to = process.stdin.take().unwrap();
        let from = BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            // Nobody listens any more once the side's turn is over.
            from.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)).ok();
        });
        let mut side = Side { process, to, lines, patience };
        side.answer();
        side
    }

    fn ask(&mut self, line: &str) -> Value {
        writeln!(self.to, "{line}").unwrap();
        self.answer()
    }

    /// The next line of JSON; libraries may print others.
    fn answer(&mut self) -> Value {
        loop {
            let Ok(line) = self.lines.recv_timeout(self.patience) else {
                return json!({ "error": format!("no answer in {} s", self.patience.as_secs()) });
            };
            if let Ok(answer @ Value::Object(_)) = serde_json::from_str(&line) {
                return answer;
            }
        }
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
