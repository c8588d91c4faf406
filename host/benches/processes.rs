//! Samples a second of two processes against one, with one processor each: both
//! in turn in the same run, and their ratio. Nothing is asserted.
//!
//! Figures are medians over rounds in which both sides have one turn, so that
//! what else runs on the machine slows both alike.

#![expect(clippy::unwrap_used, reason = "a measurement has nobody to report errors to")]
#![expect(clippy::print_stdout, reason = "its table is its result")]

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

const ROUNDS: usize = 5;
const STEPS: usize = 20;
const CONFIG: &str = "configs/plan-path/quickstart.toml";

fn main() {
    // `cargo test --all-targets` runs benchmarks, too, but without this.
    if !std::env::args().any(|argument| argument == "--bench") {
        return println!("run `cargo bench -p host --bench processes`");
    }
    let folder = tempfile::tempdir().unwrap();
    // One warm start for all, which is not measured.
    let warm = folder.path().join("warm");
    host("0,1").args(["imitate", CONFIG, "--out"]).arg(&warm).status().unwrap();
    println!("\nSamples a second of training, {STEPS} steps of {CONFIG}\n");
    println!("| round | 1 process, 1 processor | 2 processes, 2 processors | ratio |");
    println!("|---|---|---|---|");
    let mut ratios = Vec::new();
    for round in 1..=ROUNDS {
        let [one, two] = [1, 2].map(|count| samples_per_second(folder.path(), round, count));
        println!("| {round} | {one:.0} | {two:.0} | {:.2} |", two / one);
        ratios.push(two / one);
    }
    ratios.sort_by(f64::total_cmp);
    println!("\nmedian ratio {:.2}", ratios[ROUNDS / 2]);
}

/// The program on these processors.
fn host(processors: &str) -> Command {
    let mut command = Command::new("taskset");
    command
        .args(["--cpu-list", processors, env!("CARGO_BIN_EXE_host")])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .env("TROUPE_DEVICE", "cpu")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// From the end of the first step to the end of the last one.
fn samples_per_second(folder: &Path, round: usize, processes: usize) -> f64 {
    let name = format!("{processes}-{round}");
    let sets = [
        format!("run.dir={:?}", folder.display().to_string()),
        format!("run.name={name}"),
        format!("train.steps={STEPS}"),
        format!("policies.shared.path={:?}", folder.join("warm/shared").display().to_string()),
        "validation.tasks=1".to_owned(),
        "validation.tasks_during_training=1".to_owned(),
        "validation.every=0".to_owned(),
        format!("checkpoint.every={STEPS}"),
    ];
    let processors = if processes == 1 { "0" } else { "0,1" };
    let status = host(processors)
        .args(["train", CONFIG, "--processes", &processes.to_string()])
        .args(sets.iter().flat_map(|set| ["--set", set]))
        .status();
    assert!(status.unwrap().success(), "the run failed");
    let text = std::fs::read_to_string(folder.join(name).join("metrics.jsonl")).unwrap();
    let records: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (first, last) = (&records[1], &records[STEPS]);
    let gained = |key: &str| {
        last.pointer(key).unwrap().as_f64().unwrap() - first.pointer(key).unwrap().as_f64().unwrap()
    };
    gained("/totals/samples") / gained("/timing/totals/seconds")
}
