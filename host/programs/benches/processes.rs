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

const CONFIG: &str = "configs/plan-path/quickstart.toml";

/// What is trained.
struct Case {
    name: &'static str,
    rounds: usize,
    steps: usize,
    sets: &'static [&'static str],
}

const CASES: [Case; 3] = [
    Case { name: "quickstart", rounds: 5, steps: 20, sets: &[] },
    Case {
        name: "quickstart with 256 tasks a step",
        rounds: 3,
        steps: 10,
        sets: &["rollout.tasks_per_step=256"],
    },
    Case {
        name: "a policy of 9 million parameters, mini-batches of 512 answers",
        rounds: 3,
        steps: 3,
        sets: &[
            "policies.shared.hidden_size=384",
            "policies.shared.layers=6",
            "policies.shared.heads=6",
            "policies.shared.key_value_heads=2",
            "policies.shared.head_size=64",
            "policies.shared.intermediate_size=1024",
            "train.minibatch_samples=512",
        ],
    },
];

fn main() {
    // `cargo test --all-targets` runs benchmarks, too, but without this.
    if !std::env::args().any(|argument| argument == "--bench") {
        return println!("run `cargo bench -p host --bench processes`");
    }
    let chosen = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_chosen = |case: &&Case| chosen.as_ref().is_none_or(|part| case.name.contains(part));
    println!("\nSamples a second of training\n");
    println!("| | round | 1 process, 1 processor | 2 processes, 2 processors | ratio |");
    println!("|---|---|---|---|---|");
    for case in CASES.iter().filter(is_chosen) {
        let folder = tempfile::tempdir().unwrap();
        // One policy to begin with for all, made by a warm start that is not measured.
        let warm = folder.path().join("warm");
        let made =
            host("0,1").args(["imitate", CONFIG, "--out"]).arg(&warm).args(case.sets()).status();
        assert!(made.unwrap().success(), "the warm start failed");
        let mut ratios = Vec::new();
        for round in 1..=case.rounds {
            let [one, two] =
                [1, 2].map(|count| case.samples_per_second(folder.path(), round, count));
            println!("| {} | {round} | {one:.0} | {two:.0} | {:.2} |", case.name, two / one);
            ratios.push(two / one);
        }
        ratios.sort_by(f64::total_cmp);
        println!("| {} | median | | | {:.2} |", case.name, ratios[case.rounds / 2]);
    }
}

/// The program on these processors.
fn host(processors: &str) -> Command {
    let mut command = Command::new("taskset");
    command
        .args(["--cpu-list", processors, env!("CARGO_BIN_EXE_host")])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("TROUPE_DEVICE", "cpu")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

impl Case {
    fn sets(&self) -> Vec<&str> {
        self.sets.iter().flat_map(|set| ["--set", set]).collect()
    }

    /// From the end of the first step to the end of the last one.
    fn samples_per_second(&self, folder: &Path, round: usize, processes: usize) -> f64 {
        let (name, steps) = (format!("{processes}-{round}"), self.steps);
        let sets = [
            format!("run.dir={:?}", folder.display().to_string()),
            format!("run.name={name}"),
            format!("train.steps={steps}"),
            format!("policies.shared.path={:?}", folder.join("warm/shared").display().to_string()),
            "validation.tasks=1".to_owned(),
            "validation.tasks_during_training=1".to_owned(),
            "validation.every=0".to_owned(),
            format!("checkpoint.every={steps}"),
        ];
        let processors = if processes == 1 { "0" } else { "0,1" };
        let status = host(processors)
            .args(["train", CONFIG, "--processes", &processes.to_string()])
            .args(self.sets())
            .args(sets.iter().flat_map(|set| ["--set", set]))
            .status();
        assert!(status.unwrap().success(), "the run failed");
        let text = std::fs::read_to_string(folder.join(name).join("metrics.jsonl")).unwrap();
        let records: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (first, last) = (&records[1], &records[steps]);
        let at = |record: &Value, key: &str| record.pointer(key).unwrap().as_f64().unwrap();
        let gained = |key: &str| at(last, key) - at(first, key);
        gained("/totals/samples") / gained("/timing/totals/seconds")
    }
}
