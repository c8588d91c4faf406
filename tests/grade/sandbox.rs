//! The sandbox with real interpreters and real worker processes: honest
//! programs run as they would natively, hostile ones are contained.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rayon::prelude::*;
use troupe_core::program::{Ending, Execution, Program, RunLimits, Runner, SandboxError};
use troupe_sandbox::Sandbox;

use crate::support::components::folder;
use crate::support::sandboxed::SANDBOX;

fn programs(folder: &str) -> Vec<PathBuf> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/programs").join(folder);
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "py")).collect();
    files.sort();
    files
}

fn run(source: impl Into<Vec<u8>>, stdin: &[u8], limits: &RunLimits) -> Arc<Execution> {
    let program = Program::new("python", source.into());
    SANDBOX.run(&program, &Arc::from(stdin), limits).unwrap()
}

fn python(source: &str) -> Arc<Execution> {
    run(source, b"", &RunLimits::default())
}

/// What the system's Python makes of it: standard output and exit code.
fn natively(file: &Path, stdin: &[u8]) -> (Vec<u8>, Option<i32>) {
    let mut child = Command::new("python3")
        .arg(file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // A program need not read what it is given.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    (output.stdout, output.status.code())
}

#[test]
fn ordinary_contest_programs_print_what_they_print_natively() {
    let files = programs("contest");
    assert!(files.len() >= 150, "{} programs", files.len());
    let differing: Vec<String> = files
        .par_iter()
        .filter_map(|file| {
            let stdin = std::fs::read(file.with_extension("in")).unwrap();
            let native = natively(file, &stdin);
            let here = run(std::fs::read(file).unwrap(), &stdin, &RunLimits::default());
            let code = match here.ending {
                Ending::Exited { code } => Some(code),
                Ending::Failed { .. } | Ending::Malformed { .. } => Some(1),
                _ => None,
            };
            let same = (&here.stdout, code) == (&native.0, native.1);
            let stderr = String::from_utf8_lossy(&here.stderr);
            (!same).then(|| format!("{}: {:?} {stderr}", file.display(), here.ending))
        })
        .collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// The value of a comment such as `# outcome: ...` at the top of a program.
fn header(source: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(source);
    let start = format!("# {name}: ");
    let mut lines = text.lines().map(|line| line.trim_start_matches('\u{feff}')).take(4);
    lines.find_map(|line| line.strip_prefix(&start)).map(|value| value.trim().to_owned())
}

/// Whether an ending is one of those that a program's header names.
fn is_expected(ending: &Ending, expected: &str) -> bool {
    expected.split('|').map(str::trim).any(|word| match (word.strip_prefix("error "), ending) {
        (Some(name), Ending::Failed { error, .. }) => error == name,
        (Some(_), _) => false,
        (None, ending) => ending.word() == word,
    })
}

#[test]
fn hostile_programs_are_contained_and_each_ends_in_its_own_way() {
    // Tight enough that running out takes little time, ample for what ends.
    let limits = RunLimits {
        fuel: 8_000_000_000,
        memory_mib: 96,
        output_bytes: 256 << 10,
        ..RunLimits::default()
    };
    let files = programs("hostile");
    assert!(files.len() >= 100, "{} programs", files.len());
    let wrong: Vec<String> = files
        .par_iter()
        .filter_map(|file| {
            let source = std::fs::read(file).unwrap();
            let expected = header(&source, "outcome").expect("it says its outcome");
            let stdout = header(&source, "stdout");
            let execution = run(source, b"", &limits);
            let printed = String::from_utf8_lossy(&execution.stdout).trim().to_owned();
            let as_said = stdout.is_none_or(|stdout| stdout.replace("\\n", "\n") == printed);
            let right = is_expected(&execution.ending, &expected) && as_said;
            // Whatever it did, the next one finds a world in order.
            let next = python("print(sum(range(10)), len(open('/tmp/new', 'w').name))");
            let sound = next.ending.is_success() && next.stdout == b"45 8\n";
            let name = file.file_name().unwrap().to_string_lossy();
            let shown: String = printed.chars().take(200).collect();
            let error = String::from_utf8_lossy(&execution.stderr);
            let error: String =
                error.chars().rev().take(300).collect::<Vec<_>>().iter().rev().collect();
            (!right || !sound).then(|| {
                format!(
                    "{name}: {expected} expected; {:?}; it printed {shown:?}; {error}",
                    execution.ending
                )
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_input_larger_than_memory_and_a_program_of_50_megabytes_are_ordinary_runs() {
    let limits = RunLimits { memory_mib: 128, ..RunLimits::default() };
    let flood = vec![b'x'; 200 << 20];
    let all = run("import sys; print(len(sys.stdin.buffer.read()))", &flood, &limits);
    assert_eq!(all.ending, Ending::OutOfMemory);
    let portions =
        "import sys\nn = 0\nwhile s := sys.stdin.buffer.read(1 << 20): n += len(s)\nprint(n)";
    let counted = run(portions, &flood, &limits);
    assert_eq!(String::from_utf8_lossy(&counted.stdout), format!("{}\n", 200 << 20));
    let long = format!("# {}\nprint('read')\n", "x".repeat(50 << 20));
    assert_eq!(python(&long).stdout, b"read\n");
}

#[test]
fn the_same_run_is_the_same_to_the_last_unit_of_fuel_also_under_load() {
    let source = "import random, time, uuid, os\nx = [random.random() for _ in range(2000)]\n\
                  print(sum(x), time.time(), uuid.uuid4(), os.urandom(4), {object(): 1})\n\
                  while time.perf_counter() < 0.5: pass\nprint(time.perf_counter())";
    // Another limit makes it another run to the memory of the sandbox.
    let run_with = |extra: u64| {
        let fuel = RunLimits::default().fuel - extra;
        run(source, b"", &RunLimits { fuel, ..RunLimits::default() })
    };
    let quiet = run_with(0);
    assert!(quiet.ending.is_success(), "{:?}", quiet.ending);
    let busy: Vec<_> = (1..9).into_par_iter().map(run_with).collect();
    for run in busy {
        assert_eq!(
            (&run.ending, &run.stdout, run.fuel),
            (&quiet.ending, &quiet.stdout, quiet.fuel)
        );
    }
}

#[test]
fn a_program_that_was_run_is_not_run_again() {
    let first = python("print('once and for all')");
    let again = python("print('once and for all')");
    assert!(Arc::ptr_eq(&first, &again));
}

#[test]
fn a_worker_killed_from_outside_is_replaced_and_its_run_repeated() {
    let host = Path::new(env!("CARGO_BIN_EXE_host"));
    let sandbox = Sandbox::with_worker(host, 1, &[folder()]);
    let run = |n: u32| {
        let program = Program::new("python", format!("print({n} + 1)").into_bytes());
        sandbox.run(&program, &Arc::from([]), &RunLimits::default()).unwrap()
    };
    for n in 0..3 {
        assert_eq!(run(n).stdout, format!("{}\n", n + 1).into_bytes());
        for worker in sandbox.idle_workers() {
            assert!(
                Command::new("kill").args(["-9", &worker.to_string()]).status().unwrap().success()
            );
        }
    }
}

#[test]
fn a_sandbox_whose_workers_cannot_work_says_so_and_never_judges() {
    let sandbox = Sandbox::with_worker(Path::new("/bin/false"), 1, &[folder()]);
    let program = Program::new("python", *b"print(1)");
    let error = sandbox.run(&program, &Arc::from([]), &RunLimits::default()).unwrap_err();
    assert!(error.to_string().contains("10 workers were lost"), "{error}");
    let unknown = Program::new("malbolge", *b"");
    let error = SANDBOX.run(&unknown, &Arc::from([]), &RunLimits::default()).unwrap_err();
    assert!(error.to_string().starts_with("no interpreter for `malbolge` is loaded"), "{error}");
}

#[test]
fn a_language_is_a_name_and_never_a_way_to_a_file() {
    let python = folder().join("python.wasm").display().to_string();
    for language in [python.as_str(), "/etc/passwd", "../python", "oci://example.org/x:1", "", "."]
    {
        let program = Program::new(language, *b"print(1)");
        let error = SANDBOX.run(&program, &Arc::from([]), &RunLimits::default()).unwrap_err();
        assert!(matches!(error, SandboxError::UnknownLanguage { .. }), "{language}: {error}");
    }
    // A plugin of that name that is no interpreter is none either.
    let program = Program::new("sudoku", *b"print(1)");
    let error = SANDBOX.run(&program, &Arc::from([]), &RunLimits::default()).unwrap_err();
    assert!(matches!(error, SandboxError::UnknownLanguage { .. }), "{error}");
}

#[test]
fn recursion_through_c_is_ten_thousand_levels_deep() {
    let source = "import sys\nsys.setrecursionlimit(10**6)\n\
        def a(n): return n and 1 + max(a(v) for v in (n - 1,))\n\
        def b(n): return n and 1 + max(map(b, (n - 1,)))\n\
        def c(n): return n and 1 + sorted(map(c, (n - 1,)))[0]\n\
        def d(n): return n and max((n - 1,), key=lambda v: d(v)) * 0 + n\n\
        class E:\n    def __init__(self, n): self.n = n\n\
        \x20   def __repr__(self): return repr(E(self.n - 1)) if self.n else 'E'\n\
        print(a(10000), b(10000), c(10000), d(10000), repr(E(10000)))";
    let run = python(source);
    let error = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.stdout, b"10000 10000 10000 10000 E\n", "{:?} {error}", run.ending);
}

#[test]
fn work_of_the_host_costs_a_program_fuel() {
    let fuel = |source: &str| {
        let run = python(source);
        assert!(run.ending.is_success(), "{:?}", run.ending);
        run.fuel
    };
    let sleeps = |count: u32| format!("import time\nfor _ in range({count}): time.sleep(1e-9)\n");
    let (few, many) = (fuel(&sleeps(100)), fuel(&sleeps(1100)));
    assert!(many - few > 1000 * 30_000, "{few} and {many}");
    let grown = |mib: u32| format!("open('/tmp/x', 'wb').truncate({mib} << 20)\n");
    let (small, large) = (fuel(&grown(1)), fuel(&grown(41)));
    assert!(large - small > 3 * (40 << 20), "{small} and {large}");
}

#[test]
fn work_of_the_host_alone_can_use_up_the_fuel() {
    let source = "import os\nfor i in range(2000): open(f'/tmp/{i}', 'w').close()\n\
                  while True: os.listdir('/tmp')";
    let limits = RunLimits { fuel: 1_000_000_000, ..RunLimits::default() };
    let run = run(source, b"", &limits);
    assert_eq!((&run.ending, run.fuel), (&Ending::OutOfFuel, limits.fuel));
}

#[test]
fn a_program_of_no_text_needs_what_the_interpreter_needs() {
    for language in ["python", "javascript"] {
        let needs = SANDBOX.needs(language).unwrap();
        assert_eq!(RunLimits::default().too_low(&needs), None);
        let low = RunLimits { fuel: needs.fuel - 1, ..RunLimits::default() };
        assert!(low.too_low(&needs).is_some());
        let empty = Program::new(language, *b"");
        assert_eq!(SANDBOX.run(&empty, &Arc::from([]), &low).unwrap().ending, Ending::OutOfFuel);
    }
}

#[test]
fn javascript_runs_too() {
    let source = "const lines = require('fs').readFileSync(0, 'utf8').trim().split('\\n');\n\
                  console.log(lines.map(Number).reduce((a, b) => a + b), [1, { a: 2 }]);";
    let program = Program::new("javascript", source.as_bytes());
    let run = |source: &str| {
        let program = Program::new("javascript", source.as_bytes());
        SANDBOX
            .run(
                &program,
                &Arc::from([]),
                &RunLimits { fuel: 1_000_000_000, ..RunLimits::default() },
            )
            .unwrap()
    };
    let sum = SANDBOX.run(&program, &Arc::from(*b"1\n2\n39\n"), &RunLimits::default()).unwrap();
    assert_eq!(String::from_utf8_lossy(&sum.stdout), "42 [ 1, { a: 2 } ]\n");
    assert_eq!(run("for (;;) {}").ending, Ending::OutOfFuel);
    assert!(matches!(run("let x = ;").ending, Ending::Malformed { .. }));
    assert!(matches!(&run("null.x").ending, Ending::Failed { error, .. } if error == "TypeError"));
    let hoard = "const hoard = []; for (;;) hoard.push(new Uint8Array(1 << 22).fill(1));";
    assert!(matches!(run(hoard).ending, Ending::OutOfMemory | Ending::OutOfFuel));
}
