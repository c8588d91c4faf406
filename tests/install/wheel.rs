//! The wheel as pip and the dynamic linker have it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::venv::{Venv, command, said, wheel};

/// The quickstart with ten steps, and less of everything that is before, after and within them.
const TEN_STEPS: [&str; 7] = [
    "train.steps=10",
    "rollout.tasks_per_step=4",
    "imitation.max_steps=5",
    "imitation.success=0",
    "imitation.tasks=32",
    "validation.tasks=8",
    "validation.tasks_during_training=8",
];

/// The metrics of the quickstart by a program, without what depends on the clock.
fn quickstart(mut program: std::process::Command, folder: &Path) -> Vec<Value> {
    program.args(["train", "configs/plan-path/quickstart.toml", "--set", "run.name=ten"]);
    program.arg("--set").arg(format!("run.dir={:?}", folder.display().to_string()));
    said(program.args(TEN_STEPS.iter().flat_map(|set| ["--set", set])));
    let text = fs::read_to_string(folder.join("ten/metrics.jsonl")).unwrap();
    let read = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record.as_object_mut().unwrap().remove("timing").unwrap();
        record
    };
    text.lines().map(read).collect()
}

#[test]
fn what_pip_installed_learns_bit_by_bit_what_the_clone_does() {
    let venv = Venv::shared();
    let folder = tempfile::tempdir().unwrap();
    let [there, here] = ["there", "here"].map(|name| folder.path().join(name));
    let installed = quickstart(venv.program("host"), &there);
    let mut clone = command(Path::new(env!("CARGO_BIN_EXE_host")));
    clone.current_dir(crate::venv::root());
    let built = quickstart(clone, &here);
    assert_eq!(installed.len(), 11, "the start and ten steps");
    for (one, other) in installed.iter().zip(&built) {
        assert_eq!(one, other);
    }
    // Nothing of the clone was used.
    let config = fs::read_to_string(there.join("ten/config.toml")).unwrap();
    let package = venv.packages().canonicalize().unwrap().join("troupe");
    let components: Vec<&str> = config.split('"').filter(|text| text.ends_with(".wasm")).collect();
    assert!(!components.is_empty(), "{config}");
    for component in components {
        assert!(Path::new(component).starts_with(&package), "{component}");
    }
}

#[test]
fn every_file_of_the_wheel_is_in_its_record_with_its_digest() {
    let venv = Venv::shared();
    let said = venv.script("record.py", &[wheel()]);
    let count: usize = said.trim().parse().unwrap();
    assert!(count > 100, "{count} files");
}

#[test]
fn an_engine_sends_programs_to_the_program_that_pip_installed() {
    let venv = Venv::shared();
    let mut host = venv.program("host");
    host.args(["train", "--plugins", "math,reasoner-tool", "--grant", "reasoner-tool=sandbox"]);
    let small = [
        "imitation.enabled=false",
        "train.steps=1",
        "rollout.tasks_per_step=1",
        "rollout.branches=2",
        "rollout.store=none",
        "validation.tasks=1",
        "validation.tasks_during_training=1",
    ];
    said(host.args(small.iter().flat_map(|set| ["--set", set])));
}

#[test]
fn without_torch_it_says_what_to_install_and_uninstalling_leaves_nothing() {
    let venv = Venv::without_torch();
    let before = venv.files();
    venv.pip(&["install", "--no-deps", wheel().to_str().unwrap()]);
    assert!(venv.files().len() > before.len() + 100);

    for name in ["host", "troupe"] {
        let version = said(venv.program(name).arg("--version"));
        assert!(version.starts_with(&format!("host {}", env!("CARGO_PKG_VERSION"))), "{version}");
    }
    let found = venv.program("host").args(["train", "--plugins", "sudoku"]).output().unwrap();
    let told = String::from_utf8(found.stderr).unwrap();
    assert_eq!(found.status.code(), Some(1), "{told}");
    assert!(
        told.contains("there is no torch in") && told.contains("pip install 'torch=="),
        "{told}"
    );
    assert_eq!(venv.work().read_dir().unwrap().count(), 0);
    // The engine itself finds none either: not that of the clone, with which it was linked.
    let engine = command(&venv.packages().join("troupe/host-engine")).output().unwrap();
    let told = String::from_utf8(engine.stderr).unwrap();
    assert!(told.contains("libtorch_cpu.so: cannot open shared object file"), "{told}");

    said(venv.program("python3").args(["-c", "import troupe; troupe.call('--version')"]));
    venv.pip(&["uninstall", "--yes", "troupe"]);
    assert_eq!(venv.files(), before);
    assert!(!venv.packages().join("troupe").exists());
}
