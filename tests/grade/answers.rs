//! `host check-answer`: one answer, or a file of pairs.

use std::fs;

use serde_json::{Value, json};

use crate::support::run;

const PAIRS: &str = r#"{"id": "a", "class": "fraction", "gold": "\\frac{3}{4}", "answer": "so it is \\boxed{0.75}", "expect": "correct"}
{"id": "b", "class": "fraction", "gold": "\\frac{3}{4}", "answer": "\\boxed{0.75}", "expect": "wrong"}
{"id": "c", "class": "number", "gold": "5", "answer": "\\boxed{6}", "expect": "correct"}
{"id": "d", "class": "number", "gold": "\\ln 2", "answer": "\\log 2", "expect": "correct"}
{"id": "e", "class": "number", "gold": "4.2", "answer": "4.25", "expect": "correct", "error": "1e-1"}
{"id": "f", "class": "number", "gold": "50\\%", "answer": "50", "expect": "either"}
"#;

#[test]
fn one_answer_gets_a_word_and_what_was_taken_for_it() {
    let said = |args: &[&str]| {
        let (code, stdout, stderr) = run(&[&["check-answer"], args].concat());
        assert_eq!(code, 0, "{stderr}");
        stdout.trim_end().to_owned()
    };
    assert_eq!(said(&["-3", "x = -3"]), "correct");
    assert_eq!(said(&["50\\%", "50"]), "wrong");
    assert_eq!(said(&["--rules", "math", "50\\%", "50"]), "correct");
    assert_eq!(said(&["--tolerance", "0.1", "4.2", "4.25"]), "correct");
    assert_eq!(said(&["\\ln 2", "\\log 2"]), "undecided: it depends on how one of them is read");
    let line: Value = serde_json::from_str(&said(&["--json", "5", "\\boxed{6}"])).unwrap();
    let expected = json!({"verdict": "wrong", "reason": null, "extracted": "6", "found": "box"});
    assert_eq!(line, expected);
}

#[test]
fn a_file_of_pairs_is_counted_by_class() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pairs.jsonl");
    fs::write(&file, PAIRS).unwrap();
    let (code, stdout, stderr) =
        run(&["check-answer", "--pairs", file.to_str().unwrap(), "--list", "--json"]);
    assert_eq!(code, 0, "{stderr}");
    let (table, last) = stdout.trim_end().rsplit_once('\n').unwrap();
    let table = table.rsplit_once(';').unwrap().0;
    insta::assert_snapshot!("pairs_by_class", table);
    let mut summary: Value = serde_json::from_str(last).unwrap();
    assert!(summary["pairs_per_second"].is_number(), "{summary}");
    summary.as_object_mut().unwrap().remove("pairs_per_second");
    let expected = json!({"pairs": 6, "correct": 4, "wrong": 1, "either": 1,
        "false_correct": 1, "false_wrong": 1, "undecided": 1});
    assert_eq!(summary, expected);
}

#[test]
fn a_file_that_is_no_file_of_pairs_is_refused_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pairs.jsonl");
    let refused = |text: &str| {
        fs::write(&file, text).unwrap();
        let (code, _, stderr) = run(&["check-answer", "--pairs", file.to_str().unwrap()]);
        assert_eq!(code, 2, "{stderr}");
        stderr.replace(folder.path().to_str().unwrap(), "[FOLDER]")
    };
    let known = r#"{"gold": "1", "answer": "1"}"#;
    insta::assert_snapshot!(
        "pair_without_answer",
        refused(&format!("{known}\n{{\"gold\": \"1\"}}\n"))
    );
    insta::assert_snapshot!(
        "pair_with_unknown_rules",
        refused(r#"{"gold": "1", "answer": "1", "rules": "maths"}"#)
    );
    let (code, _, stderr) = run(&["check-answer", "--rules", "maths", "1", "1"]);
    assert_eq!(code, 2);
    insta::assert_snapshot!("unknown_rules", stderr);
    assert_eq!(run(&["check-answer", "1"]).0, 2);
}
