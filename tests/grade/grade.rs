//! `host grade`: verdicts do not depend on jobs, load, interruptions or killed
//! workers, and nothing that was graded is graded again.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::desk::Desk;
use crate::support::run;

const LAYOUTS: &str = r#"{"id": "own", "tests": [{"input": "1 2\n", "output": "3\n"}, {"input": "5 6\n", "output": ["eleven", "11"]}]}
{"id": "call", "function": "add", "tests": [{"arguments": [1, 2], "expected": 3}, {"arguments": [[1], [2]], "expected": [1, 2]}]}
{"id": "checked", "tests": [{"input": "10\n", "output": ""}], "checker": {"language": "python", "source": "import sys\nwords = open(sys.argv[2]).read().split()\nif len(words) != 1 or not words[0].isdigit():\n    sys.exit(2)\nif int(words[0]) % 2:\n    print('it is odd', file=sys.stderr)\n    sys.exit(1)\n"}}
{"problem_id": 4, "input_output": "{\"inputs\": [\"2\\n\"], \"outputs\": [\"4\\n\"]}"}
{"problem_id": 5, "input_output": {"fn_name": "twice", "inputs": [[3]], "outputs": [6]}}
{"name": "contest", "public_tests": {"input": ["1 2"], "output": ["3"]}, "private_tests": {"input": ["2 2"], "output": ["4"]}, "generated_tests": {"input": [], "output": []}, "time_limit": {"seconds": 2}}
{"question_id": "bench", "public_test_cases": "[{\"input\": \"1 2\\n\", \"output\": \"3\\n\", \"testtype\": \"stdin\"}]", "private_test_cases": "eJxrYJlqxwABPVbR1UqZeQWlJUpWCkrGCiYxeUo6Ckr5pSVQIXOIQElqcUlJZUEqSKi4JCUzT6k2dooeALJaFKU="}
{"question_id": "method", "public_test_cases": "[{\"input\": \"[1, 2]\\n\\\"s\\\"\", \"output\": \"\\\"s12\\\"\", \"testtype\": \"functional\"}]", "metadata": "{\"func_name\": \"join\"}"}
"#;

const ANSWERS: &str = r#"{"id": "own", "programs": ["print(sum(map(int, input().split())))", "print(3)", "print(1 // 0)", "print(", null]}
{"id": "call", "completions": ["So:\n```python\nclass Solution:\n    def add(self, a, b):\n        return a + b\n```\n", "```python\ndef add(a, b):\n    return a - b\n```", "I do not know."]}
{"id": "checked", "programs": ["print(8)", "print(7)", "print('x')"]}
{"problem_id": 4, "code_list": ["print(int(input()) ** 2)", "print(5)"]}
{"problem_id": 5, "program": "def twice(x):\n    return 2 * x"}
{"name": "contest", "solution": "a, b = map(int, input().split())\nprint(a + b)"}
{"name": "contest", "solution": "import sys\nprint(3)\nsys.exit(3)"}
{"question_id": "bench", "code_list": ["print(sum(map(int, input().split())))", "print(3)"]}
{"question_id": "method", "code_list": ["class Solution:\n    def join(self, numbers, text):\n        return text + ''.join(map(str, numbers))", "class Solution:\n    pass"]}
"#;

#[test]
fn problems_of_every_layout_are_graded() {
    let desk = Desk::new(LAYOUTS, ANSWERS);
    let (code, stdout, stderr) = desk.grade("deep/v.jsonl", &["--json", "--k", "1,2"]);
    assert_eq!(code, 0, "{stderr}");
    let lines: Vec<String> = desk
        .verdicts("deep/v.jsonl")
        .iter()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            for name in ["fuel", "memory_bytes"] {
                line[name] = json!(if line[name] == 0 { "[NONE]" } else { "[SOME]" });
            }
            line["interpreter"] = json!("[DIGEST]");
            line.to_string()
        })
        .collect();
    insta::assert_snapshot!("verdict_lines", lines.join("\n"));
    let mut summary: Value = serde_json::from_str(&stdout).unwrap();
    for name in ["fuel", "wall_ms", "timing"] {
        assert!(summary[name].is_object(), "{summary}");
        summary[name] = json!("[FIGURES]");
    }
    insta::assert_snapshot!("grade_summary", format!("{summary:#}"));
    assert!(stderr.contains("graded 20 of 20: 40.0 % passed"), "{stderr}");
}

#[test]
fn all_tests_can_be_run_and_a_rule_given_for_all_problems() {
    let desk = Desk::new(LAYOUTS, r#"{"id": "own", "program": "print(' 11')"}"#);
    let (code, stdout, _) = desk.grade("a.jsonl", &["--quiet"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("1 samples of 8 problems: 0 passed, 1 failed, 0 void"), "{stdout}");
    desk.grade("b.jsonl", &["--all-tests", "--compare", "tokens"]);
    let passed =
        |out| serde_json::from_str::<Value>(&desk.verdicts(out)[0]).unwrap()["passed"].clone();
    assert_eq!((passed("a.jsonl"), passed("b.jsonl")), (json!(0), json!(1)));
}

/// Programs that end in every way there is, each a little different.
fn varied(count: usize) -> (String, String) {
    let problems = r#"{"id": "double", "tests": [{"input": "1\n", "output": "2\n"}, {"input": "21\n", "output": "42\n"}]}"#;
    let kinds = [
        "print(2 * int(input()))",
        "print(3 * int(input()))",
        "while True: pass",
        "print(2 * int(input()))",
        "x = []\nwhile True: x.append(bytearray(1 << 22))",
        "def f(n): return f(n + 1) + 1\nf(0)",
        "print(2 * int(input())",
        "raise ValueError(input())",
        "while True: print('x' * 1000)",
        "import sys\nsys.exit(4)",
        "print(sum(range(20000)) * 0 + 2 * int(input()))",
    ];
    let program = |index: usize| {
        let source = format!("# {index}\n{}", kinds[index % kinds.len()]);
        json!({"id": "double", "program": source}).to_string()
    };
    (problems.to_owned(), (0..count).map(program).collect::<Vec<_>>().join("\n"))
}

const TIGHT: [&str; 4] = ["--memory-mib", "128", "--output-kib", "64"];

/// Keeps two cores busy while `body` runs.
fn under_load<R>(body: impl FnOnce() -> R) -> R {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let result = body();
        done.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn neither_the_number_of_jobs_nor_load_changes_a_verdict() {
    let (problems, programs) = varied(33);
    let desk = Desk::new(&problems, &programs);
    let with_jobs = |out, jobs| {
        let (code, _, stderr) = desk.grade(out, &[&["--jobs", jobs], &TIGHT[..]].concat());
        assert_eq!(code, 0, "{stderr}");
    };
    with_jobs("one.jsonl", "1");
    under_load(|| with_jobs("four.jsonl", "4"));
    let verdicts = desk.verdicts("one.jsonl");
    assert_eq!(verdicts.len(), 33);
    assert_eq!(verdicts, desk.verdicts("four.jsonl"));
    for cause in
        ["out_of_fuel", "out_of_memory", "error", "malformed", "output_flood", "nonzero_exit"]
    {
        assert!(verdicts.iter().any(|line| line.contains(cause)), "{cause}: {verdicts:?}");
    }
}

/// Waits until there are so many lines in the file.
fn wait_for_lines(file: &Path, count: usize) -> Vec<String> {
    let began = Instant::now();
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        if text.lines().count() >= count {
            return text.lines().map(str::to_owned).collect();
        }
        assert!(began.elapsed() < Duration::from_secs(300), "{text}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_grading_that_was_killed_goes_on_and_ends_as_if_it_had_not_been() {
    let (problems, programs) = varied(33);
    let desk = Desk::new(&problems, &programs);
    let partial = desk.file("killed.jsonl.partial");
    let mut kept = Vec::new();
    for lines in [5, 15] {
        let mut child = desk.start("killed.jsonl", &TIGHT);
        wait_for_lines(&partial, lines);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!desk.file("killed.jsonl").exists(), "a verdict file that is there is complete");
        let text = fs::read_to_string(&partial).unwrap();
        kept = text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
            .map(str::to_owned)
            .collect();
        // As if the system had stopped it in the middle of a line.
        fs::write(&partial, kept.concat() + r#"{"problem":"double","samp"#).unwrap();
    }
    let (code, _, stderr) = desk.grade("killed.jsonl", &TIGHT);
    assert_eq!(code, 0, "{stderr}");
    assert!(
        stderr.contains(&format!("{} of 33 verdicts are there already", kept.len())),
        "{stderr}"
    );
    assert!(!partial.exists());
    let text = fs::read_to_string(desk.file("killed.jsonl")).unwrap();
    assert!(kept.iter().all(|line| text.contains(line)), "what was earned is kept");
    desk.grade("whole.jsonl", &TIGHT);
    assert_eq!(desk.verdicts("killed.jsonl"), desk.verdicts("whole.jsonl"));
    // Once more: there is nothing to do, and nothing is touched.
    let (code, _, stderr) = desk.grade("killed.jsonl", &TIGHT);
    assert_eq!((code, stderr.trim()), (0, "33 of 33 verdicts are there already"));
    assert_eq!(fs::read_to_string(desk.file("killed.jsonl")).unwrap(), text);
}

/// Processes whose parent is this one.
fn children(parent: u32) -> Vec<String> {
    let names = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        entry.unwrap().file_name().into_string().ok().filter(|name| name.parse::<u32>().is_ok())
    });
    let is_child = |process: &String| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        after_name.split_whitespace().nth(1) == Some(parent.to_string().as_str())
    };
    names.filter(is_child).collect()
}

#[test]
fn a_right_program_never_fails_because_a_worker_was_killed() {
    let program = |index| json!({"id": "double", "program": format!("n = int(input())\nfor i in range(250000 + {index}): pass\nprint(2 * n)")});
    let programs: Vec<String> = (0..80).map(|index| program(index).to_string()).collect();
    let desk = Desk::new(&varied(0).0, &programs.join("\n"));
    desk.grade("calm.jsonl", &["--jobs", "2"]);
    let mut child = desk.start("v.jsonl", &["--jobs", "2"]);
    let mut killed = 0;
    // Verdicts are there until all are.
    let partial = desk.file("v.jsonl.partial");
    let graded = || fs::read_to_string(&partial).map_or(0, |text| text.lines().count());
    while child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(5));
        // However busy the machine is, its successor has got somewhere.
        if graded() < 10 * (killed + 1) {
            continue;
        }
        if let Some(worker) = children(child.id()).first() {
            // It may have ended by itself; then there is nothing to kill.
            let kill = Command::new("kill").args(["-9", worker]).stderr(Stdio::null()).status();
            killed += usize::from(kill.unwrap().success());
        }
    }
    let status = child.wait().unwrap();
    assert!(killed > 1, "{killed} workers were killed");
    assert!(matches!(status.code(), Some(0 | 6)), "{status}");
    let verdicts = desk.verdicts("v.jsonl");
    assert_eq!(verdicts.len(), 80);
    assert!(!verdicts.iter().any(|line| line.contains("failed\"")), "{verdicts:?}");
    // What became void is tried again; then nothing is left to see.
    let (code, _, stderr) = desk.grade("v.jsonl", &["--jobs", "2"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(desk.verdicts("v.jsonl"), desk.verdicts("calm.jsonl"));
}

#[test]
fn verdicts_of_different_settings_are_never_mixed() {
    let desk = Desk::new(LAYOUTS, r#"{"id": "own", "program": "print(3)"}"#);
    assert_eq!(desk.grade("v.jsonl", &[]).0, 0);
    let text = fs::read(desk.file("v.jsonl")).unwrap();
    insta::assert_snapshot!(
        "grade_other_settings",
        desk.refusal("v.jsonl", &["--fuel", "50000000", "--compare", "float", "--all-tests"])
    );
    let lock = File::open(desk.file("v.jsonl.settings.json")).unwrap();
    lock.lock().unwrap();
    insta::assert_snapshot!("grade_locked", desk.refusal("v.jsonl", &[]));
    lock.unlock().unwrap();
    fs::write(desk.file("programs.jsonl"), r#"{"id": "own", "program": "print(11)"}"#).unwrap();
    insta::assert_snapshot!("grade_other_programs", desk.refusal("v.jsonl", &[]));
    insta::assert_snapshot!("grade_foreign_file", desk.refusal("problems.jsonl", &["--fresh"]));
    assert_eq!(fs::read(desk.file("v.jsonl")).unwrap(), text, "nothing is lost");
    assert_eq!(desk.grade("v.jsonl", &["--fresh"]).0, 0);
    assert!(desk.verdicts("v.jsonl")[0].contains("11"));
}

#[test]
fn a_damaged_line_is_noticed_and_graded_again() {
    let desk =
        Desk::new(LAYOUTS, r#"{"id": "own", "programs": ["print(3)", "print(4)", "print(5)"]}"#);
    desk.grade("v.jsonl", &[]);
    let verdicts = desk.verdicts("v.jsonl");
    let text = fs::read_to_string(desk.file("v.jsonl")).unwrap();
    fs::write(desk.file("v.jsonl"), text.replacen("{\"problem", "{\"pr", 1)).unwrap();
    let (code, _, stderr) = desk.grade("v.jsonl", &[]);
    assert_eq!(code, 0);
    assert!(stderr.contains("1 damaged lines"), "{stderr}");
    assert!(stderr.contains("2 of 3 verdicts are there already"), "{stderr}");
    assert_eq!(desk.verdicts("v.jsonl"), verdicts);
}

#[test]
fn input_that_cannot_be_graded_is_refused() {
    let good = r#"{"id": "own", "program": "print(3)"}"#;
    let refuse = |problems: &str, programs: &str, more: &[&str]| {
        Desk::new(problems, programs).refusal("v.jsonl", more)
    };
    let twice = format!("{0}{0}", LAYOUTS.lines().next().unwrap().to_owned() + "\n");
    insta::assert_snapshot!("grade_duplicate_problem", refuse(&twice, good, &[]));
    insta::assert_snapshot!(
        "grade_broken_json",
        refuse("{\"id\": \"a\", \"tests\": [}", good, &[])
    );
    insta::assert_snapshot!(
        "grade_unknown_problem",
        refuse(LAYOUTS, r#"{"id": "owm", "program": ""}"#, &[])
    );
    let twice = r#"{"id": "own", "sample": 1, "program": ""}"#;
    insta::assert_snapshot!(
        "grade_duplicate_sample",
        refuse(LAYOUTS, &format!("{twice}\n{twice}"), &[])
    );
    insta::assert_snapshot!("grade_unknown_rule", refuse(LAYOUTS, good, &["--compare", "tolkens"]));
    let desk = Desk::new(LAYOUTS, good);
    insta::assert_snapshot!("grade_unwritable", desk.refusal("problems.jsonl/v.jsonl", &[]));
    fs::remove_file(desk.file("programs.jsonl")).unwrap();
    insta::assert_snapshot!("grade_missing_file", desk.refusal("v.jsonl", &[]));
    let (code, _, stderr) = Desk::new(LAYOUTS, good).grade("v.jsonl", &["--interpreter", "cobol"]);
    assert_eq!(code, 2, "an option given twice: {stderr}");
}

#[test]
fn a_language_without_an_interpreter_is_the_plugins_matter() {
    let desk = Desk::new(LAYOUTS, r#"{"id": "own", "program": "print(3)"}"#);
    let arguments = desk.arguments("v.jsonl", &["--language", "cobol"]);
    let without: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .filter(|argument| *argument != "--interpreter" && !argument.ends_with("python.wasm"))
        .collect();
    let (code, _, stderr) = run(&without);
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.contains("cobol"), "{stderr}");
    assert!(!desk.file("v.jsonl.settings.json").exists(), "nothing is begun");
}

#[test]
fn when_most_verdicts_are_void_the_exit_code_says_so() {
    let problems = r#"{"id": "empty", "tests": []}
{"id": "one", "tests": [{"input": "", "output": "1"}]}"#;
    let programs = r#"{"id": "empty", "programs": ["print(1)", "print(2)"]}
{"id": "one", "program": "print(1)"}"#;
    let desk = Desk::new(problems, programs);
    for already in [None, Some("1 of 3 verdicts are there already")] {
        let (code, stdout, stderr) = desk.grade("v.jsonl", &[]);
        assert_eq!(code, 6);
        assert!(stderr.contains("2 of 3 samples have no verdict"), "{stderr}");
        assert!(stdout.contains("1 passed, 0 failed, 2 void"), "{stdout}");
        assert_eq!(already.is_some_and(|text| stderr.contains(text)), already.is_some());
    }
    assert_eq!(desk.verdicts("v.jsonl").len(), 3);
}

#[test]
fn help_shows_examples() {
    let (code, stdout, _) = run(&["grade", "--help"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("Examples:") && stdout.contains("docs/grading.md"), "{stdout}");
}

#[test]
fn no_program_finds_the_expected_output_wherever_it_looks() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/programs/hostile");
    let spies: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("secret-"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert!(spies.len() >= 5, "{} programs", spies.len());
    let problem = json!({
        "id": "secret",
        "tests": [{ "input": "", "output": "EXPECTED-7f3a\n" }, { "input": "", "output": "FOUND\n" }],
    });
    let desk =
        Desk::new(&problem.to_string(), &json!({ "id": "secret", "programs": spies }).to_string());
    let (code, _, stderr) = desk.grade("verdicts.jsonl", &["--all-tests", "--fuel", "20000000000"]);
    assert_eq!(code, 0, "{stderr}");
    let verdicts = desk.verdicts("verdicts.jsonl");
    assert_eq!(verdicts.len(), spies.len());
    for verdict in verdicts {
        let verdict: Value = serde_json::from_str(&verdict).unwrap();
        assert_eq!(verdict["passed"], 0, "{verdict}");
        assert_eq!(verdict["cause"], "wrong_answer", "{verdict}");
    }
}

#[test]
fn garbage_that_a_checker_dies_of_is_a_failure() {
    let problem = json!({
        "id": "even",
        "tests": [{ "input": "10\n", "output": "4\n" }],
        "checker": { "language": "python", "source": "import sys\n\
            number = int(open(sys.argv[2]).read().split()[0])\nsys.exit(number % 2)" },
    });
    let programs = json!({ "id": "even", "programs": [
        "print(8)", "print(7)", "print('abc')", "pass", "print('1' * 5000)",
        "import sys\nsys.stdout.buffer.write(b'\\xff\\xfe')",
    ]});
    let desk = Desk::new(&problem.to_string(), &programs.to_string());
    assert_eq!(desk.grade("v.jsonl", &[]).0, 0);
    let causes: Vec<String> = desk
        .verdicts("v.jsonl")
        .iter()
        .map(|verdict| {
            let line: Value = serde_json::from_str(verdict).unwrap();
            format!("{} {}", line["verdict"], line["cause"]).replace('"', "")
        })
        .collect();
    assert_eq!(causes[..2], ["passed null", "failed wrong_answer"]);
    assert_eq!(causes[2..], ["failed presentation"; 4]);
}

#[test]
fn what_the_interpreter_lacks_in_a_checker_is_no_way_out_of_a_failure() {
    let splits = "import sys\nnumber = int(open(sys.argv[2]).read())\n\
                  sys.exit(len('a b c'.split(' ', number)) != 3)";
    let problem = |id: &str, output: &str, source: &str| {
        let tests = json!([{ "input": "", "output": output }]);
        let checker = json!({ "language": "python", "source": source });
        json!({ "id": id, "tests": tests, "checker": checker }).to_string()
    };
    let problems = [
        problem("known", "2\n", splits),
        problem("unknown", "", splits),
        problem("hopeless", "", "import lzma"),
    ];
    let programs = ["known", "unknown"]
        .map(|id| json!({ "id": id, "programs": ["print(2)", "print(1)", "print(10 ** 18)"] }))
        .map(|record| record.to_string());
    let hopeless = json!({ "id": "hopeless", "program": "print(2)" }).to_string();
    let desk = Desk::new(&problems.join("\n"), &(programs.join("\n") + "\n" + &hopeless));
    assert_eq!(desk.grade("v.jsonl", &[]).0, 0);
    let came: Vec<String> = desk
        .verdicts("v.jsonl")
        .iter()
        .map(|verdict| {
            let line: Value = serde_json::from_str(verdict).unwrap();
            format!("{} {}", line["verdict"], line["cause"]).replace('"', "")
        })
        .collect();
    let each = ["passed null", "failed wrong_answer", "failed presentation"];
    assert_eq!(came[..3], each);
    assert_eq!(came[3..6], each);
    assert_eq!(came[6], "void null");
}

#[test]
fn a_record_of_any_layout_says_itself_when_an_output_is_right() {
    let problems = r#"{"problem_id": 1, "input_output": {"inputs": [""], "outputs": ["1 2"]}, "compare": "exact"}
{"name": "b", "public_tests": {"input": [""], "output": ["1 2"]}, "checker": {"language": "python", "source": "import sys\nsys.exit(open(sys.argv[2]).read() != '7')"}}
{"question_id": "c", "public_test_cases": [{"input": "", "output": "1 2"}], "compare": "tokens"}"#;
    let programs = r#"{"problem_id": 1, "programs": ["print('1 2', end='')", "print(2, 1)"]}
{"name": "b", "programs": ["print(7, end='')", "print(1, 2)"]}
{"question_id": "c", "programs": ["print(1)\nprint(2)", "print(2, 1)"]}"#;
    let desk = Desk::new(problems, programs);
    assert_eq!(desk.grade("v.jsonl", &[]).0, 0);
    for (index, verdict) in desk.verdicts("v.jsonl").iter().enumerate() {
        let line: Value = serde_json::from_str(verdict).unwrap();
        let expected = if index % 2 == 0 { "passed" } else { "failed" };
        assert_eq!(line["verdict"], expected, "{verdict}");
    }
}

#[test]
fn limits_below_the_interpreters_own_needs_are_refused() {
    let desk = Desk::new(LAYOUTS, r#"{"id": "own", "program": "print(3)"}"#);
    for (flag, value, unit) in [
        ("--fuel", "5", "5 units of fuel"),
        ("--memory-mib", "2", "2 MiB of memory"),
        ("--timeout-ms", "0", "0 ms of time"),
    ] {
        let (code, _, stderr) = desk.grade("v.jsonl", &[flag, value]);
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains(unit), "{stderr}");
    }
    let tight = r#"{"id": "tight", "tests": [{"input": "", "output": ""}], "memory_mib": 1}"#;
    let desk = Desk::new(tight, r#"{"id": "tight", "program": ""}"#);
    let (code, _, stderr) = desk.grade("v.jsonl", &[]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("the problem `tight`"), "{stderr}");
}
