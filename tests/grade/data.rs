//! `host data`: published layouts become records that `host grade` reads, and
//! what is no record is dropped, counted and named.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::desk::Desk;
use crate::support::run;

/// Rows of our own in a published layout.
fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/data");
    folder.join(name).display().to_string()
}

/// Import into a folder: exit code, standard output and error with the places
/// that differ from machine to machine taken out, and the file.
fn import(folder: &Path, set: &str, files: &[&str], more: &[&str]) -> (i32, String, PathBuf) {
    let out = folder.join(format!("{set}.jsonl"));
    let shown = out.display().to_string();
    let arguments = [&["data", "import", set], files, &["--out", &shown], more].concat();
    let (code, stdout, stderr) = run(&arguments);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/data");
    let mut told = format!("{stdout}{stderr}");
    for (path, name) in [(folder, "[FOLDER]"), (&fixtures, "[FIXTURES]")] {
        told = told.replace(&path.display().to_string(), name);
    }
    assert!(!told.contains("panicked"), "{told}");
    (code, told, out)
}

fn records(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn rows_that_are_no_records_are_dropped_counted_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let files = [fixture("gsm8k-train.jsonl"), fixture("gsm8k-test.json")];
    let (code, told, out) =
        import(folder.path(), "gsm8k", &[&files[0], &files[1], &files[0]], &["--quiet"]);
    assert_eq!(code, 0, "{told}");
    insta::assert_snapshot!("import_report", told);
    insta::assert_snapshot!("import_records", fs::read_to_string(&out).unwrap());
    let report: Value = serde_json::from_str(
        &fs::read_to_string(format!("{}.report.json", out.display())).unwrap(),
    )
    .unwrap();
    assert_eq!(report["rows"], json!(20));
    assert_eq!(report["splits"], json!({"test": 2, "train": 6, "validation": 0}));
    let dropped = report["dropped"].as_array().unwrap().iter();
    let dropped: u64 = dropped.map(|reason| reason["count"].as_u64().unwrap()).sum();
    assert_eq!(dropped + report["records"].as_u64().unwrap(), 20);
}

#[test]
fn a_pickle_that_runs_a_command_is_refused_by_name_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (code, told, out) =
        import(folder.path(), "livecodebench", &[&fixture("livecodebench.jsonl")], &[]);
    assert_eq!(code, 0, "{told}");
    insta::assert_snapshot!("import_pickles", told);
    assert_eq!(records(&out).len(), 8);
}

#[test]
fn levels_are_named_and_split_by_where_they_lie() {
    let folder = tempfile::tempdir().unwrap();
    let train = folder.path().join("levels/medium/train");
    fs::create_dir_all(&train).unwrap();
    fs::copy(fixture("boxoban-medium-train.txt"), train.join("000.txt")).unwrap();
    let levels = folder.path().join("levels").display().to_string();
    let (code, told, out) = import(folder.path(), "boxoban", &[&levels], &[]);
    assert_eq!(code, 0, "{told}");
    insta::assert_snapshot!("import_levels", told);
    let records = records(&out);
    let names: Vec<&Value> = records.iter().map(|record| &record["id"]).collect();
    assert_eq!(names, ["medium/train/000/0", "medium/train/000/1"]);
    assert_eq!(records[1]["level"], "######\n#@$ .#\n######");
    assert_eq!(records[1]["split"], "train");
}

#[test]
fn the_folder_forms_hold_the_same_as_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("APPS/test/0007/question.txt", "Double it.");
    write("APPS/test/0007/input_output.json", r#"{"inputs": ["1\n"], "outputs": ["2\n"]}"#);
    write("APPS/test/0007/solutions.json", r#"["print(2 * int(input()))"]"#);
    write("APPS/test/0007/metadata.json", r#"{"difficulty": "interview", "url": "u"}"#);
    write("APPS/test/0008/question.txt", "No tests.");
    write(
        "MATH/train/algebra/3.json",
        "{\n  \"problem\": \"One half?\",\n  \"level\": \"Level 2\",\n  \"type\": \"Algebra\",\n  \
         \"solution\": \"It is $\\\\boxed{\\\\frac12}$.\"\n}",
    );
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (code, told, out) = import(folder.path(), "apps", &[&path("APPS")], &[]);
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("2 rows, 1 records, 1 dropped"), "{told}");
    let apps = &records(&out)[0];
    assert_eq!((&apps["id"], &apps["split"]), (&json!("7"), &json!("test")));
    assert_eq!(apps["tests"], json!([{"input": "1\n", "output": "2\n"}]));
    let (code, told, out) = import(folder.path(), "math", &[&path("MATH")], &[]);
    assert_eq!(code, 0, "{told}");
    let math = &records(&out)[0];
    assert_eq!(math["id"], "train/algebra/3.json");
    assert_eq!(
        (&math["answer"], &math["level"], &math["split"]),
        (&json!("\\frac12"), &json!(2), &json!("train"))
    );
}

#[test]
fn solutions_pass_and_emptied_ones_fail_in_the_records_of_every_code_set() {
    let folder = tempfile::tempdir().unwrap();
    let (mut problems, mut programs, mut expected) = (String::new(), Vec::new(), Vec::new());
    for set in ["humaneval", "mbpp", "apps", "code-contests", "livecodebench"] {
        let (code, told, out) =
            import(folder.path(), set, &[&fixture(&format!("{set}.jsonl"))], &["--quiet"]);
        assert_eq!(code, 0, "{told}");
        problems.push_str(&fs::read_to_string(&out).unwrap());
        for record in records(&out) {
            let solution = record.get("solution").cloned().unwrap_or_else(|| {
                json!(match record["function"].is_null() {
                    true => "print(sum(map(int, input().split())))",
                    false =>
                        "class Solution:\n    def join(self, numbers, text):\n        return text + ''.join(map(str, numbers))",
                })
            });
            programs
                .push(json!({"id": record["id"], "programs": [solution, "pass", ""]}).to_string());
            expected.extend(["passed", "failed", "failed"]);
        }
    }
    let desk = Desk::new(&problems, &programs.join("\n"));
    let (code, _, stderr) = desk.grade("v.jsonl", &["--quiet", "--fuel", "20000000000"]);
    assert_eq!(code, 0, "{stderr}");
    let verdicts = desk.verdicts("v.jsonl");
    assert_eq!(verdicts.len(), expected.len());
    assert!(expected.len() >= 48, "{} samples", expected.len());
    for (line, expected) in verdicts.iter().zip(expected) {
        let verdict: Value = serde_json::from_str(line).unwrap();
        assert_eq!(verdict["verdict"], expected, "{line}");
    }
}

#[test]
fn what_cannot_be_imported_ends_with_one_message() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = folder.path().join("wrong.jsonl");
    fs::write(&wrong, "{\"text\": 1}\n{\"text\": 2}\n").unwrap();
    let wrong = wrong.display().to_string();
    let refuse = |set: &str, file: &str| {
        let (code, told, out) = import(folder.path(), set, &[file], &[]);
        assert!(!out.exists(), "nothing is written");
        format!("exit code {code}\n{told}")
    };
    insta::assert_snapshot!("import_unknown_set", refuse("gsm8", &wrong));
    insta::assert_snapshot!("import_missing_file", refuse("gsm8k", "/nowhere/train.jsonl"));
    insta::assert_snapshot!("import_nothing", refuse("gsm8k", &wrong));
    let (code, _, stderr) = run(&["data", "import", "gsm8k", &wrong, "--out", &wrong]);
    assert!(code == 2 && stderr.contains("one of the files that are read"), "{stderr}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn records_are_shown_drawn_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (_, _, out) =
        import(folder.path(), "apps", &[&fixture("apps.jsonl")], &["--split", "train"]);
    let out = out.display().to_string();
    let of = |arguments: &[&str]| {
        let (code, stdout, stderr) = run(&[&["data"], arguments].concat());
        assert_eq!(code, 0, "{stderr}");
        stdout
    };
    insta::assert_snapshot!("data_show", of(&["show", &out, "1"]));
    insta::assert_snapshot!("data_stats", of(&["stats", &out]));
    let drawn = of(&["sample", &out, "-n", "2", "--seed", "4"]);
    assert_eq!(drawn, of(&["sample", &out, "-n", "2", "--seed", "4"]));
    assert_eq!(drawn.lines().count(), 2);
    assert!(fs::read_to_string(&out).unwrap().contains(drawn.lines().next().unwrap()));
    let (code, _, stderr) = run(&["data", "show", &out, "99"]);
    assert!(code == 2 && stderr.contains("has 3 records"), "{stderr}");
}

#[test]
fn a_file_beyond_what_this_process_may_write_is_an_error_and_not_the_end_by_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let row = |number: usize| {
        format!(
            "{{\"question\": \"{number} {}\", \"answer\": \"#### {number}\"}}\n",
            "x".repeat(1000)
        )
    };
    fs::write(folder.path().join("test.jsonl"), (0..500).map(row).collect::<String>()).unwrap();
    let output = std::process::Command::new("sh")
        .args([
            "-c",
            "ulimit -f 64; exec \"$0\" data import gsm8k test.jsonl --out records.jsonl --quiet",
        ])
        .arg(env!("CARGO_BIN_EXE_host"))
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("records.jsonl") && !said.contains("panicked"), "{said}");
    assert!(!folder.path().join("records.jsonl").exists());
}

#[test]
fn the_version_says_from_which_commit_it_was_built() {
    let (code, said, _) = run(&["--version"]);
    assert_eq!(code, 0);
    let (name, commit) = said.trim().split_once(" (commit ").unwrap();
    assert_eq!(name, format!("host {}", env!("CARGO_PKG_VERSION")));
    let commit = commit.trim_end_matches(')').trim_end_matches(", with changes");
    let is_commit = commit.len() == 12 && commit.chars().all(|digit| digit.is_ascii_hexdigit());
    assert!(is_commit || commit == "unknown", "{said}");
}
