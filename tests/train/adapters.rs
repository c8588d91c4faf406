//! A low-rank adapter for every role over one frozen base, with the real binary.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{plugins, run};

/// Settings of boards that a few steps make sense of.
const BOARD: [&str; 3] =
    ["environment.size=5", "environment.walls=2", "environment.max_distance=5"];

/// A base in `base/` that has learned a little, so that there is more to learn.
pub fn warm_base(folder: &Path) {
    let runs = format!("run.dir={:?}", folder.display().to_string());
    let sets = [
        runs.as_str(),
        "run.name=warm",
        "train.steps=1",
        "validation.tasks=16",
        "imitation.success=0.25",
        "imitation.ceiling=0.9",
        "imitation.tasks=16",
    ];
    let files = plugins(&["plan-path", "planner-executor"]);
    let mut flags = vec!["train", "--plugins", &files];
    flags.extend(sets.iter().chain(&BOARD).flat_map(|set| ["--set", set]));
    let (code, _, stderr) = run(&flags);
    assert_eq!(code, 0, "{stderr}");
    let start = folder.join("warm/checkpoints/step-000000/policies/shared");
    fs::rename(start, folder.join("base")).unwrap();
}

/// A configuration of a few seconds: a base in `base/`, an adapter per role.
pub fn config(folder: &Path, extra: &str) -> String {
    let base = folder.join("base");
    let flags = ["policy", "new", "--preset", "tiny", "--plugins"];
    let files = plugins(&["plan-path", "planner-executor"]);
    if !base.exists() {
        let (code, _, stderr) =
            run(&[&flags[..], &[&files, "--out", base.to_str().unwrap()]].concat());
        assert_eq!(code, 0, "{stderr}");
    }
    let text = format!(
        "roles = \"per-role\"\n\
         [run]\ndir = {folder:?}\n\
         [plugins]\nfiles = [{}]\n\
         [environment]\nsize = 5\nwalls = 2\nmax_distance = 5\n\
         [policies.base]\npath = {base:?}\n\
         [policies.planner]\nbase = \"base\"\nlora = {{ rank = 4 }}\n\
         [policies.executor]\nbase = \"base\"\nlora = {{ rank = 8, rank_stabilized = true }}\n\
         [train]\nsteps = 4\n\
         [rollout]\ntasks_per_step = 8\nmax_turns = 3\n\
         [validation]\ntasks = 16\ntasks_during_training = 8\nevery = 3\n{extra}",
        files.split(',').map(|file| format!("{file:?}")).collect::<Vec<_>>().join(", "),
    );
    let path = folder.join("config.toml");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn train(config: &str, flags: &[&str]) {
    let (code, _, stderr) = run(&[&["train", config], flags].concat());
    assert_eq!(code, 0, "{stderr}");
}

pub fn metrics(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let read = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record.as_object_mut().unwrap().remove("timing");
        record
    };
    text.lines().map(read).collect()
}

#[test]
fn each_role_trains_its_own_adapter_and_the_base_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    warm_base(folder.path());
    let config = config(folder.path(), "[checkpoint]\nkeep = 9\n");
    let weights = folder.path().join("base/model.safetensors");
    let before = fs::read(&weights).unwrap();
    train(&config, &["--set", "run.name=adapters", "--verify-logprobs"]);
    let run_folder = folder.path().join("adapters");
    for record in &metrics(&run_folder)[1..] {
        let difference = record["largest_logprob_difference"].as_f64().unwrap();
        assert!(difference < 1e-4, "{difference}");
        assert!(record["groups"]["dropped"].as_f64().unwrap() < 0.9, "{record}");
        for role in ["planner", "executor"] {
            let update = &record["updates"][role];
            assert!(update["compared"].as_u64().unwrap() > 8, "{role}: {record}");
            assert!(update["optimizer_steps"].as_u64().unwrap() > 0, "{role}: {record}");
        }
    }
    let adapter = |step: &str, role: &str| {
        let folder = run_folder.join("checkpoints").join(step).join("policies").join(role);
        assert!(!folder.join("model.safetensors").exists());
        let config = fs::read_to_string(folder.join("adapter_config.json")).unwrap();
        (config, fs::read(folder.join("adapter_model.safetensors")).unwrap())
    };
    let (planner, executor) =
        (adapter("step-000004", "planner"), adapter("step-000004", "executor"));
    assert!(planner.0.contains("\"r\": 4") && executor.0.contains("\"use_rslora\": true"));
    assert_ne!(planner.1.len(), executor.1.len());
    for (role, end) in [("planner", &planner), ("executor", &executor)] {
        assert_ne!(adapter("step-000000", role).1, end.1, "the {role} has learned");
    }
    assert_eq!(fs::read(&weights).unwrap(), before);
    let (code, stdout, stderr) =
        run(&["eval", "--run", run_folder.to_str().unwrap(), "--tasks", "8"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("greedy"), "{stdout}");
    let of_role = stdout.lines().filter(|line| line.contains("adapters, planner "));
    assert!(of_role.count() == 1 && stdout.contains("cut by the limit"), "{stdout}");
}

#[test]
fn the_trainer_agrees_with_rows_that_joined_late_and_prompts_read_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    warm_base(folder.path());
    let config = config(folder.path(), "");
    // Everything is told, so prompts are long and begin alike.
    let template = "{% for m in messages %}{{ m['content'] + ' ' }}{% endfor %}<|assistant|>";
    fs::write(folder.path().join("base/chat_template.jinja"), template).unwrap();
    for (name, setting, bound) in [
        ("late", "rollout.cache_gib=0.0004", 1e-4),
        ("overlapped", "rollout.scheduling=overlapped", 1e-4),
        ("penalized", "rollout.repetition_penalty=1.2", 1e-4),
        // Sixteen bits: reported, and no more than rounding.
        ("short", "policies.base.dtype=bfloat16", 0.3),
    ] {
        let name = format!("run.name={name}");
        train(
            &config,
            &["--verify-logprobs", "--set", "train.steps=2", "--set", setting, "--set", &name],
        );
        let run_folder = folder.path().join(&name["run.name=".len()..]);
        for record in &metrics(&run_folder)[1..] {
            let difference = record["largest_logprob_difference"].as_f64().unwrap();
            assert!(difference > 0.0 && difference < bound, "{setting}: {difference}");
        }
    }
}

#[test]
fn with_sixteen_bits_ratios_begin_at_one_unless_somebody_says_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    warm_base(folder.path());
    let config = config(folder.path(), "");
    let clipped = |name: &str, more: &[&str]| -> f64 {
        let name = format!("run.name={name}");
        // A low bound on both sides, so that rounding alone passes it.
        let bounds = ["train.clip_low=1e-9", "train.clip_high=1e-9", "train.minibatch_samples=0"];
        let sets = ["policies.base.dtype=bfloat16", "train.steps=1", &name];
        let sets = sets.iter().chain(&bounds).chain(more).flat_map(|set| ["--set", set]);
        train(&config, &sets.collect::<Vec<_>>());
        let run_folder = folder.path().join(&name["run.name=".len()..]);
        let update = &metrics(&run_folder)[1]["updates"]["planner"];
        let share = |name: &str| update[name].as_f64().unwrap();
        share("clip_low_share") + share("clip_high_share")
    };
    assert_eq!(clipped("default", &[]), 0.0);
    assert!(clipped("sampled", &["train.anchor=sampled"]) > 0.0);
    let written = fs::read_to_string(folder.path().join("default/config.toml")).unwrap();
    assert!(written.contains("anchor = \"rescored\"\nimportance = \"truncate\""), "{written}");
}

#[test]
fn policies_over_one_base_keep_learning_rates_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "");
    let own = "policies.planner.learning_rate=0.0002";
    let common = ["train.learning_rate=0.001", "train.warmup_steps=0", "train.steps=1"];
    let sets = common.iter().chain([&own]).flat_map(|set| ["--set", set]);
    train(&config, &sets.collect::<Vec<_>>());
    let line = &metrics(&folder.path().join("plan-path-planner-executor"))[1]["updates"];
    let rate = |policy: &str| line[policy]["learning_rate"].as_f64().unwrap();
    assert_eq!((rate("planner"), rate("executor")), (0.0002, 0.001));
}

#[test]
fn the_type_of_weights_that_suits_the_machine_is_what_a_run_keeps() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "");
    train(&config, &["--set", "policies.base.dtype=auto", "--set", "train.steps=1"]);
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap();
    let is_fast = [" amx_bf16", " avx512_bf16"].iter().any(|flag| processor.contains(flag));
    let suited = if is_fast { "bfloat16" } else { "float32" };
    let name = folder.path().join("plan-path-planner-executor");
    let written = fs::read_to_string(name.join("config.toml")).unwrap();
    assert!(written.contains(&format!("dtype = {suited:?}")), "{written}");
    let adapter = name.join("checkpoints/step-000001/policies/planner/adapter_model.safetensors");
    let header = String::from_utf8_lossy(&fs::read(adapter).unwrap()[..256]).into_owned();
    let number = if suited == "bfloat16" { "BF16" } else { "F32" };
    assert!(header.contains(&format!("\"dtype\":{number:?}")), "{header}");
}

/// Cards name the base and its licence, and how the policy comes from it.
fn check_cards(base: &str, adapter: &str, merged: &str) {
    let card = |folder: &str| {
        let (code, stdout, stderr) = run(&["policy", "card", folder]);
        assert_eq!(code, 0, "{stderr}");
        crate::cards::read(&stdout)
    };
    let beside = fs::read_to_string(Path::new(merged).join("README.md")).unwrap();
    let (front, text) = crate::cards::read(&beside);
    let said = |key: &str| front[key].as_str().unwrap().to_owned();
    assert_eq!(
        (said("base_model"), said("base_model_relation")),
        ("base".into(), "finetune".into())
    );
    assert_eq!((said("library_name"), said("license")), ("transformers".into(), "unknown".into()));
    assert!(text.contains("licence of its base is not known"), "{text}");
    assert!(text.contains("Successes are the team's, with `executor`"), "{text}");
    fs::write(Path::new(base).join("README.md"), "---\nlicense: apache-2.0\n---\n").unwrap();
    let (front, text) = card(adapter);
    let said = |key: &str| front[key].as_str().unwrap().to_owned();
    assert_eq!(
        (said("base_model"), said("base_model_relation")),
        ("base".into(), "adapter".into())
    );
    assert_eq!((said("library_name"), said("license")), ("peft".into(), "apache-2.0".into()));
    assert!(text.contains("`adapter_model.safetensors`, sha256 `"), "{text}");
}

#[test]
fn an_adapter_merged_into_its_base_scores_alike() {
    let folder = tempfile::tempdir().unwrap();
    warm_base(folder.path());
    let config = config(folder.path(), "");
    train(
        &config,
        &[
            "--set",
            "run.name=short",
            "--set",
            "train.learning_rate=0.05",
            "--set",
            "train.max_movement=0",
        ],
    );
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (base, merged) = (path("base"), path("merged"));
    let adapter = path("short/checkpoints/step-000004/policies/planner");
    let with = ["--adapter", adapter.as_str()];
    let (code, _, stderr) =
        run(&[&["policy", "export", &base, "--out", &merged], &with[..]].concat());
    assert_eq!(code, 0, "{stderr}");
    let (run_folder, of_run) = (path("short"), path("of-run"));
    let taken = ["--run", &run_folder, "--step", "last", "--policy", "planner", "--out", &of_run];
    let (code, _, stderr) = run(&[&["policy", "export"], &taken[..]].concat());
    assert_eq!(code, 0, "{stderr}");
    let weights = |folder: &str| fs::read(Path::new(folder).join("model.safetensors")).unwrap();
    assert_eq!(weights(&of_run), weights(&merged));
    check_cards(&base, &adapter, &of_run);
    let nobody = ["policy", "export", "--run", &run_folder, "--out", &path("none")];
    let (code, _, stderr) = run(&nobody);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("`executor`, `planner`"), "{stderr}");
    let score = |folder: &str, more: &[&str]| -> Vec<f64> {
        let tokens = ["--tokens", "4,5,6,7,8,9,4,2"];
        let (code, stdout, stderr) =
            run(&[&["policy", "score", folder], &tokens[..], more].concat());
        assert_eq!(code, 0, "{stderr}");
        let found: Value = serde_json::from_str(&stdout).unwrap();
        found["logprobs"].as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).collect()
    };
    let (adapted, merged) = (score(&base, &with), score(&merged, &[]));
    assert_eq!(adapted.len(), 7);
    assert!(adapted.iter().zip(&merged).all(|(a, b)| (a - b).abs() < 1e-4));
    let plain = score(&base, &[]);
    assert!(adapted.iter().zip(&plain).any(|(a, b)| (a - b).abs() > 1e-3));
}

#[test]
fn a_run_with_adapters_resumes_as_if_never_stopped() {
    let folder = tempfile::tempdir().unwrap();
    warm_base(folder.path());
    let config = config(folder.path(), "[checkpoint]\nkeep = 9\nevery = 1\n");
    train(&config, &["--set", "run.name=whole"]);
    train(&config, &["--set", "run.name=stopped"]);
    let (whole, stopped) = (folder.path().join("whole"), folder.path().join("stopped"));
    for step in ["step-000003", "step-000004"] {
        fs::remove_dir_all(stopped.join("checkpoints").join(step)).unwrap();
    }
    fs::remove_file(stopped.join("summary.json")).unwrap();
    let (code, _, stderr) = run(&["train", "--resume", stopped.to_str().unwrap()]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(metrics(&whole), metrics(&stopped));
}

#[test]
fn pretrained_policies_are_warm_started_if_asked_until_enough_is_solved_or_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "[imitation]\nsuccess = 1.0\nceiling = 2.0\n");
    let train = |sets: &[&str]| {
        let few = ["train.steps=1", "validation.every=0", "imitation.tasks=16"];
        let sets = few.iter().chain(sets).flat_map(|set| ["--set", *set]);
        let (code, _, stderr) =
            run(&["train", &config].into_iter().chain(sets).collect::<Vec<_>>());
        (code, stderr)
    };
    let (code, stderr) = train(&[]);
    assert!(code == 0 && !stderr.contains("warm start"), "{stderr}");
    let (code, stderr) = train(&["imitation.pretrained=true", "imitation.max_steps=5"]);
    assert_eq!(code, 6, "{stderr}");
    assert!(stderr.contains("after 5 steps") && stderr.contains("imitation.accepted"), "{stderr}");
    let (code, stderr) = train(&["imitation.pretrained=true", "imitation.accepted=0.5"]);
    assert_eq!(code, 0, "{stderr}");
    let said = stderr.lines().find(|line| line.starts_with("warm start:")).unwrap();
    let share: f64 = said.split(", ").last().unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((50.0..=100.0).contains(&share), "{said}");
}

#[test]
fn adapters_that_cannot_be_are_refused_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "");
    for (setting, expected, code) in [
        ("policies.planner.base=bas", "did you mean `base`?", 2),
        ("policies.planner.base=executor", "`executor` is an adapter itself", 2),
        ("policies.planner.path=somewhere", "lora.path", 2),
        ("policies.other.lora.rank=3", "an adapter needs a base", 2),
        ("policies.planner.lora.rank=0", "it is 0, but must be", 2),
        ("policies.planner.lora.target_modules=[\"lm_head\"]", "`lm_head` cannot be adapted", 4),
    ] {
        let (found, _, stderr) = run(&["train", &config, "--set", setting]);
        assert!(stderr.contains(expected), "{setting}: {stderr}");
        assert_eq!(found, code, "{setting}: {stderr}");
    }
}

#[test]
fn a_policy_that_answers_for_no_role_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "");
    let said = |name: &str, sets: &[&str]| {
        let name = format!("run.name={name}");
        let few = [&name, "train.steps=1", "validation.every=0", "validation.tasks=1"];
        let sets = few.iter().chain(sets).flat_map(|set| ["--set", *set]);
        let (code, _, stderr) =
            run(&["train", &config].into_iter().chain(sets).collect::<Vec<_>>());
        assert_eq!(code, 0, "{stderr}");
        stderr
    };
    let stderr = said("both", &[]);
    assert!(!stderr.contains("answers for no role"), "{stderr}");
    let stderr = said("one", &["roles={planner=\"planner\", executor=\"planner\"}"]);
    let note = "note: policy `executor` answers for no role; what is set for it has no effect";
    assert!(stderr.contains(note) && !stderr.contains("`base` answers"), "{stderr}");
}
