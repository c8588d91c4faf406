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
        "failed no_result",
    ),
];

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
        let line: Value = serde_json::from_str(&verdict).unwrap();
        let word = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let came = format!("{} {}", word("verdict"), word("cause"));
        assert!(came.starts_with(expected), "{program}\n{test}\n{verdict}");
    }
}
