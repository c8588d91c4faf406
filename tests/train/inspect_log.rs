//! Evaluations as logs of Inspect's.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use zip::ZipArchive;

use crate::support::run;
use crate::training::train;

/// Names a Python with `inspect_ai`, which has the last word on what its logs are.
const PYTHON: &str = "TROUPE_INSPECT_PYTHON";

fn read(archive: &mut ZipArchive<File>, name: &str) -> Value {
    serde_json::from_reader(archive.by_name(name).unwrap()).unwrap()
}

/// A team on 200 tasks: what was said of it, what became of each episode, and the log.
fn evaluate(folder: &Path, more: &[&str]) -> (Value, Vec<Value>, ZipArchive<File>) {
    let path = |name: &str| folder.join(name).display().to_string();
    let (run_folder, outcomes, log) = (path("run"), path("outcomes.jsonl"), path("logs.eval"));
    let call = ["eval", "--run", &run_folder, "--split", "test", "--json"];
    let files = ["--outcomes", &outcomes, "--inspect-log", &log];
    let (code, stdout, stderr) = run(&[&call[..], &files, more].concat());
    assert_eq!(code, 0, "{stderr}");
    let lines = fs::read_to_string(&outcomes).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let archive = ZipArchive::new(File::open(&log).unwrap()).unwrap();
    (serde_json::from_str(&stdout).unwrap(), lines, archive)
}

/// Inspect reads them, loses nothing, and computes the same figures.
fn inspect(folder: &Path) {
    let Ok(python) = std::env::var(PYTHON) else {
        eprintln!("{PYTHON} names no Python with inspect_ai: the golden log stands in for it");
        return;
    };
    let parity = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/parity");
    let check = |arguments: &[&Path]| {
        let script = parity.join("inspect_log.py");
        let checked = Command::new(&python).arg(script).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{said}");
    };
    let outcomes = folder.join("outcomes.jsonl");
    check(&[&folder.join("logs.eval"), Path::new("--outcomes"), &outcomes]);
    check(&[&parity.join("golden/inspect-log.json")]);
}

#[test]
fn a_log_has_a_sample_for_each_of_200_episodes_and_the_figures_of_host_eval() {
    let folder = tempfile::tempdir().unwrap();
    train(folder.path(), "run", &["train.steps=1"]);
    let (said, outcomes, mut archive) = evaluate(folder.path(), &["--tasks", "200"]);
    let header = read(&mut archive, "header.json");
    let solved = &header["results"]["scores"][0]["metrics"];
    assert_eq!(solved["accuracy"]["value"], said["success"]);
    assert_eq!(solved["stderr"]["value"], said["standard_error"]);
    assert_eq!(header["eval"]["dataset"]["samples"], 200);
    let summaries = read(&mut archive, "summaries.json");
    let summaries = summaries.as_array().unwrap();
    assert_eq!((summaries.len(), outcomes.len()), (200, 200));
    for (summary, outcome) in summaries.iter().zip(&outcomes) {
        let sample = read(&mut archive, &format!("samples/{}_epoch_1.json", outcome["task"]));
        assert_eq!(sample["scores"], summary["scores"]);
        assert_eq!(sample["scores"]["solved"]["value"] == "C", outcome["solved"] == true);
        assert_eq!(sample.get("limit").is_some(), outcome["ending"] == "truncated");
        let events = sample["events"].as_array().unwrap();
        let calls = events.iter().filter(|event| event["event"] == "model").count();
        assert_eq!(outcome["turns"], calls);
    }
    inspect(folder.path());

    // Three samples of a task are its epochs.
    let (said, _, mut archive) = evaluate(folder.path(), &["--tasks", "20", "--samples", "3"]);
    let header = read(&mut archive, "header.json");
    let solved = &header["results"]["scores"][0]["metrics"];
    assert_eq!(solved["stderr"]["value"], said["standard_error"]);
    assert_eq!(solved["pass@2"]["value"], said["several"]["pass"]["2"]["mean"]);
    read(&mut archive, "samples/19_epoch_3.json");
    inspect(folder.path());
}
