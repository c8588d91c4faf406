//! What a run says of its held-out episodes and of what it spent, against the episodes themselves.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::run;
use crate::training::train;

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The share of some outcomes that solved their task.
fn share<'v>(outcomes: impl IntoIterator<Item = &'v Value>) -> f64 {
    let solved: Vec<bool> =
        outcomes.into_iter().map(|one| one["solved"].as_bool().unwrap()).collect();
    solved.iter().filter(|solved| **solved).count() as f64 / solved.len() as f64
}

#[test]
fn outcomes_add_up_to_the_figures_of_their_step_split_and_kind() {
    let folder = tempfile::tempdir().unwrap();
    let metrics = train(folder.path(), "run", &["validation.samples=3"]);
    let outcomes = lines(&folder.path().join("run/outcomes.jsonl"));
    let of = |step: &Value, split: &str, answers: &str| -> Vec<&Value> {
        let is = |one: &&Value| {
            one["step"] == *step && one["split"] == split && one["answers"] == answers
        };
        outcomes.iter().filter(is).collect()
    };
    let mut looked_at = 0;
    for line in &metrics {
        for (split, tasks, samples) in [("validation", 8, 1), ("test", 16, 3)] {
            let Some(held_out) = line.get(split) else { continue };
            let greedy = of(&line["step"], split, "greedy");
            let sampled = of(&line["step"], split, "sampled");
            assert_eq!((greedy.len(), sampled.len()), (tasks, samples * tasks));
            assert_eq!(held_out["greedy"]["success"], share(greedy));
            assert_eq!(held_out["sampled"]["success"], share(sampled.iter().copied()));
            assert_eq!(held_out["sampled"]["tasks"], tasks);
            if samples == 3 {
                let several = &held_out["several"]["plan-path"];
                assert_eq!(several["k"], 3);
                let any =
                    |task: u64| sampled.iter().any(|o| o["task"] == task && o["solved"] == true);
                let any = (0..tasks as u64).filter(|&task| any(task)).count() as f64;
                let pass = several["pass"]["3"]["mean"].as_f64().unwrap();
                assert!((pass - any / tasks as f64).abs() < 1e-12, "{several}");
            }
            looked_at += 1;
        }
    }
    assert_eq!(looked_at, 6, "steps 0, 3, 6 and 8 are validated, the first and the last tested");
}

#[test]
fn totals_are_what_all_steps_so_far_have_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let metrics = train(folder.path(), "run", &["rollout.scheduling=lock-step"]);
    let (mut samples, mut tokens) = (0.0, 0.0);
    for line in &metrics {
        for role in line["roles"].as_object().unwrap().values() {
            let count = role["samples"].as_f64().unwrap();
            samples += count;
            tokens += count * role["completion_tokens"]["mean"].as_f64().unwrap();
        }
        let total = |name: &str| line["totals"][name].as_f64().unwrap();
        assert_eq!(total("samples"), samples);
        assert!((total("completion_tokens") - tokens).abs() < 1e-6 * tokens.max(1.0), "{line}");
        // Four answers read a prompt together.
        assert!(total("prompt_tokens") > 0.0 || line["step"] == 0);
        assert!(total("acts") >= 0.5 * total("samples"), "{line}");
    }
    let timed = lines(&folder.path().join("run/metrics.jsonl"));
    let spent = |line: &Value, name: &str| line["timing"]["totals"][name].as_f64().unwrap();
    for pair in timed.windows(2) {
        for name in ["seconds", "cpu_seconds", "fuel"] {
            assert!(spent(&pair[0], name) < spent(&pair[1], name), "{name}");
        }
    }
}

#[test]
fn a_run_ends_with_the_step_that_spends_its_budget_and_its_learning_rate_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let metrics = train(
        folder.path(),
        "run",
        &["train.steps=1", "train.budget.samples=300", "train.warmup_steps=0"],
    );
    let drawn = |line: &Value| line["totals"]["samples"].as_u64().unwrap();
    let [.., before, last] = &metrics[..] else { panic!("several steps") };
    assert!(drawn(before) < 300 && drawn(last) >= 300, "{} {}", drawn(before), drawn(last));
    assert!(last.get("test").is_some(), "the headline is of the last step");
    let peak = metrics[1]["updates"]["shared"]["learning_rate"].as_f64().unwrap();
    for (line, earlier) in metrics[1..].iter().zip(&metrics) {
        let rate = line["updates"]["shared"]["learning_rate"].as_f64().unwrap();
        let left = 1.0 - drawn(earlier) as f64 / 300.0;
        assert!((rate / peak - (0.1 + 0.9 * left)).abs() < 1e-9, "{line}");
    }
    // More may be spent on it later.
    let config = folder.path().join("run/config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("samples = 300", "samples = 420")).unwrap();
    let (code, _, stderr) =
        run(&["train", "--resume", folder.path().join("run").to_str().unwrap()]);
    assert_eq!(code, 0, "{stderr}");
    let longer = lines(&folder.path().join("run/metrics.jsonl"));
    assert!(longer.len() > metrics.len() && drawn(longer.last().unwrap()) >= 420);
}

#[test]
fn validation_episodes_are_kept_beside_those_of_training_and_are_of_the_same_tasks() {
    let folder = tempfile::tempdir().unwrap();
    train(folder.path(), "run", &["run.recorded_episodes=2"]);
    let episodes = |step: usize| -> Vec<(String, u64)> {
        let path = folder.path().join(format!("run/episodes/step-{step:06}.jsonl.zst"));
        let text = zstd::decode_all(fs::File::open(path).unwrap()).unwrap();
        let read = |line: &str| -> (String, u64) {
            let episode: Value = serde_json::from_str(line).unwrap();
            (episode["split"].as_str().unwrap().to_owned(), episode["seed"].as_u64().unwrap())
        };
        String::from_utf8(text).unwrap().lines().map(read).collect()
    };
    let held_out = [("validation".to_owned(), 0), ("validation".to_owned(), 1)];
    assert_eq!(episodes(0), held_out);
    for (step, validates) in [(2, false), (3, true), (8, true)] {
        let found = episodes(step);
        assert!(found[..2].iter().all(|(split, _)| split == "train"), "{found:?}");
        assert_eq!(found[2..] == held_out, validates, "step {step}: {found:?}");
    }
}

#[test]
fn several_runs_are_evaluated_side_by_side_each_with_its_own_policies() {
    let folder = tempfile::tempdir().unwrap();
    let runs = [("one", "run.seed=1"), ("other", "run.seed=2")].map(|(name, seed)| {
        train(folder.path(), name, &["train.steps=2", seed]);
        folder.path().join(name).display().to_string()
    });
    let file = folder.path().join("outcomes.jsonl").display().to_string();
    let asked = ["--split", "test", "--tasks", "12", "--samples", "4"];
    let both = ["eval", "--run", &runs[0], "--run", &runs[1], "--outcomes", &file, "--json"];
    let (code, stdout, stderr) = run(&[&both[..], &asked].concat());
    assert_eq!(code, 0, "{stderr}");
    let found: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let outcomes = lines(Path::new(&file));
    assert_eq!((found.len(), outcomes.len()), (2, 2 * 12 * 4));
    for (found, (run_folder, own)) in found.iter().zip(runs.iter().zip(outcomes.chunks(48))) {
        assert_eq!(found["run"], **run_folder);
        assert_eq!(found["success"], share(own));
        assert_eq!(found["several"]["avg"]["mean"], found["success"]);
        let alone = ["eval", "--run", run_folder, "--json"];
        let (_, stdout, _) = run(&[&alone[..], &asked].concat());
        assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap(), *found);
    }
    let (_, table, _) = run(&[&both[..5], &asked].concat());
    for word in ["pass@2", "pass@4", "majority@4", "best@4", &runs[0], &runs[1]] {
        assert!(table.contains(word), "{table}");
    }
}

#[test]
fn the_summary_and_an_evaluation_take_the_best_checkpoint_where_it_is_not_the_last() {
    let folder = tempfile::tempdir().unwrap();
    // It unlearns what the warm start taught it.
    let ruin =
        ["run.seed=3", "train.learning_rate=0.02", "train.max_movement=0", "validation.every=1"];
    let metrics = train(folder.path(), "run", &ruin);
    let greedy = |line: &Value| line["validation"]["greedy"]["success"].as_f64().unwrap();
    let most = metrics[1..].iter().map(greedy).fold(0.0, f64::max);
    let step = metrics[1..].iter().position(|line| greedy(line) == most).unwrap() + 1;
    let run_folder = folder.path().join("run");
    let text = fs::read_to_string(run_folder.join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert!(step < 8, "the last step is the best");
    assert_eq!(
        (&summary["best"]["step"], &summary["best"]["validation"]),
        (&step.into(), &most.into())
    );
    let eval = |more: &[&str]| {
        let run_folder = run_folder.display().to_string();
        let asked = ["eval", "--run", &run_folder, "--split", "test", "--tasks", "16", "--json"];
        let (code, stdout, stderr) = run(&[&asked[..], more].concat());
        assert_eq!(code, 0, "{stderr}");
        (serde_json::from_str::<Value>(&stdout).unwrap()["success"].clone(), stderr)
    };
    let (best, note) = eval(&[]);
    assert_eq!(best, summary["best"]["test"]["success"]);
    assert!(note.contains(&format!("taking step {step}, the best on validation tasks")), "{note}");
    assert_eq!(eval(&["--step", "last"]).0, summary["after"]["success"]);
    assert_ne!(summary["best"]["test"], summary["after"], "else nothing is shown here");
}
