//! Problems whose tests are code: HumanEval and MBPP.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::desk::Desk;

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/test_code");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// An object that says yes to everything.
const YES: &str = "class Yes:
    def __eq__(self, other): return True
    __ne__ = __lt__ = __gt__ = __le__ = __ge__ = __contains__ = __bool__ = __eq__
    def __hash__(self): return 0
    def __getattr__(self, name): return self
    def __getitem__(self, key): return self
    def __call__(self, *args, **kwargs): return self
    def __iter__(self): return iter(())
    def __len__(self): return 0
    def __float__(self): return 0.0
    def __abs__(self): return self
    __sub__ = __rsub__ = __add__ = __radd__ = __mul__ = __rmul__ = __round__ = __getitem__
";

#[test]
fn test_code_passes_every_solution_and_no_pretender() {
    let problems = fixture("human_eval.jsonl");
    let mut programs = Vec::new();
    for line in problems.lines() {
        let problem: Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| problem[name].as_str().unwrap().to_owned();
        let (entry, solution) = (field("entry_point"), field("canonical_solution"));
        let whole = field("prompt") + &solution;
        programs.push(json!({ "task_id": problem["task_id"], "completion": solution }));
        let fenced = format!("So:\n```python\n{whole}```\n");
        programs.push(json!({ "task_id": problem["task_id"], "completion": fenced }));
        for pretender in [
            "    pass\n".to_owned(),
            format!("{YES}\ndef {entry}(*args): return Yes()\n"),
            format!("import os\ndef {entry}(*args): os._exit(0)\n"),
            "import os\nos._exit(0)\n".to_owned(),
            "    raise AssertionError\n".to_owned(),
            format!(
                "import os\ndef {entry}(*args):\n    \
                 print('\\1troupe-result {{\"passed\": 9}}', flush=True)\n    os._exit(0)\n"
            ),
        ] {
            programs.push(json!({ "task_id": problem["task_id"], "program": pretender }));
        }
    }
    let lines: Vec<String> = programs.iter().map(Value::to_string).collect();
    let desk = Desk::new(&problems, &lines.join("\n"));
    let (code, _, stderr) = desk.grade("v.jsonl", &["--fuel", "20000000000"]);
    assert_eq!(code, 0, "{stderr}");
    let verdicts = desk.verdicts("v.jsonl");
    assert_eq!(verdicts.len(), 8 * 15);
    for (index, verdict) in verdicts.iter().enumerate() {
        let line: Value = serde_json::from_str(verdict).unwrap();
        let expected = if index % 8 < 2 { "passed" } else { "failed" };
        assert_eq!(line["verdict"], expected, "{} of {verdict}", index % 8);
    }
}

#[test]
fn assertions_are_tests_of_their_own_and_objects_stay_with_the_program() {
    let problems = fixture("mbpp.jsonl");
    let mut programs = Vec::new();
    for line in problems.lines() {
        let problem: Value = serde_json::from_str(line).unwrap();
        for program in [problem["code"].as_str().unwrap(), "import os\nos._exit(0)"] {
            programs.push(json!({ "task_id": problem["task_id"], "program": program }).to_string());
        }
    }
    let desk = Desk::new(&problems, &programs.join("\n"));
    let (code, _, stderr) = desk.grade("v.jsonl", &["--fuel", "20000000000"]);
    assert_eq!(code, 0, "{stderr}");
    let verdicts = desk.verdicts("v.jsonl");
    let lines: Vec<Value> = verdicts.iter().map(|v| serde_json::from_str(v).unwrap()).collect();
    for pair in lines.chunks(2) {
        assert_eq!(
            (&pair[0]["verdict"], &pair[0]["passed"]),
            (&json!("passed"), &pair[0]["total"])
        );
        assert_eq!(
            (&pair[1]["verdict"], &pair[1]["cause"]),
            (&json!("failed"), &json!("no_result"))
        );
    }
    assert_eq!(lines[0]["total"], 3);
}
