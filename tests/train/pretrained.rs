//! A real pretrained model, as `cargo xtask smollm` brings it: SmolLM2-135M-Instruct.

use std::path::Path;

use serde_json::Value;

use crate::support::run;

const MODEL: &str = "models/SmolLM2-135M-Instruct";
const SUMS: &str = "configs/language-models/arithmetic.toml";

/// The model's folder, from the project's root.
fn model() -> &'static str {
    let config =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(MODEL).join("config.json");
    assert!(config.is_file(), "{MODEL} is missing; run `cargo xtask smollm`");
    MODEL
}

#[test]
fn it_scores_a_text_as_transformers_does_and_knows_the_capital_of_france() {
    // By transformers 5.23 in 32 bits, of the folder that was imported.
    let expected = [
        -11.5393, -0.3376, -2.4387, -0.4509, -0.2581, -1.6585, -1.2419, -4.9324, -1.9703, -2.5233,
        -10.978, -0.0484, -1.7392, -2.901, -0.6618, -0.0172, -0.9447, -2.9194, -1.232,
    ];
    let text = "The capital of France is Paris, and 12 + 30 = 42.";
    let (code, stdout, stderr) = run(&["policy", "score", model(), "--text", text]);
    assert_eq!(code, 0, "{stderr}");
    let found: Value = serde_json::from_str(&stdout).unwrap();
    let found: Vec<f64> = serde_json::from_value(found["logprobs"].clone()).unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-3, "{found} is not {expected}");
    }
    let question = ["policy", "ask", model(), "What is the capital of France?"];
    let (code, stdout, stderr) =
        run(&[&question[..], &["--temperature", "0", "--max-tokens", "12"]].concat());
    assert!(code == 0 && stdout == "The capital of France is Paris.\n", "{stdout} {stderr}");
}

#[test]
fn an_adapter_over_it_learns_from_sums_and_what_it_learned_is_evaluated_and_exported() {
    model();
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().to_str().unwrap();
    let settings = [
        format!("run.dir={runs:?}"),
        "run.name=sums".to_owned(),
        "train.steps=2".to_owned(),
        "rollout.tasks_per_step=2".to_owned(),
        "validation.tasks=4".to_owned(),
        "validation.tasks_during_training=4".to_owned(),
        // Whatever the processor is good at, so that all machines see the same.
        "policies.base.dtype=float32".to_owned(),
    ];
    let mut arguments = vec!["train", SUMS];
    settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
    let (code, _, stderr) = run(&arguments);
    assert_eq!(code, 0, "{stderr}");
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    let suits_sixteen_bits =
        [" amx_bf16", " avx512_bf16"].iter().any(|flag| processor.contains(flag));
    let note = "times as long here as those of bfloat16 (measured just now)";
    assert_eq!(stderr.contains(note), suits_sixteen_bits, "{stderr}");

    let run_folder = folder.path().join("sums");
    let metrics = std::fs::read_to_string(run_folder.join("metrics.jsonl")).unwrap();
    let records: Vec<Value> =
        metrics.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len(), 3);
    for record in &records[1..] {
        let (player, update) = (&record["roles"]["player"], &record["updates"]["player"]);
        let refused = player["refused"].as_object().unwrap();
        let refused: f64 = refused.values().map(|share| share.as_f64().unwrap()).sum();
        let accepted = player["accepted"].as_f64().unwrap();
        assert!((accepted + refused - 1.0).abs() < 1e-9, "{player}");
        // At first it talks, and the limit cuts it.
        assert!(player["refused"]["cut"].as_f64().unwrap() > 0.3, "{player}");
        assert_eq!(update["clip_high_share"], 0.0, "{update}");
        assert!(update["largest_logprob_difference"].as_f64().unwrap() < 1e-3, "{update}");
        assert!(update["moved"].as_bool().unwrap(), "{update}");
    }

    let path = run_folder.to_str().unwrap();
    let (code, stdout, stderr) = run(&["eval", "--run", path, "--split", "test", "--tasks", "4"]);
    assert!(code == 0 && stdout.contains("player"), "{stdout} {stderr}");
    // What is exported is one model; what the checkpoint holds goes over the base.
    let exported = folder.path().join("exported");
    let exported = exported.to_str().unwrap();
    let (code, _, stderr) = run(&["policy", "export", "--run", path, "--out", exported]);
    assert_eq!(code, 0, "{stderr}");
    let score = |policy: &[&str]| -> Vec<f64> {
        let text = ["--dtype", "float32", "--text", "13 + 19 = 32."];
        let (code, stdout, stderr) = run(&[&["policy", "score"], policy, &text].concat());
        assert_eq!(code, 0, "{stderr}");
        let found: Value = serde_json::from_str(&stdout).unwrap();
        serde_json::from_value(found["logprobs"].clone()).unwrap()
    };
    let adapter = run_folder.join("checkpoints/step-000002/policies/player");
    let (merged, beside) =
        (score(&[exported]), score(&[MODEL, "--adapter", adapter.to_str().unwrap()]));
    let base = score(&[MODEL]);
    let apart = |left: &[f64], right: &[f64]| {
        left.iter().zip(right).map(|(left, right)| (left - right).abs()).fold(0.0, f64::max)
    };
    assert!(apart(&merged, &beside) < 1e-3, "{merged:?} {beside:?}");
    assert!(apart(&merged, &base) > 1e-2, "{merged:?} {base:?}");
}
