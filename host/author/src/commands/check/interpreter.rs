//! An interpreter under programs that are the same in every language.

use std::sync::Arc;

use plugin_sdk::testing::{Finding, Report, Verdict};

use troupe_core::program::{Ending, Execution, Program, RunLimits, Runner, SandboxError};
use troupe_sandbox::Sandbox;

/// What no language takes for a program.
const NONSENSE: &[u8] = b"\xff\xfe ((( nonsense \0";

/// Checks that the language's interpreter runs programs, the same way every time.
pub fn check(language: &str, sandbox: &Sandbox) -> Result<Report, SandboxError> {
    let run = |source: &[u8], fuel: u64| {
        // Every run has limits of its own, so that none is merely remembered.
        let limits = RunLimits { fuel, ..RunLimits::default() };
        sandbox.run(&Program::new(language, source.to_vec()), &Arc::from([]), &limits)
    };
    let ample = RunLimits::default().fuel;
    let [empty, again] = [run(b"", ample)?, run(b"", ample - 1)?];
    let nonsense = run(NONSENSE, ample)?;
    let starved = run(b"", 1000)?;
    let is_none = matches!(nonsense.ending, Ending::Malformed { .. } | Ending::Failed { .. });
    let findings = [
        (
            "empty",
            empty.ending.is_success(),
            format!("an empty program ends with exit code 0: {}", empty.ending.word()),
        ),
        (
            "repeats",
            same(&empty, &again),
            format!(
                "the same run twice is the same to the last unit of fuel: {} and {}",
                empty.fuel, again.fuel
            ),
        ),
        (
            "nonsense",
            is_none,
            format!("what is no program is said to be none: {}", nonsense.ending.word()),
        ),
        (
            "limits",
            starved.ending == Ending::OutOfFuel,
            format!("a run without fuel is stopped: {}", starved.ending.word()),
        ),
    ];
    let finding = |(check, holds, sentence)| {
        let verdict = if holds { Verdict::Passed } else { Verdict::Failed };
        Finding { check, verdict, sentence, reproducer: None, broken_off: None }
    };
    let findings = findings.map(finding).to_vec();
    Ok(Report::of(&format!("interpreter `{language}`"), findings))
}

fn same(one: &Execution, other: &Execution) -> bool {
    let parts = |run: &Execution| (run.ending.clone(), run.stdout.clone(), run.fuel);
    parts(one) == parts(other)
}
