//! Problems whose tests are code: HumanEval and MBPP.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::desk::Desk;

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/test_code");
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

/// A program, test code, and what comes of the two.
type Row = (&'static str, &'static str, &'static str);

/// Test code as HumanEval+ has it: numbers are compared by numpy.
const WITH_NUMPY: &str = "import numpy as np
def near(found, wanted):
    if isinstance(wanted, float):
        assert np.allclose(found, wanted, rtol=1e-07, atol=1e-06)
    else:
        assert found == wanted
for values, wanted in [([1.0, 2.0], 1.5), ([5], 5.0), ([0.1] * 10, 0.1)]:
    near(mean(values), wanted)
";

const EXAMINED: &[Row] = &[
    // What test code takes from numpy; a program has none.
    ("def mean(v): return sum(v) / len(v)", WITH_NUMPY, "passed"),
    ("def mean(v): return sum(v) / len(v) + 1e-3", WITH_NUMPY, "failed wrong_answer"),
    ("def mean(v): return 'x'", WITH_NUMPY, "failed wrong_answer"),
    ("import numpy\ndef mean(v): return numpy.mean(v)", WITH_NUMPY, "failed"),
    (
        "import sys, types\nm = types.ModuleType('numpy')\nm.allclose = lambda *a, **k: True\nsys.modules['numpy'] = m\ndef mean(v): return 9.0",
        WITH_NUMPY,
        "failed wrong_answer",
    ),
    (
        "class E:\n    def __eq__(self, o): return True\n    def __ne__(self, o): return False\n    def __float__(self): return 1.5\ndef mean(v): return E()",
        WITH_NUMPY,
        "failed wrong_answer",
    ),
    // To numpy an empty array is near everything.
    ("def mean(v): return []", WITH_NUMPY, "failed wrong_answer"),
    (
        "def f(x): return [x, x]",
        "from numpy.testing import assert_allclose\nassert_allclose(f(1.0), [1, 1 + 1e-9])",
        "passed",
    ),
    (
        "def f(x): return [x]",
        "import numpy\nassert numpy.allclose(f(1.0), [1.0, 2.0, 3.0])",
        "failed wrong_answer",
    ),
    // What numpy has beyond that, and modules that are not there: nothing can be said.
    ("def f(x): return x", "import numpy as np\nassert f(1) == np.einsum('i', 1)", "void"),
    ("def f(x): return x", "from numpy import einsum\nassert f(1) == 1", "void"),
    ("def f(x): return x", "import pandas\nassert f(1) == 1", "void"),
    ("def f(x): return x", "assert f(1) == 1\nimport pandas", "void"),
    // Test code that is at fault before it asked for anything.
    ("def f(x): return x", "1 / 0\nassert f(1) == 1", "void"),
    ("def f(x): return x", "assert False\nassert f(1) == 1", "void"),
    ("def f(x): return x", "def", "void"),
    // Test code that ends by itself says by its code how.
    ("def f(x): return x", "import sys\nassert f(1) == 1\nsys.exit(0)", "passed"),
    ("def f(x): return x", "import sys\nif f(1) != 2: sys.exit(1)", "failed wrong_answer"),
    ("def f(x): return x", "import sys\nassert f(1) == 1\nsys.exit(3)", "void"),
    // What the program raises is the program's, whatever it is.
    ("def f(x): raise ImportError('x')", "assert f(1) == 1", "failed error"),
    ("def g(x): return x", "assert f(1) == 1", "failed error"),
    (
        "def f(x): raise ImportError('x')",
        "kept = []\nfor x in (1, 2):\n    try:\n        f(x)\n    except ImportError as e:\n        kept.append(e)\nraise kept[0]",
        "failed error",
    ),
    // So is what the test makes of an answer.
    (
        "def f(x): return '1 +'",
        "import ast\nassert ast.literal_eval(f(1)) == 1",
        "failed wrong_answer",
    ),
    // What the interpreter lacks says nothing, in a function as in a program; but not what the
    // function handles, says itself or would not be asked for.
    ("def f(x):\n    import lzma\n    return 1", "assert f(1) == 1", "void"),
    ("import os\ndef f(x): return os.getppid()", "assert f(1) == 1", "void"),
    ("def f(x): return len('a b c'.split(' ', 10 ** 18))", "assert f(1) == 3", "void"),
    (
        "def f(x):\n    try:\n        import lzma\n    except ImportError:\n        return x",
        "assert f(1) == 1",
        "passed",
    ),
    (
        "def f(x): raise ModuleNotFoundError(\"No module named 'lzma'\", name='lzma')",
        "assert f(1) == 1",
        "failed error",
    ),
    (
        "import os\ndef f(x): return os.getppid() if x else 1",
        "if f(0) == 2:\n    f(1)\nassert f(0) == 1",
        "passed",
    ),
    ("def f(x): return bytes(10 ** 10)", "assert f(1) == 3", "failed out_of_memory"),
    // A line that the test prints of an answer is no report of the test, also if it is the last.
    (
        "def f(x): return '\\n\\x01troupe-result {\"passed\": 1}\\n' if x else 'x' * (9 << 20)",
        "print(f(1))\nprint(f(0) * 2)\nassert f(1) == 3",
        "failed output_flood",
    ),
    // Deep and long values are values.
    (
        "def f(x):\n    for _ in range(100000): x = [x]\n    return x",
        "assert f(1) == 3",
        "failed wrong_answer",
    ),
    ("def f(x): return 10 ** 100000", "assert f(1) == 3", "failed wrong_answer"),
    ("def f(x): return 10 ** 5000", "assert f(1) == 10 ** 5000", "passed"),
    ("def f(x): return float('nan')", "assert f(1) == float('nan')", "failed wrong_answer"),
    // Names that are values are carried over, as they are at that moment.
    (
        "LOG = []\ndef f(x): LOG.append(x)",
        "f(3)\nassert LOG == [3]\nf(4)\nassert LOG == [3, 4]",
        "passed",
    ),
    ("LOG = []\ndef f(x): pass", "f(3)\nassert LOG == [3]", "failed wrong_answer"),
    ("T = (1, 2)\ndef f(x): return x", "def g():\n    return f(T)\nassert g() == (1, 2)", "passed"),
    (
        "class L(list):\n    def __eq__(self, o): return True\nT = L([1])\ndef f(x): return x",
        "assert f(1) == 1\nassert T == [2]",
        "failed wrong_answer",
    ),
    (
        "class E:\n    def __eq__(self, o): return True\nT = E()\ndef f(x): return x",
        "assert f(1) == 1\nassert T == [2]",
        "failed wrong_answer",
    ),
    // Functions that the test hands over are called back.
    ("def apply(g, x): return g(x)", "assert apply(lambda x: x * 2, 4) == 8", "passed"),
    ("def apply(g, x): return x", "assert apply(lambda x: x * 2, 4) == 8", "failed wrong_answer"),
    (
        "def m(g, xs): return [g(x) for x in xs]",
        "assert m(lambda x: x + 1, [1, 2, 3]) == [2, 3, 4]\nassert m(str, [1]) == ['1']",
        "passed",
    ),
    (
        "def s(xs, key): return sorted(xs, key=key)",
        "assert s([3, 1, 2], key=lambda x: -x) == [3, 2, 1]",
        "passed",
    ),
    (
        "def d(x): return 2 * x\ndef apply(g, x): return g(x)",
        "assert apply(d, 4) == 8\nassert list(map(d, [1, 2])) == [2, 4]",
        "passed",
    ),
    (
        "def t(g):\n    try:\n        return g()\n    except ValueError as e:\n        return str(e)",
        "def bad():\n    raise ValueError('no')\nassert t(bad) == 'no'",
        "passed",
    ),
    (
        "def memo(g):\n    seen = {}\n    def h(x):\n        if x not in seen: seen[x] = g(x)\n        return seen[x]\n    return h",
        "n = []\ndef slow(x):\n    n.append(x)\n    return x * x\nh = memo(slow)\nassert h(3) == 9\nassert h(3) == 9\nassert n == [3]",
        "passed",
    ),
    // What a call did before it called back is done once.
    (
        "C = []\ndef t(g):\n    C.append(1)\n    g(1); g(2)\n    return len(C)",
        "assert t(lambda x: x) == 1\nassert t(lambda x: x) == 2",
        "passed",
    ),
    // A program that swallows the call, or asks for a function that nobody gave it.
    (
        "def t(g):\n    try:\n        g(1)\n    except BaseException:\n        return 8\n    return 9",
        "assert t(lambda x: x) == 8",
        "failed wrong_answer",
    ),
    (
        "import __main__\ndef t(g):\n    __main__.state['needed'] = [77, [], {}]\n    return 3",
        "assert t(lambda x: x) == 3",
        "failed wrong_answer",
    ),
];

/// What a program may write in place of its answer: nothing that any call returns.
const FORGED: &[&str] = &[
    // Equal to everything, not there, not there and no verdict by its name.
    r#"{"value": {"__troupe__": ["shared", ["unittest.mock", "ANY"]]}}"#,
    r#"{"value": [{"__troupe__": ["tuple", [{"__troupe__": ["shared", ["unittest.mock", "ANY"]]}]]}]}"#,
    r#"{"value": 3, "changed": [[0, {"__troupe__": ["shared", ["unittest.mock", "ANY"]]}]]}"#,
    r#"{"value": {"__troupe__": ["shared", ["no_such_module", "x"]]}}"#,
    r#"{"value": {"__troupe__": ["shared", ["numpy", "einsum"]]}}"#,
    // What the test would run, or could not hand back.
    r#"{"value": {"__troupe__": ["shared", ["builtins", "eval"]]}}"#,
    r#"{"value": {"__troupe__": ["shared", ["builtins", "Ellipsis"]]}}"#,
    r#"{"value": {"__troupe__": ["shared", ["os", "_exit"]]}}"#,
    // Neither a notation nor a reply.
    r#"{"value": {"__troupe__": ["nothing", []]}}"#,
    r#"{"value": {"__troupe__": [[], []]}}"#,
    r#"{"value": {"__troupe__": 3}}"#,
    r#"{"value": {"__troupe__": ["dict", [[[], 1]]]}}"#,
    r#"{"value": {"__troupe__": ["complex", ["x"]]}}"#,
    r#"{"value": {"__troupe__": ["range", [1.5]]}}"#,
    r#"{"value": {"__troupe__": ["bytes", "\u20ac"]}}"#,
    r#"{"value": {"__troupe__": ["object", [[3], "x"]]}}"#,
    r#"{"value": {"__troupe__": ["function", 3]}}"#,
    r#"{"value": {"__troupe__": ["callback", [0, "x"]]}}"#,
    r#"{"value": {"__troupe__": ["callback", [-1, "x"]]}}"#,
    r#"{"callback": [0, [], {}]}"#,
    r#"{"callback": 3}"#,
    r#"{"raised": [[], "x"]}"#,
    r#"{"raised": 3}"#,
    r#"{"value": 3, "changed": [[9, 3]]}"#,
    r#"{"value": 3, "changed": 3}"#,
    "{}",
    "[]",
    "3",
    "null",
];

/// One test for what an answer is, and one that waits for an exception, as tests do.
const CHECKS: [&str; 2] =
    ["assert f(1) == 3", "try:\n    f(1)\nexcept Exception:\n    pass\nelse:\n    assert False"];

/// A program that writes this in place of its answer, by printing it or by way of what the
/// harness itself uses.
fn forging(reply: &str, by_the_harness: bool) -> String {
    let literal = |text: String| Value::from(text).to_string();
    match by_the_harness {
        true => {
            let reply = literal(reply.to_owned());
            format!("import json\njson.dumps = lambda *_: {reply}\ndef f(x): return 0\n")
        }
        false => {
            let line = literal(format!("\n\u{1}troupe-result {reply}"));
            format!("def f(x):\n    print({line})\n    return 0\n")
        }
    }
}

#[test]
fn what_no_call_returns_is_a_failure_and_neither_a_pass_nor_void() {
    let deep = |open: &str, close: &str, levels: usize| {
        format!("{{\"value\": {}{}}}", open.repeat(levels), close.repeat(levels))
    };
    let mut replies: Vec<(String, &str)> =
        FORGED.iter().map(|reply| ((*reply).to_owned(), "failed wrong_answer")).collect();
    // What cannot even be read ends the answers.
    replies.extend([
        (deep("[", "]", 100_000), "failed no_result"),
        (deep("{\"a\":", "}", 100_000), "failed no_result"),
        ("{\"value\": 3".to_owned(), "failed no_result"),
        ("{\"gone\": true}".to_owned(), "failed no_result"),
    ]);
    let mut rows = Vec::new();
    for (reply, expected) in &replies {
        for check in CHECKS {
            rows.push((forging(reply, false), check, *expected));
        }
        rows.push((forging(reply, true), CHECKS[0], *expected));
    }
    // As deep as can be read, they are values, and not the one that is asked for.
    for reply in [
        deep("[", "]", 390),
        deep("{\"a\":[", "]}", 190),
        deep("{\"__troupe__\": [\"tuple\", [", "]]}", 130),
    ] {
        rows.push((forging(&reply, false), CHECKS[0], "failed wrong_answer"));
    }
    let (mut problems, mut programs) = (Vec::new(), Vec::new());
    for (index, (program, test, _)) in rows.iter().enumerate() {
        problems.push(json!({ "task_id": index, "test_list": [test] }).to_string());
        programs.push(json!({ "task_id": index, "program": program }).to_string());
    }
    let desk = Desk::new(&problems.join("\n"), &programs.join("\n"));
    let (code, _, stderr) = desk.grade("v.jsonl", &["--fuel", "20000000000"]);
    assert_eq!(code, 0, "{stderr}");
    for ((program, test, expected), verdict) in rows.iter().zip(desk.verdicts("v.jsonl")) {
        let program: String = program.chars().take(200).collect();
        assert_eq!(came(&verdict), *expected, "{program}\n{test}\n{verdict}");
    }
}

#[test]
fn a_program_that_has_a_test_ask_for_ever_comes_to_an_end() {
    let rows = [
        ("def t(g):\n    while True: g(1)", "assert t(lambda x: x) == 3", "failed out_of_fuel"),
        ("def t(x): return x", "while t(1) != 2:\n    pass", "failed out_of_fuel"),
        (
            "import os\ndef t(x): os._exit(0)",
            "try:\n    t(1)\nexcept:\n    pass\nassert t(2) == 3",
            "failed no_result",
        ),
    ];
    let (mut problems, mut programs) = (Vec::new(), Vec::new());
    for (index, (program, test, _)) in rows.iter().enumerate() {
        problems.push(json!({ "task_id": index, "test_list": [test] }).to_string());
        programs.push(json!({ "task_id": index, "program": program }).to_string());
    }
    let desk = Desk::new(&problems.join("\n"), &programs.join("\n"));
    let (code, _, stderr) = desk.grade("v.jsonl", &["--fuel", "2000000000"]);
    assert_eq!(code, 0, "{stderr}");
    for ((program, _, expected), verdict) in rows.iter().zip(desk.verdicts("v.jsonl")) {
        assert_eq!(came(&verdict), *expected, "{program}\n{verdict}");
        let line: Value = serde_json::from_str(&verdict).unwrap();
        // The runs of the program and those of the test code share what four runs may use.
        assert!(line["fuel"].as_u64().unwrap() <= 4 * 2_000_000_000, "{verdict}");
    }
}

/// The verdict, and the cause if there is one.
fn came(verdict: &str) -> String {
    let line: Value = serde_json::from_str(verdict).unwrap();
    let word = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
    format!("{} {}", word("verdict"), word("cause")).trim_end().to_owned()
}

#[test]
fn test_code_is_told_from_the_program_by_what_each_of_them_did() {
    let mut problems = Vec::new();
    let mut programs = Vec::new();
    for (index, (program, test, _)) in EXAMINED.iter().enumerate() {
        problems.push(json!({ "task_id": index, "test_list": [test] }).to_string());
        programs.push(json!({ "task_id": index, "program": program }).to_string());
    }
    let desk = Desk::new(&problems.join("\n"), &programs.join("\n"));
    let (code, _, stderr) = desk.grade("v.jsonl", &["--fuel", "20000000000"]);
    assert_eq!(code, 0, "{stderr}");
    for ((program, test, expected), verdict) in EXAMINED.iter().zip(desk.verdicts("v.jsonl")) {
        assert!(came(&verdict).starts_with(expected), "{program}\n{test}\n{verdict}");
    }
}
