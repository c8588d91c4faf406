//! Whether a run's files are what its steps left: forged ones are found.

use std::fs;
use std::path::{Path, PathBuf};

use troupe_core::archive::table_file;
use troupe_core::storage::digest_file;
use troupe_core::table::{read_table, write_table};
use troupe_model::{Device, Policy};
use troupe_training::run::{ChainLog, Link};

use crate::support::{copy_all, host, plugins, run};

const STEPS: usize = 4;

fn trained(folder: &Path) -> PathBuf {
    trained_on(folder, None, &[])
}

/// Where libtorch is told to use what processors of that name can do, with further settings.
fn trained_on(folder: &Path, processor: Option<&str>, more: &[&str]) -> PathBuf {
    let files = plugins(&["plan-path", "planner-executor"]);
    let dir = format!("run.dir=\"{}\"", folder.display());
    let steps = format!("train.steps={STEPS}");
    let mut arguments = vec!["train", "--plugins", &files, "--set", &dir, "--set", &steps];
    for set in [
        "run.name=run",
        "environment.size=5",
        "environment.max_distance=5",
        "imitation.success=0.2",
        "rollout.tasks_per_step=8",
        "checkpoint.every=1",
        "checkpoint.keep=10",
        "validation.every=1",
        "validation.tasks=16",
        "validation.tasks_during_training=16",
    ]
    .iter()
    .chain(more)
    {
        arguments.extend(["--set", set]);
    }
    let mut training = host(&arguments);
    let output = training.envs(processor.map(|name| ("ATEN_CPU_CAPABILITY", name))).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("run")
}

/// A copy of the run with something in it changed.
fn forged(run: &Path, name: &str, forge: impl FnOnce(&Path)) -> PathBuf {
    let copy = run.with_file_name(name);
    copy_all(run, &copy);
    forge(&copy);
    copy
}

fn verify(run_folder: &Path, steps: usize) -> (i32, String) {
    let (folder, steps) = (run_folder.display().to_string(), steps.to_string());
    let (code, stdout, stderr) = run(&["verify", &folder, "--steps", &steps]);
    (code, stdout + &stderr)
}

/// The chain with every link tied anew.
fn tie_anew(run: &Path, change: impl Fn(&mut Link)) {
    let log = ChainLog { folder: run };
    let (old, links) = (log.read().unwrap(), log.read().unwrap());
    log.rewind(None).unwrap();
    let mut before: Option<String> = None;
    for (mut link, old) in links.into_iter().zip(old) {
        change(&mut link);
        let tied = match &before {
            None => old,
            Some(before) => link.tied_to(before),
        };
        log.append(&tied).unwrap();
        before = Some(tied.link);
    }
}

fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from} in {text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

/// One advantage of a step's table.
fn forge_table(run: &Path, step: usize) {
    let path = run.join("table").join(table_file(step));
    let mut rows = read_table(&path).unwrap();
    let row = rows.iter_mut().find(|row| row.advantage.is_some()).unwrap();
    row.advantage = row.advantage.map(|advantage| advantage + 0.5);
    write_table(&path, &rows).unwrap();
}

/// One bit of a checkpoint's weights, and the checkpoint's own digest of them.
fn forge_weight(run: &Path, step: usize) {
    let checkpoint = run.join(format!("checkpoints/step-{step:06}"));
    let weights = checkpoint.join("policies/shared/model.safetensors");
    let before = digest_file(&weights).unwrap();
    let mut bytes = fs::read(&weights).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&weights, bytes).unwrap();
    let after = digest_file(&weights).unwrap();
    replace(&checkpoint.join("checkpoint.json"), &before, &after);
}

#[test]
fn what_was_forged_is_found_and_a_run_that_was_not_is_computed_again_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let whole = trained(folder.path());
    let (code, told) = verify(&whole, STEPS);
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("4 of 4 steps computed again") && told.contains("100.0 %"), "{told}");
    let (code, told) = verify(&whole, 1);
    assert!(code == 0 && told.contains("at least 25.0 %"), "{told}");
    let found = |name: &str, steps: usize, said: &str, forge: &dyn Fn(&Path)| {
        let (code, told) = verify(&forged(&whole, name, forge), steps);
        assert!(code == 7 && told.contains(said), "{name}: {code} {told}");
    };
    found("advantage", 0, "the table of step 2 is not what the step left", &|run| {
        forge_table(run, 2);
    });
    found("figure", 0, "summary.json: `after`", &|run| {
        let summary = fs::read_to_string(run.join("summary.json")).unwrap();
        let mut summary: serde_json::Value = summary.parse().unwrap();
        summary["after"]["success"] = 1.5.into();
        fs::write(run.join("summary.json"), summary.to_string()).unwrap();
    });
    found("metrics", 0, "the line of metrics.jsonl of step 3", &|run| {
        replace(
            &run.join("metrics.jsonl"),
            "\"step\":3,\"episodes\":8",
            "\"step\":3,\"episodes\":9",
        );
    });
    found("outcome", 0, "the outcomes of step 0", &|run| {
        replace(&run.join("outcomes.jsonl"), "\"turns\":", "\"turns\":1");
    });
    found("weight", 0, "the weights of `shared` in the checkpoint of step 2", &|run| {
        forge_weight(run, 2);
    });
    found("chain", 0, "the chain is broken at step 2", &|run| {
        let chain = fs::read_to_string(run.join("chain.jsonl")).unwrap();
        let link: Link = serde_json::from_str(chain.lines().nth(2).unwrap()).unwrap();
        replace(&run.join("chain.jsonl"), &link.metrics, &"0".repeat(64));
    });
    // Whoever makes the chain anew, too, is found by computing again.
    let careful = forged(&whole, "careful", |run| {
        forge_table(run, 2);
        let table = digest_file(&run.join("table").join(table_file(2))).unwrap();
        tie_anew(run, |link| {
            if link.step == 2 {
                link.table = Some(table.clone());
            }
        });
    });
    let (code, told) = verify(&careful, 0);
    assert_eq!(code, 0, "no file contradicts another: {told}");
    let (code, told) = verify(&careful, STEPS);
    assert!(code == 7 && told.contains("step 2, computed again, has another table"), "{told}");
}

/// A hundredth more in one weight of a checkpoint, and all digests made anew.
fn forge_weight_carefully(run: &Path, step: usize) {
    let policy = run.join(format!("checkpoints/step-{step:06}/policies/shared"));
    let weights = policy.join("model.safetensors");
    let before = digest_file(&weights).unwrap();
    let mut bytes = fs::read(&weights).unwrap();
    let last = bytes.len() - 4;
    let weight = f32::from_le_bytes(bytes[last..].try_into().unwrap());
    bytes[last..].copy_from_slice(&(weight + 0.01).to_le_bytes());
    fs::write(&weights, bytes).unwrap();
    let checkpoint = run.join(format!("checkpoints/step-{step:06}/checkpoint.json"));
    replace(&checkpoint, &before, &digest_file(&weights).unwrap());
    let forged = Policy::load(&policy, Device::cpu()).unwrap().trained_digest().unwrap();
    tie_anew(run, |link| {
        if link.step == step {
            link.weights.insert("shared".to_owned(), forged.clone());
        }
    });
}

#[test]
fn another_processors_steps_are_within_last_digits_and_forged_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let whole = trained_on(folder.path(), Some("default"), &[]);
    let (code, told) = verify(&whole, 2);
    assert!(code == 0 && told.contains("no step was computed again to the bit"), "{told}");
    assert_eq!(told.matches("`shared` is within last digits").count(), 2, "{told}");
    let (code, told, _) = run(&["verify", &whole.display().to_string(), "--reach", "0"]);
    assert!(code == 0 && told.contains("nor are its weights bounded: it takes two"), "{told}");
    let found = |name: &str, said: &str, forge: &dyn Fn(&Path)| {
        let forged = forged(&whole, name, forge);
        let (code, told) = verify(&forged, 0);
        assert_eq!(code, 0, "{name}: no file contradicts another: {told}");
        let (code, told) = verify(&forged, STEPS);
        assert!(code == 7 && told.contains(said), "{name}: {code} {told}");
    };
    found("advantage", "step 2, computed again, has another column of advantages", &|run| {
        forge_table(run, 2);
        let table = digest_file(&run.join("table").join(table_file(2))).unwrap();
        tie_anew(run, |link| {
            if link.step == 2 {
                link.table = Some(table.clone());
            }
        });
    });
    found("weight", "of step 3 are not what the stored answers make of step 2's", &|run| {
        forge_weight_carefully(run, 3);
    });
}

#[test]
fn steps_of_a_run_that_was_resumed_are_computed_again_by_what_held_then() {
    let folder = tempfile::tempdir().unwrap();
    let whole = trained_on(folder.path(), None, &["train.warmup_steps=0"]);
    let go_on = |changes: &[(&str, &str)], flags: &[&str]| {
        changes.iter().for_each(|(from, to)| replace(&whole.join("config.toml"), from, to));
        let path = whole.display().to_string();
        let (code, _, stderr) = run(&[&["train", "--resume", &path][..], flags].concat());
        assert_eq!(code, 0, "{stderr}");
    };
    go_on(&[("\nsteps = 4", "\nsteps = 6")], &[]);
    // From the second step to the last, past the one that the run was to end with at first.
    let sparse = forged(&whole, "sparse", |run| {
        fs::remove_file(run.join("summary.json")).unwrap();
        for step in 3..=5 {
            fs::remove_dir_all(run.join(format!("checkpoints/step-{step:06}"))).unwrap();
        }
    });
    let (code, told) = verify(&sparse, 6);
    assert!(code == 0 && told.contains("6 of 6 steps computed again"), "{told}");

    let changes = [("\nsteps = 6", "\nsteps = 7"), ("clip_high = 0.28", "clip_high = 0.3")];
    go_on(&changes, &["--accept-changes"]);
    let (code, told) = verify(&whole, 7);
    assert!(code == 0 && told.contains("1 of 7 steps computed again"), "{told}");
    let why = "steps up to 6 were made before a change to the run was accepted";
    assert!(told.contains(why) && !told.contains("--anyway"), "{told}");
    // Nothing brings back what it was before.
    let (code, told, _) = run(&["verify", &whole.display().to_string(), "--anyway"]);
    assert!(code == 0 && told.contains("1 of 7 steps computed again"), "{told}");
    assert!(told.contains(why), "{told}");
    let forged = forged(&whole, "seed", |run| {
        replace(&run.join("manifest.json"), "\"seed\": 1,", "\"seed\": 2,");
    });
    let (code, told) = verify(&forged, 0);
    assert!(code == 7 && told.contains("the chain is broken at step 7"), "{told}");
}

#[test]
fn a_bundle_is_verified_elsewhere_and_other_components_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = trained(folder.path());
    let bundle = folder.path().join("bundle");
    let (run_folder, into) = (whole.display().to_string(), bundle.display().to_string());
    let (code, told, stderr) = run(&["verify", &run_folder, "--bundle", &into]);
    assert!(code == 0 && told.contains("all that it takes"), "{told}{stderr}");
    fs::remove_dir_all(&whole).unwrap();
    assert!(bundle.join("plugins/plan-path.wasm").is_file() && !bundle.join("episodes").exists());
    let mut elsewhere = host(&["verify", "bundle", "--steps", "1", "--reach", "1"]);
    let output = elsewhere.current_dir(folder.path()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && told.contains("1 of 4 steps computed again"), "{told}");
    fs::copy(bundle.join("plugins/planner-executor.wasm"), bundle.join("plugins/plan-path.wasm"))
        .unwrap();
    let (code, _, _) = run(&["verify", &into]);
    assert_ne!(code, 0);
}
