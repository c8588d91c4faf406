//! `configs/rows/paper.toml` and its language models, with a random one of Qwen3's shape, scaled
//! down, that reads text.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tch::Kind;
use troupe_core::storage::{read_json, write_json};
use troupe_model::example::write_checkpoint;

use crate::support::run;

/// The vocabulary of SmolLM2's tokenizer, which it reads with.
const VOCABULARY: i64 = 49_152;
/// Qwen3's in short: it may be told not to think.
const TEMPLATE: &str = "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + \
    message.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}\
    {{ '<|im_start|>assistant\\n' }}{% if enable_thinking is defined and not enable_thinking %}\
    {{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}{% endif %}";

fn random_qwen3(folder: &Path) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let golden: Value = read_json(&root.join("tests/parity/golden/qwen3-bf16.json")).unwrap();
    let mut config = golden["config"].clone();
    config["vocab_size"] = VOCABULARY.into();
    config["max_position_embeddings"] = 8192.into();
    let mut shapes: BTreeMap<String, Vec<i64>> =
        serde_json::from_value(golden["shapes"].clone()).unwrap();
    for name in ["model.embed_tokens.weight", "lm_head.weight"] {
        shapes.entry(name.to_owned()).and_modify(|shape| shape[0] = VOCABULARY);
    }
    write_checkpoint(folder, &config, &shapes, Kind::BFloat16).unwrap();
    let words = root.join("models/SmolLM2-135M-Instruct");
    assert!(words.join("tokenizer.json").is_file(), "run `cargo xtask smollm` first");
    fs::copy(words.join("tokenizer.json"), folder.join("tokenizer.json")).unwrap();
    let mut settings: Value = read_json(&words.join("tokenizer_config.json")).unwrap();
    settings["chat_template"] = json!(TEMPLATE);
    write_json(&folder.join("tokenizer_config.json"), &settings).unwrap();
    folder.display().to_string()
}

/// Two steps on few tasks; all else as the files say.
const FEW: [&str; 7] = [
    "run.name=run",
    "train.steps=2",
    "rollout.tasks_per_step=2",
    "rollout.max_turns=2",
    "rollout.max_completion_tokens=16",
    "validation.tasks=2",
    "validation.tasks_during_training=2",
];

fn with<'a>(files: &'a [&str], sets: &'a [&str]) -> Vec<&'a str> {
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    ["train"].into_iter().chain(files.iter().copied()).chain(sets).collect()
}

#[test]
fn the_papers_rows_say_what_they_take_of_a_card_and_run_here() {
    let folder = tempfile::tempdir().unwrap();
    let model = random_qwen3(&folder.path().join("model"));
    let (board, tools) = ("configs/plan-path/team.toml", "configs/plan-path/tool-team.toml");
    let (paper, per_role) = ("configs/rows/paper.toml", "configs/rows/at-grpo-per-role.toml");
    let [adapters, all] = ["language-model", "language-model-all-weights"]
        .map(|name| format!("configs/rows/{name}.toml"));
    let paths = ["base", "default"].map(|policy| format!("policies.{policy}.path={model:?}"));
    for (files, path) in [
        (&[board, paper][..], None),
        (&[tools, paper, &adapters, per_role], Some(&paths[0])),
        (&[tools, paper, &all, per_role], Some(&paths[1])),
    ] {
        let path: Vec<&str> = path.into_iter().map(String::as_str).collect();
        let mut planned = with(files, &path);
        planned.extend(["--plan", "24"]);
        let (code, stdout, stderr) = run(&planned);
        assert_eq!(code, 0, "{stderr}");
        assert!(stdout.starts_with("plan: ") && stdout.ends_with(" of 24.0 GB\n"), "{stdout}");

        let run_dir = folder.path().join(format!("{}", files.len() + path.len()));
        let _ = fs::remove_dir_all(&run_dir);
        let dir = format!("run.dir={:?}", run_dir.display().to_string());
        let (code, _, stderr) = run(&with(files, &[&path[..], &FEW, &[dir.as_str()]].concat()));
        assert_eq!(code, 0, "{stderr}");
        let text = fs::read_to_string(run_dir.join("run/metrics.jsonl")).unwrap();
        let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(last["step"], 2, "{last}");
        let policies = if path.is_empty() { 1 } else { 2 };
        assert_eq!(last["updates"].as_object().unwrap().len(), policies, "{last}");
    }
}

#[test]
fn a_plan_for_a_card_counts_16_bits_where_the_type_is_automatic_and_refuses_what_does_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let model = random_qwen3(&folder.path().join("model"));
    let path = format!("policies.base.path={model:?}");
    let files = ["configs/language-models/team.toml"];
    let weights = |dtype: &str| {
        let sets = [path.clone(), format!("policies.base.dtype=\"{dtype}\"")];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let mut planned = with(&files, &sets);
        planned.extend(["--plan", "24"]);
        let (code, stdout, stderr) = run(&planned);
        assert_eq!(code, 0, "{stderr}");
        stdout.split(" · ").find(|part| part.starts_with("weights")).unwrap().to_owned()
    };
    assert_eq!(weights("auto"), weights("bfloat16"));
    assert_ne!(weights("auto"), weights("float32"));

    let large =
        [path.as_str(), "rollout.max_completion_tokens=4096", "train.microbatch_tokens=1_000_000"];
    let mut planned = with(&files, &large);
    planned.extend(["--set", "rollout.branches=256", "--plan", "1"]);
    let (code, _, stderr) = run(&planned);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("and there are 1.0 GB: "), "{stderr}");
}
