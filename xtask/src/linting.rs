//! A compiler that lints each crate once, and tests without optimizing them.
//!
//! `cargo clippy` checks all that a crate depends on first, though a build has done so already; of
//! hundreds of crates that is a good part of what all checks take. And of each of our own crates a
//! second one is compiled, with its tests in it, which takes minutes to optimize and seconds to
//! run. So this program puts itself in the place of the compiler of our own crates
//! (`build.rustc-workspace-wrapper`): what is a test is compiled by the linter itself, which reads
//! it only once, but does not optimize. A library is a part of its tests, and linted there.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::process;
use crate::workspace::Workspace;

/// The compiler, called as it is here, that only looks.
const LINTER: &str = "clippy-driver";

/// The setting that has cargo call a copy of this program, which itself is compiled on the way,
/// with every call of the compiler.
pub fn setting(workspace: &Workspace) -> Result<String> {
    let (program, copy) = (env::current_exe()?, workspace.target_dir.join("linting-compiler"));
    fs::copy(program, &copy).with_context(|| format!("writing `{}`", copy.display()))?;
    Ok(format!("build.rustc-workspace-wrapper={copy:?}"))
}

/// The call of a compiler that these arguments of this program are, if they are one.
pub fn called_for() -> Option<Vec<OsString>> {
    let call: Vec<OsString> = env::args_os().skip(1).collect();
    let compiler = Path::new(call.first()?).file_stem()?;
    (compiler == "rustc").then_some(call)
}

/// Lint, then compile; what was wrong has been said then.
pub fn compile(call: &[OsString]) -> ExitCode {
    match linted_and_compiled(call) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(error) if error.is::<process::Failed>() => {}
        Err(error) => eprintln!("error: {error:#}"),
    }
    ExitCode::FAILURE
}

fn linted_and_compiled(call: &[OsString]) -> Result<()> {
    if call.iter().any(|argument| argument == "--test") {
        let mut linter = Command::new(LINTER);
        linter.args(call).args(["--deny", "warnings"]);
        // Of options that contradict each other the last one counts.
        return process::run(linter.args(["-C", "opt-level=0"]));
    }
    let mut compiler = Command::new(&call[0]);
    compiler.args(&call[1..]);
    if compiles(call) {
        compiler.args(["--deny", "warnings"]);
        if !is_library(call) {
            look_at(call)?;
        }
    }
    process::run(&mut compiler)
}

fn is_library(call: &[OsString]) -> bool {
    let kind = call.windows(2).find(|pair| pair[0] == "--crate-type");
    kind.is_some_and(|pair| pair[1] != "bin")
}

fn look_at(call: &[OsString]) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut linter = Command::new(LINTER);
    linter.args(looking(call)).arg("--out-dir").arg(folder.path());
    process::run(linter.args(["--emit=metadata", "--deny", "warnings"]))
}

/// Whether something comes of it: cargo also asks compilers what they are.
fn compiles(call: &[OsString]) -> bool {
    call.iter().any(|argument| argument.as_encoded_bytes().starts_with(b"--emit="))
}

/// The same call without what says what to write, and where.
fn looking(call: &[OsString]) -> Vec<OsString> {
    let mut kept: Vec<OsString> = Vec::new();
    let mut arguments = call.iter().peekable();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        let is_incremental = |next: Option<&&OsString>| {
            next.is_some_and(|next| next.as_encoded_bytes().starts_with(b"incremental="))
        };
        match &*text {
            "--out-dir" => drop(arguments.next()),
            "-C" if is_incremental(arguments.peek()) => drop(arguments.next()),
            _ if text.starts_with("--emit=") || text.starts_with("-Cincremental=") => {}
            // Otherwise cargo would take it for a part of what is built.
            _ if text.starts_with("--json=") => kept.push(without_artifacts(&text)),
            _ => kept.push(argument.clone()),
        }
    }
    kept
}

fn without_artifacts(json: &str) -> OsString {
    let kinds = json.trim_start_matches("--json=").split(',').filter(|kind| *kind != "artifacts");
    let kinds: Vec<&str> = kinds.collect();
    OsStr::new(&format!("--json={}", kinds.join(","))).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_crate_is_looked_at_as_it_is_compiled_but_nothing_is_written_where_cargo_looks() {
        let compiling = call(
            "rustc --crate-name a --edition=2024 a.rs --error-format=json \
             --json=diagnostic-rendered-ansi,artifacts,future-incompat --crate-type lib \
             --emit=dep-info,metadata,link -C opt-level=3 --test -C incremental=i -C metadata=m \
             --out-dir target/deps -L dependency=d",
        );
        let looked_at = call(
            "rustc --crate-name a --edition=2024 a.rs --error-format=json \
             --json=diagnostic-rendered-ansi,future-incompat --crate-type lib -C opt-level=3 \
             --test -C metadata=m -L dependency=d",
        );
        assert_eq!(looking(&compiling), looked_at);
        assert!(compiles(&compiling) && is_library(&compiling));
        assert!(!is_library(&call("rustc --crate-name a --crate-type bin a.rs")));
        assert!(!compiles(&call("rustc -vV")));
    }

    #[test]
    fn a_program_or_a_test_with_a_lint_is_not_compiled() {
        if !process::succeeds(Command::new(LINTER).arg("--version")) {
            eprintln!("clippy is not installed: nothing is linted");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        for kind in ["--test", "--crate-type bin"] {
            let compiled = |text: &str| {
                let source = folder.path().join("a.rs");
                fs::write(&source, text).unwrap();
                let (source, out) = (source.display(), folder.path().display());
                let options = format!("--crate-name=a {kind} --emit=link --out-dir {out}");
                linted_and_compiled(&call(&format!("rustc {source} {options}"))).is_ok()
            };
            assert!(!compiled("fn main() { let _ = one(); } fn one() -> i32 { return 1; }"));
            assert!(!folder.path().join("a").exists(), "{kind}");
            assert!(compiled("fn main() { let _ = one(); } fn one() -> i32 { 1 }"));
            fs::remove_file(folder.path().join("a")).expect(kind);
        }
    }
}
