//! What the sandbox and the engine cost or gain: each table has both sides,
//! measured in turn in the same run, and their ratio. Nothing is asserted.
//!
//! 1. An environment as a component against the same crate compiled natively.
//! 2. The tiny policy against the same model in plain PyTorch
//!    (`plain_pytorch.py`), if `$PYTHON` or `python3` can import `torch`. It
//!    has one thread: its threads wait for each other in every operation, and
//!    on a machine that is busy with other things two were slower than one.
//!
//! Figures are medians over rounds in which every side has one turn, so that
//! what else runs on the machine slows all of them alike.

#![expect(clippy::unwrap_used, reason = "a measurement has nobody to report errors to")]
#![expect(clippy::print_stdout, reason = "its tables are its result")]

#[path = "../../../tests/support/components.rs"]
mod components;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use plugin_sdk::Environment;
use plugin_sdk::environment::{Action, Move, Seat, Split, Status, Task};
use serde_json::{Value, json};
use troupe_core::config::{PolicyConfig, TrainConfig};
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Reward, Sample};
use troupe_guests::plugin::{EnvironmentPlugin, EnvironmentState, PluginLibrary, text_of};
use troupe_model::{Device, Policy, Request, Sampling};
use troupe_trainer::{CreditedSample, Trainer};

/// Tasks whose expert is replayed.
const TASKS: u32 = 64;
/// Rounds that are counted, and those before them that are not.
const ROUNDS: usize = 25;
const WARM_UP: usize = 5;
/// Repetitions of a native action, which alone is too short for a clock.
const REPEAT: u32 = 20;
/// Prompts of a batch, and answers to each.
const PROMPTS: u64 = 64;
const ANSWERS: u64 = 4;
const ANSWER_TOKENS: usize = 5;

fn main() {
    // `cargo test --all-targets` runs benchmarks, too, but without this.
    if !std::env::args().any(|argument| argument == "--bench") {
        return println!("run `cargo bench`");
    }
    let library = components::library(&["plan-path", "sudoku", "planner-executor"]);
    environments(&library);
    policies(&library);
}

fn environments(library: &PluginLibrary) {
    println!(
        "\nEnvironment: component against native crate, one thread, {TASKS} training tasks with \
         the expert's actions\n"
    );
    let mut table = Table::new(&["per second", "component", "native", "component / native"]);
    let environment = |name| library.environment(Some(name)).unwrap();
    compare_environment::<plan_path::PlanPath>(environment("plan-path"), &mut table);
    compare_environment::<sudoku::Sudoku>(environment("sudoku"), &mut table);
    table.print();
}

fn compare_environment<E: Environment>(plugin: &EnvironmentPlugin, table: &mut Table) {
    let walks: Vec<Walk> = (0..TASKS).map(|seed| Walk::new::<E>(plugin, seed)).collect();
    let walks = &walks;
    let acts: usize = walks.iter().map(|walk| walk.actions.len()).sum();
    let mut row = |what: &str, count: usize, sides: [&dyn Fn(&Walk) -> Duration; 2]| {
        let rates = in_turn(sides.map(|side| {
            move || count as f64 / walks.iter().map(side).sum::<Duration>().as_secs_f64()
        }));
        table.row(&format!("{}: {what}", plugin.name()), &rates);
    };
    row("acts", acts, [&|walk| walk.guest(plugin, false), &|walk| walk.native::<E>(false)]);
    row(
        "acts, each followed by an observation",
        acts,
        [&|walk| walk.guest(plugin, true), &|walk| walk.native::<E>(true)],
    );
    let tasks = walks.len();
    row(
        "instances started (resume a saved state)",
        tasks,
        [&|walk| timed(1, || plugin.resume(&walk.state).unwrap()), &|walk| {
            timed(REPEAT, || E::resume(&walk.native_state).unwrap())
        }],
    );
    row(
        "forks (resume, act, observe, save)",
        tasks,
        [&|walk| walk.guest_fork(plugin), &|walk| walk.native_fork::<E>()],
    );
}

fn player() -> Seat {
    Seat::new("player")
}

fn the_move(action: &Action) -> Move {
    Move { seat: player(), action: action.clone() }
}

/// A task, its start as either side saves it, and the expert's actions to the end.
struct Walk {
    task: Task,
    state: EnvironmentState,
    native_state: Vec<u8>,
    actions: Vec<Action>,
}

impl Walk {
    fn new<E: Environment>(plugin: &EnvironmentPlugin, seed: u32) -> Self {
        let task = Task::of::<E>(Split::Train, seed);
        let mut guest = plugin.start(&task).unwrap();
        let mut native = E::start(&task).unwrap();
        let seen = text_of(&guest.observe(&player()).unwrap());
        assert_eq!(seen, native.observe(&player()), "both sides play the same task");
        let (state, native_state) = (guest.save().unwrap(), native.save().unwrap());
        let mut actions = Vec::new();
        while let Some(action) = native.demonstrate(&player()) {
            let status = native.act(&player(), &action).unwrap().status;
            actions.push(action);
            if status != Status::Ongoing {
                break;
            }
        }
        Walk { task, state, native_state, actions }
    }

    /// Time of all actions through the component; its start is not timed.
    fn guest(&self, plugin: &EnvironmentPlugin, observe: bool) -> Duration {
        let mut live = plugin.resume(&self.state).unwrap();
        let start = Instant::now();
        for action in &self.actions {
            std::hint::black_box(live.act(vec![the_move(action)]).unwrap());
            if observe {
                std::hint::black_box(live.observe(&player()).unwrap());
            }
        }
        start.elapsed()
    }

    /// The same natively.
    fn native<E: Environment>(&self, observe: bool) -> Duration {
        let mut copies: Vec<E> = (0..REPEAT).map(|_| E::start(&self.task).unwrap()).collect();
        let start = Instant::now();
        for copy in &mut copies {
            for action in &self.actions {
                std::hint::black_box(copy.act(&player(), action).unwrap());
                if observe {
                    std::hint::black_box(copy.observe(&player()));
                }
            }
        }
        start.elapsed() / REPEAT
    }

    fn guest_fork(&self, plugin: &EnvironmentPlugin) -> Duration {
        let action = &self.actions[0];
        timed(1, || {
            let mut live = plugin.resume(&self.state).unwrap();
            live.act(vec![the_move(action)]).unwrap();
            (live.observe(&player()).unwrap(), live.save().unwrap())
        })
    }

    fn native_fork<E: Environment>(&self) -> Duration {
        timed(REPEAT, || {
            let mut copy = E::resume(&self.native_state).unwrap();
            copy.act(&player(), &self.actions[0]).unwrap();
            (copy.observe(&player()), copy.save())
        })
    }
}

fn policies(library: &PluginLibrary) {
    let words = vocabulary(library);
    let config = PolicyConfig::default();
    let mut policy = Policy::random(&config, &words, Seed::new(1), Device::cpu()).unwrap();
    let threads = policy.threads();
    let work = Work::new(&policy, words.len());
    println!(
        "\nPolicy of {} parameters, {PROMPTS} prompts ({} tokens) with {ANSWERS} answers each \
         ({} tokens in the samples to learn from)\n",
        policy.parameter_count(),
        work.prompt_tokens(),
        work.answer_tokens(),
    );
    let mut plain = PlainPyTorch::start(&policy, &work);
    let header = ["tokens/s", "troupe", "plain PyTorch, 1 thread", "troupe / PyTorch"];
    let mut table = Table::new(&header);
    let counts = if threads == 1 { vec![1] } else { vec![1, threads] };
    for &threads in &counts {
        policy.set_threads(threads);
        let troupe = || work.generate(&policy);
        let rates = against(troupe, plain.as_mut(), "generate 1");
        table.row(&format!("generation, threads: {threads}"), &rates);
    }
    let mut trainer = Trainer::new(&policy, &work.train).unwrap();
    for &threads in &counts {
        policy.set_threads(threads);
        let troupe = || work.update(&mut policy, &mut trainer);
        let rates = against(troupe, plain.as_mut(), "train 1");
        table.row(&format!("training, threads: {threads}"), &rates);
    }
    table.print();
    println!(
        "\nGenerated are sampled answer tokens, the end-of-text token included. Trained are a \
         group's prompt once and its answers. troupe reads and trains a prompt once for its \
         {ANSWERS} answers; plain PyTorch repeats it."
    );
}

fn vocabulary(library: &PluginLibrary) -> Vec<String> {
    let none = toml::Table::new();
    let environment = library.environment(Some("plan-path")).unwrap();
    let workflow = library.workflow(Some("planner-executor"), environment).unwrap();
    let settings = environment.settings(&none).unwrap();
    let mut words = environment.configure(&settings).unwrap().vocabulary;
    let settings = workflow.settings(&none).unwrap();
    let kinds = &environment.description().actions;
    words.extend(workflow.configure(&settings, kinds).unwrap().vocabulary);
    words.sort_unstable();
    words.dedup();
    words
}

/// What both engines are given to do.
struct Work {
    requests: Vec<Request>,
    samples: Vec<Sample>,
    advantages: Vec<f32>,
    train: TrainConfig,
}

impl Work {
    /// Random words for prompts, and the policy's own answers to learn from.
    fn new(policy: &Policy, words: usize) -> Self {
        const SPECIALS: u32 = 4;
        let requests: Vec<Request> = (0..PROMPTS)
            .map(|prompt| {
                let seed = Seed::new(2).at(prompt);
                let length = 18 + seed.index(7) as u64;
                let token = |place| SPECIALS + seed.named("word").at(place).index(words) as u32;
                let seeds = (0..ANSWERS).map(|answer| seed.named("answer").at(answer)).collect();
                Request { prompt: (0..length).map(token).collect(), seeds }
            })
            .collect();
        let answers = policy.generate(&requests, &Sampling::plain(ANSWER_TOKENS)).unwrap();
        let samples: Vec<Sample> = (requests.iter().zip(answers).enumerate())
            .flat_map(|(task, (request, answers))| {
                let sample = move |(branch, completion)| Sample {
                    task,
                    family: String::new(),
                    episode: 0,
                    turn: 0,
                    role: "player".to_owned(),
                    instance: 0,
                    thread: String::new(),
                    situation: None,
                    hint: None,
                    parent: None,
                    caller: None,
                    round: 0,
                    policy: "tiny".to_owned(),
                    branch,
                    kept: branch == 0,
                    state: task as u64,
                    prompt: Arc::clone(&request.prompt),
                    completion,
                    reward: Reward::default(),
                    accepted: true,
                };
                answers.into_iter().enumerate().map(sample)
            })
            .collect();
        let advantages = (0..samples.len() as u64)
            .map(|sample| (2.0 * Seed::new(3).at(sample).unit() - 1.0) as f32)
            .collect();
        // So small a rate that all rounds see nearly the same weights.
        let train = TrainConfig { learning_rate: 1e-7, ..TrainConfig::default() };
        Work { requests, samples, advantages, train }
    }

    fn prompt_tokens(&self) -> usize {
        self.requests.iter().map(|request| request.prompt.len()).sum()
    }

    fn answer_tokens(&self) -> usize {
        self.samples.iter().map(|sample| sample.completion.tokens.len()).sum()
    }

    /// Tokens per second of one batch.
    fn generate(&self, policy: &Policy) -> f64 {
        let start = Instant::now();
        let answers = policy.generate(&self.requests, &Sampling::plain(ANSWER_TOKENS)).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        answers.iter().flatten().map(|answer| answer.tokens.len()).sum::<usize>() as f64 / seconds
    }

    /// Tokens per second of one update.
    fn update(&self, policy: &mut Policy, trainer: &mut Trainer) -> f64 {
        let rows: Vec<CreditedSample> = (self.samples.iter().zip(&self.advantages))
            .map(|(sample, &advantage)| CreditedSample {
                sample,
                advantage: Some(advantage),
                weight: 1.0,
            })
            .collect();
        let start = Instant::now();
        let metrics = trainer
            .update(policy, &rows, &Sampling::plain(ANSWER_TOKENS).into(), Seed::new(4))
            .unwrap();
        let seconds = start.elapsed().as_secs_f64();
        assert_eq!(metrics.tokens, self.prompt_tokens() + self.answer_tokens());
        metrics.tokens as f64 / seconds
    }

    /// For the script.
    fn to_json(&self) -> Value {
        let samples: Vec<Value> = (self.samples.iter().zip(&self.advantages))
            .map(|(sample, advantage)| {
                json!({
                    "prompt": sample.task,
                    "tokens": sample.completion.tokens,
                    "logprobs": sample.completion.logprobs,
                    "advantage": advantage,
                })
            })
            .collect();
        json!({
            "prompts": self.requests.iter().map(|request| &request.prompt[..]).collect::<Vec<_>>(),
            "answers": ANSWERS,
            "max_completion_tokens": ANSWER_TOKENS,
            "samples": samples,
            "train": self.train,
        })
    }
}

/// The same model in `plain_pytorch.py`, which does what a line asks for.
struct PlainPyTorch {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    _folder: tempfile::TempDir,
}

impl PlainPyTorch {
    /// Start the script on the saved policy, if there is a Python with torch.
    fn start(policy: &Policy, work: &Work) -> Option<Self> {
        let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let mut probe = Command::new(&python);
        probe.args(["-c", "import torch"]).stderr(Stdio::null());
        if !probe.status().is_ok_and(|status| status.success()) {
            println!(
                "`{python}` cannot import torch, so the column stays empty: \
                 `python3 -m pip install torch==2.11.0`, or set PYTHON\n"
            );
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        policy.save(folder.path()).unwrap();
        std::fs::write(folder.path().join("work.json"), work.to_json().to_string()).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/plain_pytorch.py");
        let mut process = Command::new(python)
            .arg(script)
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = process.stdin.take().unwrap();
        let from = BufReader::new(process.stdout.take().unwrap());
        let mut plain = PlainPyTorch { process, to, from, _folder: folder };
        let ready = plain.answer();
        println!(
            "PyTorch {} agrees with the samples' log-probabilities to {:.1e}\n",
            ready["torch"].as_str().unwrap(),
            ready["largest_difference"].as_f64().unwrap(),
        );
        Some(plain)
    }

    /// Tokens per second of one batch or update.
    fn ask(&mut self, line: &str) -> f64 {
        writeln!(self.to, "{line}").unwrap();
        let answer = self.answer();
        answer["tokens"].as_f64().unwrap() / answer["seconds"].as_f64().unwrap()
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).expect("the script answers in JSON")
    }
}

impl Drop for PlainPyTorch {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Time of one call of several.
fn timed<T>(repeat: u32, mut once: impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    for _ in 0..repeat {
        std::hint::black_box(once());
    }
    start.elapsed() / repeat
}

/// Median rates of our side and, if there is one, the script's.
fn against(
    mut troupe: impl FnMut() -> f64,
    plain: Option<&mut PlainPyTorch>,
    line: &str,
) -> Vec<f64> {
    let Some(plain) = plain else { return in_turn([troupe]) };
    medians(2, || vec![troupe(), plain.ask(line)])
}

/// Median rate of each side over rounds in which each has a turn.
fn in_turn<const N: usize>(mut sides: [impl FnMut() -> f64; N]) -> Vec<f64> {
    medians(N, || sides.iter_mut().map(|side| side()).collect())
}

fn medians(sides: usize, mut round: impl FnMut() -> Vec<f64>) -> Vec<f64> {
    let rounds: Vec<Vec<f64>> = (0..WARM_UP + ROUNDS).map(|_| round()).skip(WARM_UP).collect();
    let median = |side: usize| {
        let mut rates: Vec<f64> = rounds.iter().map(|round| round[side]).collect();
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    (0..sides).map(median).collect()
}

/// Rows of text, printed as Markdown.
struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    fn new(header: &[&str]) -> Self {
        let header: Vec<String> = header.iter().map(|&cell| cell.to_owned()).collect();
        let rule = header.iter().map(|_| "---".to_owned()).collect();
        Table { rows: vec![header, rule] }
    }

    /// The rates of both sides and their ratio; the second may be missing.
    fn row(&mut self, what: &str, rates: &[f64]) {
        let text = |rate: Option<&f64>| rate.map_or(String::new(), |&rate| rounded(rate));
        let ratio = rates.get(1).map_or(String::new(), |right| format!("{:.3}", rates[0] / right));
        self.rows.push(vec![what.to_owned(), text(rates.first()), text(rates.get(1)), ratio]);
    }

    fn print(&self) {
        let width =
            |column: usize| self.rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        for row in &self.rows {
            let cells: Vec<String> = (row.iter().enumerate())
                .map(|(column, cell)| format!("{cell:<width$}", width = width(column)))
                .collect();
            println!("| {} |", cells.join(" | "));
        }
    }
}

/// Three significant digits; more would be noise.
fn rounded(rate: f64) -> String {
    let unit = 10_f64.powf((rate.log10().floor() - 2.0).max(0.0));
    format!("{:.0}", (rate / unit).round() * unit)
}
