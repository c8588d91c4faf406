//! Model cards: what is said of a policy is what its run has written down.

use std::fs;
use std::path::Path;

use serde_json::Value;
use yaml_rust2::{Yaml, YamlLoader};

use crate::support::run;
use crate::training::train;

/// The front matter of a card, and its text.
pub fn read(card: &str) -> (Yaml, String) {
    let (front, text) = card.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    let front = YamlLoader::load_from_str(front).unwrap().remove(0);
    (front, text.to_owned())
}

fn said(arguments: &[&str]) -> String {
    let (code, stdout, stderr) = run(arguments);
    assert_eq!(code, 0, "{stderr}");
    stdout
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_card_says_what_a_policy_was_trained_on_and_what_was_measured_and_what_was_not() {
    let folder = tempfile::tempdir().unwrap();
    train(folder.path(), "run", &["train.steps=1"]);
    let path = |name: &str| folder.path().join(name);
    let shown = |name: &str| path(name).display().to_string();
    let card = said(&["policy", "card", &shown("run"), "--step", "last"]);
    let (front, text) = read(&card);
    assert_eq!(front["license"].as_str(), Some("unknown"));
    assert_eq!(front["library_name"].as_str(), Some("transformers"));
    assert_eq!(front["pipeline_tag"].as_str(), Some("text-generation"));
    assert!(front["base_model"].is_badvalue(), "it began as random weights");
    let tags: Vec<&str> =
        front["tags"].as_vec().unwrap().iter().map(|tag| tag.as_str().unwrap()).collect();
    assert_eq!(tags, ["troupe", "reinforcement-learning", "multi-agent", "plan-path"]);

    let manifest = json(&path("run/manifest.json"));
    for plugin in manifest["plugins"].as_array().unwrap() {
        let [name, version, digest] = ["name", "version", "digest"].map(|key| plugin[key].as_str());
        let row = format!("| {} | {} | `{}` |", name.unwrap(), version.unwrap(), digest.unwrap());
        assert!(text.contains(&row), "{row}\n{text}");
    }
    assert!(text.contains("| `environment.walls` | `2` | – |"), "{text}");
    let summary = json(&path("run/summary.json"));
    let percent = |key: &str| 100.0 * summary["after"][key].as_f64().unwrap();
    let [share, low, high] = ["success", "low", "high"].map(percent);
    let row = format!("| test | 1 | likeliest | {share:.1} % ({low:.1} to {high:.1} %) | 16 |");
    assert!(text.contains(&row), "{row}\n{text}");
    assert!(text.contains("another seed of training may come to something else"), "{text}");
    assert!(text.contains("Nothing else was measured"), "{text}");
    assert!(!text.contains(&shown("")), "where it lies is nobody's business: {text}");

    // It is found again from the folder of the policy, and is not made up elsewhere.
    let policy = shown("run/checkpoints/step-000001/policies/shared");
    assert_eq!(said(&["policy", "card", &policy]), card);
    said(&["policy", "export", "--run", &shown("run"), "--step", "last", "--out", &shown("out")]);
    let beside = fs::read_to_string(path("out/README.md")).unwrap();
    assert_eq!(beside, card);
    let (_, alone) = read(&said(&["policy", "card", &shown("out")]));
    assert!(alone.contains("its folder lies in no run") && !alone.contains("## Results"));
    let (code, _, stderr) = run(&["policy", "card", &shown("out"), "--step", "last"]);
    assert!(code == 2 && stderr.contains("leave out `--policy` and `--step`"), "{code} {stderr}");

    // What somebody else has written is left alone.
    fs::write(path("out/README.md"), "mine").unwrap();
    let export = ["policy", "export", "--run", &shown("run"), "--force", "--out", &shown("out")];
    let (code, _, stderr) = run(&export);
    assert!(code == 0 && stderr.contains("is left as it is"), "{stderr}");
    assert_eq!(fs::read_to_string(path("out/README.md")).unwrap(), "mine");
    let out = shown("out/README.md");
    let (code, _, stderr) = run(&["policy", "card", &shown("run"), "--out", &out]);
    assert!(code == 5 && stderr.contains("--force"), "{code} {stderr}");
}
