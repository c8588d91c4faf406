//! Whole runs of the real binary, small ones in which something is learned: a
//! short warm start on small boards, then a few steps.

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::support::{host, plugins, run};

/// Flags of a run of a few seconds.
fn flags(folder: &Path, name: &str, plugins: String, extra: &[&str]) -> Vec<String> {
    let (dir, name) =
        (format!("run.dir={:?}", folder.display().to_string()), format!("run.name={name}"));
    let sets = [
        &dir,
        &name,
        "train.steps=8",
        "rollout.tasks_per_step=8",
        "rollout.max_turns=3",
        "validation.tasks=16",
        "validation.tasks_during_training=8",
        "validation.every=3",
    ];
    let mut flags = vec!["train".to_owned(), "--plugins".to_owned(), plugins];
    for set in sets.iter().chain(extra) {
        flags.extend(["--set".to_owned(), (*set).to_owned()]);
    }
    flags
}

/// The same on boards that a few steps of imitation make sense of.
fn arguments(folder: &Path, name: &str, extra: &[&str]) -> Vec<String> {
    let sets = [
        "environment.size=5",
        "environment.walls=2",
        "environment.max_distance=5",
        "imitation.success=0.25",
        "imitation.ceiling=0.9",
        "imitation.tasks=16",
    ];
    let files = plugins(&["plan-path", "planner-executor", "solo"]);
    flags(folder, name, files, &[&sets, extra].concat())
}

pub fn train(folder: &Path, name: &str, extra: &[&str]) -> Vec<Value> {
    let arguments = arguments(folder, name, extra);
    let (code, _, stderr) = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(code, 0, "{stderr}");
    metrics(&folder.join(name))
}

/// The metrics of a run without what depends on the machine's speed.
fn metrics(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let read = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record.as_object_mut().unwrap().remove("timing").expect("every record has its timing");
        record
    };
    text.lines().map(read).collect()
}

/// What a run came to, without what depends on the machine's speed.
fn summary(run: &Path) -> Value {
    let text = fs::read_to_string(run.join("summary.json")).unwrap();
    let mut summary: Value = serde_json::from_str(&text).unwrap();
    summary.as_object_mut().unwrap().remove("seconds").unwrap();
    summary
}

#[test]
fn the_same_seed_gives_the_same_metrics_and_another_seed_others() {
    let folder = tempfile::tempdir().unwrap();
    let first = train(folder.path(), "first", &[]);
    assert_eq!(first.len(), 9, "step 0 and 8 steps");
    assert_eq!(first, train(folder.path(), "second", &[]));
    assert_ne!(first, train(folder.path(), "third", &["run.seed=2"]));
}

#[test]
fn a_run_killed_in_the_middle_resumes_as_if_never_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let whole = train(folder.path(), "whole", &["roles=per-role"]);
    let killed = folder.path().join("killed");
    let flags = arguments(folder.path(), "killed", &["roles=per-role"]);
    let mut child = host(&flags.iter().map(String::as_str).collect::<Vec<_>>())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let lines =
        || fs::read_to_string(killed.join("metrics.jsonl")).map_or(0, |t| t.lines().count());
    while lines() < 4 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!killed.join("summary.json").exists(), "it was killed before its end");
    // What a process writes after its last checkpoint is written again.
    let metrics_file = killed.join("metrics.jsonl");
    let text = fs::read_to_string(&metrics_file).unwrap();
    fs::write(&metrics_file, text + "{\"step\":7,\"epis").unwrap();
    let (code, _, stderr) = run(&["train", "--resume", killed.to_str().unwrap()]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(metrics(&killed), whole);
    assert_eq!(summary(&killed), summary(&folder.path().join("whole")));
    let outcomes = |run: &Path| fs::read_to_string(run.join("outcomes.jsonl")).unwrap();
    assert_eq!(outcomes(&killed), outcomes(&folder.path().join("whole")));
}

#[test]
fn a_run_begins_with_what_was_set_and_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let told = |name: &str, extra: &[&str]| {
        let short = ["imitation.enabled=false", "train.steps=1"];
        let arguments = arguments(folder.path(), name, &[&short, extra].concat());
        let (code, _, stderr) = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(code, 0, "{stderr}");
        stderr
    };
    let steps = "train.steps has no effect, because train.budget says when the run ends";
    let limit = "note: tasks.limit does nothing here: no tasks come from files";
    let plain = told("plain", &[]);
    assert!(!plain.contains("does nothing here"), "{plain}");
    for (name, extra, note) in
        [("budget", "train.budget.samples=20", steps), ("limit", "tasks.limit=3", limit)]
    {
        assert!(told(name, &[extra]).contains(note) && !plain.contains(note), "{note}");
    }
}

/// The weights of a run's policies after a step, by name.
fn weights(run: &Path, step: usize) -> BTreeMap<String, Vec<u8>> {
    let policies = run.join(format!("checkpoints/step-{step:06}/policies"));
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path().join("model.safetensors")).unwrap())
    };
    fs::read_dir(policies).unwrap().map(|entry| read(entry.unwrap())).collect()
}

#[test]
fn every_estimator_trains_every_policy_and_the_sampler_agrees_with_the_trainer() {
    let folder = tempfile::tempdir().unwrap();
    for (name, policies, extra) in [
        ("at-grpo", 2, &["advantage.estimator=at-grpo", "roles=per-role"][..]),
        ("naive", 1, &["advantage.estimator=naive", "rollout.branch_choice=greedy"]),
        ("rloo", 1, &["advantage.estimator=rloo"]),
        ("gdpo", 1, &["advantage.estimator=gdpo"]),
        ("turn-grpo", 1, &["advantage.estimator=turn-grpo", "rollout.scheme=trajectory"]),
        ("grpo", 1, &["advantage.estimator=grpo", "rollout.scheme=trajectory"]),
        (
            "dr-grpo",
            2,
            &[
                "advantage.estimator=dr-grpo",
                "rollout.scheme=trajectory",
                "rollout.top_p=0.9",
                "rollout.top_k=20",
                "roles=per-role",
            ],
        ),
        (
            "solo",
            1,
            &["plugins.workflow=solo", "rollout.branch_choice=softmax", "rollout.temperature=0.8"],
        ),
    ] {
        let sets =
            [extra, &["train.steps=2", "train.warmup_steps=0", "checkpoint.keep=3"]].concat();
        let mut flags = arguments(folder.path(), name, &sets);
        flags.push("--verify-logprobs".to_owned());
        let (code, _, stderr) = run(&flags.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(code, 0, "{name}: {stderr}");
        let path = folder.path().join(name);
        for record in &metrics(&path)[1..] {
            let difference = record["largest_logprob_difference"].as_f64().unwrap();
            assert!(difference > 0.0 && difference < 1e-4, "{name}: {difference}");
            assert!(record["groups"]["dropped"].as_f64().unwrap() < 0.9, "{name}: {record}");
            let updates = record["updates"].as_object().unwrap();
            assert_eq!(updates.len(), policies, "{name}: {record}");
            for update in updates.values() {
                assert!(update["compared"].as_u64().unwrap() > 8, "{name}: {record}");
                assert!(update["optimizer_steps"].as_u64().unwrap() > 0, "{name}: {record}");
                assert!(update["gradient_norm"].as_f64().unwrap() > 0.0, "{name}: {record}");
            }
        }
        let [start, middle, end] = [0, 1, 2].map(|step| weights(&path, step));
        assert_eq!(start.len(), policies);
        for policy in start.keys() {
            let moved = start[policy] != middle[policy] && middle[policy] != end[policy];
            assert!(moved, "{name}: `{policy}` did not move");
        }
    }
}

#[test]
fn twenty_steps_raise_a_warm_policys_held_out_success_by_twenty_points() {
    let folder = tempfile::tempdir().unwrap();
    let sets = ["train.steps=20", "rollout.tasks_per_step=32", "validation.tasks=128"];
    train(folder.path(), "run", &[&sets[..], &["imitation.tasks=64", "run.seed=3"]].concat());
    let [before, after] = ["before", "after"]
        .map(|side| summary(&folder.path().join("run"))[side]["success"].as_f64().unwrap());
    assert!(after >= before + 0.2, "from {before} to {after}");
}

#[test]
fn a_run_folder_explains_itself_and_its_config_repeats_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let first = train(folder.path(), "first", &["train.steps=2"]);
    let path = folder.path().join("first");
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(path.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["plugins"][0]["name"], "plan-path");
    assert_eq!(manifest["policies"][0]["roles"], serde_json::json!(["executor", "planner"]));
    let summary = summary(&path);
    for (side, record) in [("before", &first[0]), ("after", &first[2])] {
        let low = summary[side]["low"].as_f64().unwrap();
        let success = summary[side]["success"].as_f64().unwrap();
        assert!(low <= success && success <= summary[side]["high"].as_f64().unwrap());
        assert_eq!(summary[side]["tasks"], 16);
        assert_eq!(summary[side], record["test"]["greedy"], "the headline is of the test split");
        assert_eq!(summary["sampled"][side], record["test"]["sampled"]);
        assert_eq!(record["validation"]["greedy"]["tasks"], 8);
    }
    assert!(first[1].get("test").is_none(), "nobody looks at test tasks on the way");
    let config = path.join("config.toml");
    let (code, _, stderr) = run(&["train", config.to_str().unwrap()]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(metrics(&folder.path().join("plan-path-planner-executor")), first, "{stderr}");
}

/// Flags of a run of two steps in which plugins misbehave.
fn hostile_arguments(folder: &Path, name: &str, workflow: &str, extra: &[&str]) -> Vec<String> {
    let fixture = |name: &str| crate::support::fixture(name).display().to_string();
    let workflow_file =
        if workflow == "solo" { plugins(&["solo"]) } else { fixture("hostile-workflow") };
    let workflow_name = format!("plugins.workflow={workflow}");
    let mut sets = vec![
        workflow_name.as_str(),
        "imitation.enabled=false",
        "train.steps=2",
        "plugins.limits.fuel=10000000",
    ];
    sets.extend(extra);
    flags(folder, name, format!("{},{workflow_file}", fixture("hostile-environment")), &sets)
}

#[test]
fn void_episodes_are_counted_and_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    for (workflow, mode, cause) in [
        ("solo", "environment.mode=trap-act", "trap"),
        ("solo", "environment.mode=nan-reward", "invalid_answer"),
        ("solo", "environment.mode=spin", "out_of_fuel"),
        ("hostile-workflow", "workflow.mode=never-ending", "invalid_answer"),
        ("hostile-workflow", "workflow.mode=unknown-role", "invalid_answer"),
        ("hostile-workflow", "workflow.mode=wrong-role-action", "invalid_answer"),
        ("hostile-workflow", "workflow.mode=wait-for-nobody", "invalid_answer"),
    ] {
        let name = mode.rsplit('=').next().unwrap();
        let flags =
            hostile_arguments(folder.path(), name, workflow, &[mode, "rollout.max_void_share=1.0"]);
        let (code, _, stderr) = run(&flags.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(code, 0, "{mode}: {stderr}");
        let records = metrics(&folder.path().join(name));
        assert_eq!(records.len(), 3, "{mode}: the run went on");
        assert_eq!(records[2]["void"][cause], 8, "{mode}: {}", records[2]);
        assert_eq!(records[2]["groups"]["groups"], 0, "{mode}: void episodes are in no group");
        let success = &records[0]["test"]["greedy"];
        assert_eq!((&success["tasks"], &success["void"]), (&16.into(), &16.into()), "{mode}");
    }
}

#[test]
fn too_many_void_episodes_stop_the_run_and_say_whose_fault_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let flags = hostile_arguments(folder.path(), "run", "solo", &["environment.mode=trap-act"]);
    let (code, _, stderr) = run(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(code, 6, "{stderr}");
    let what = "8 of 8 held-out episodes of step 0 were void";
    assert!(stderr.contains(what) && stderr.contains("hostile-environment"), "{stderr}");
}

/// Train a singer nobody listens to beside a speaker.
fn train_with(
    workflow: &str,
    folder: &Path,
    name: &str,
    extra: &[&str],
) -> (i32, Vec<Value>, String) {
    let sets = [
        "validation.every=0",
        "validation.tasks=4",
        "rollout.tasks_per_step=4",
        "imitation.success=0.1",
        "environment.size=4",
        "environment.walls=0",
        "environment.max_distance=4",
    ];
    let mut flags = arguments(folder, name, &sets);
    flags[2] =
        format!("{},{}", plugins(&["plan-path"]), crate::support::fixture(workflow).display());
    flags.extend(extra.iter().flat_map(|set| ["--set".to_owned(), set.to_string()]));
    let (code, _, stderr) = run(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    (code, metrics(&folder.join(name)), stderr)
}

#[test]
fn a_role_that_learns_nothing_is_named_once_and_its_groups_are_counted_apart() {
    let folder = tempfile::tempdir().unwrap();
    // Whatever the judge says, the same is done; what it says counts for the solver.
    let steps = ["train.steps=12", "roles=per-role"];
    let (code, records, stderr) = train_with("judge-workflow", folder.path(), "run", &steps);
    assert_eq!(code, 0, "{stderr}");
    let warning = "the role `judge` has learned nothing for 10 steps";
    assert_eq!(stderr.matches(warning).count(), 1, "{stderr}");
    for record in &records[1..] {
        let told = record.get("warnings").is_some_and(|told| told.to_string().contains(warning));
        assert_eq!(told, record["step"] == 10, "{record}");
        assert_eq!(record["roles"]["judge"]["groups"]["dropped"], 1.0);
        assert_eq!(record["updates"]["judge"]["compared"], 0);
    }
    let kept = |record: &&Value| record["roles"]["solver"]["groups"]["dropped"] != 1.0;
    assert!(records[1..].iter().filter(kept).count() > 6, "the solver learns");
    assert!(!stderr.contains("the role `solver`"), "{stderr}");
}

#[test]
fn flat_groups_stay_in_the_update_where_entropy_or_kl_are_to_act_on_all() {
    let folder = tempfile::tempdir().unwrap();
    let samples = |name: &str, extra: &[&str]| -> (u64, u64, u64) {
        let (code, records, stderr) = train_with(
            "chorus-workflow",
            folder.path(),
            name,
            &[&["train.steps=1"], extra].concat(),
        );
        assert_eq!(code, 0, "{stderr}");
        let number = |value: &Value| value.as_u64().unwrap();
        let roles = &records[1]["roles"];
        let sampled = number(&roles["singer"]["samples"]) + number(&roles["speaker"]["samples"]);
        let update = &records[1]["updates"]["shared"];
        (number(&update["samples"]), number(&update["compared"]), sampled)
    };
    let (all, compared, sampled) = samples("all", &["train.regularize=all"]);
    assert!(all == sampled && 0 < compared && compared < all);
    let no_bonus = "train.entropy_coefficient=0.0";
    for (name, extra) in [("kept", &[][..]), ("none", &[no_bonus, "train.regularize=all"])] {
        let (kept, compared, sampled) = samples(name, extra);
        assert!(kept < sampled && compared > 0, "{extra:?}: {kept} of {sampled}");
    }
    let (with_kl, _, sampled) =
        samples("kl", &[no_bonus, "train.kl_coefficient=0.1", "train.regularize=all"]);
    assert_eq!(with_kl, sampled);
}

/// A run that stops itself in one of these steps: its message.
fn stopped(extra: &[&str], steps: RangeInclusive<u64>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let flags = arguments(folder.path(), "run", extra);
    let (code, _, stderr) = run(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(code, 6, "{stderr}");
    let path = folder.path().join("run");
    let last = metrics(&path).pop().unwrap()["step"].as_u64().unwrap();
    assert!(steps.contains(&last), "the step that went wrong is in the metrics: {last}");
    let saved = path.join(format!("checkpoints/step-{:06}", last - 1));
    assert!(saved.is_dir() && !path.join(format!("checkpoints/step-{last:06}")).exists());
    stderr
}

#[test]
fn a_policy_that_runs_away_or_stands_still_stops_the_run_at_the_checkpoint_before() {
    let far = ["train.learning_rate=0.5", "train.max_movement=1e-12", "train.warmup_steps=0"];
    let stderr = stopped(&far, 5..=5);
    assert!(
        stderr.contains("5 steps in a row, up to step 5, moved the policy `shared`"),
        "{stderr}"
    );
    let once = stderr.matches("a step moved the policy `shared` by more than").count();
    assert_eq!(once, 1, "that steps are given up is said once: {stderr}");
    let stderr = stopped(&["train.learning_rate=1e-30"], 1..=2);
    assert!(stderr.contains("changed no weight of the policy `shared`"), "{stderr}");
}

#[test]
fn a_run_in_which_nobody_learns_and_nothing_is_solved_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let sets = ["environment.mode=trap-act", "rollout.max_void_share=1.0", "train.steps=12"];
    let flags = hostile_arguments(folder.path(), "run", "solo", &sets);
    let (code, _, stderr) = run(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(code, 6, "{stderr}");
    assert!(stderr.contains("in the last 10 steps no role learned anything"), "{stderr}");
    assert_eq!(metrics(&folder.path().join("run")).len(), 11);
}

#[test]
fn a_learning_rate_that_destroys_a_large_policy_is_refused_and_a_tiny_one_gets_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let large = [
        "policies.shared.hidden_size=512",
        "policies.shared.layers=6",
        "policies.shared.intermediate_size=1536",
        "train.learning_rate=1e-3",
    ];
    let show = |extra: &[&str]| {
        let mut flags = arguments(folder.path(), "run", extra);
        flags.push("--print-config".to_owned());
        run(&flags.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let (code, _, stderr) = show(&large);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("`train.learning_rate` cannot be used: 1e-3"), "{stderr}");
    let rate = |extra| {
        let (code, stdout, stderr) = show(extra);
        assert_eq!(code, 0, "{stderr}");
        let config: toml::Table = stdout.parse().unwrap();
        config["train"]["learning_rate"].as_float().unwrap()
    };
    assert_eq!(rate(&large[..3]), 2e-5);
    assert_eq!(rate(&[]), 1e-3);
}
