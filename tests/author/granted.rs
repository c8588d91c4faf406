//! Plugins that were granted the sandbox, and those that were not.

use std::path::Path;
use std::sync::Arc;

use troupe_core::config::{Grantee, Limits};
use troupe_core::program::RunLimits;
use troupe_core::trajectory::{Ending, Event};
use troupe_guests::plugin::{
    Cause, EnvironmentPlugin, Grant, Grants, Move, PluginLibrary, SandboxGrant, Split, Task,
};
use troupe_guests::scenario::{Answer, Next};

use crate::languages::has;
use crate::projects::type_in;
use crate::sudoku::built;
use crate::support::sandboxed::{SANDBOX, library};
use crate::support::scenarios::{self, scenario};
use crate::support::{fixture, run};

fn doubling(limits: RunLimits) -> EnvironmentPlugin {
    let library = library(&["program-environment"], &["program-environment"], limits);
    library.environment(None).unwrap().clone()
}

fn task(environment: &EnvironmentPlugin, mode: &str) -> Task {
    scenarios::task(environment, &format!("mode = \"{mode}\""), 0)
}

/// What an environment makes of a program: the share of tests passed, and feedback.
fn judge(environment: &EnvironmentPlugin, mode: &str, program: &str) -> (f64, String) {
    let mut episode = environment.start(&task(environment, mode)).unwrap();
    let outcome = episode.act(vec![Move::new("player", "program", program)]).unwrap();
    (outcome.for_team(), outcome.told().to_owned())
}

#[test]
fn an_environment_has_programs_run_and_judges_them_itself() {
    let environment = doubling(RunLimits::default());
    assert_eq!(judge(&environment, "fine", "print(2 * int(input()))").0, 1.0);
    assert_eq!(judge(&environment, "fine", "print(4)").0, 0.25);
    let (passed, feedback) = judge(&environment, "fine", "print(1 / 0)");
    assert_eq!(passed, 0.0);
    assert!(feedback.contains("ZeroDivisionError"), "{feedback}");
}

#[test]
fn whatever_a_plugin_asks_for_a_run_gets_no_more_than_the_user_allows() {
    let environment = doubling(RunLimits { fuel: 200_000_000, ..RunLimits::default() });
    let (_, feedback) = judge(&environment, "greedy", "while True: pass");
    assert!(feedback.starts_with("Ending::OutOfFuel"), "{feedback}");
    let environment = doubling(RunLimits { output_bytes: 1000, ..RunLimits::default() });
    let (_, feedback) = judge(&environment, "greedy", "print('x' * 10_000)");
    assert!(feedback.starts_with("Ending::OutputFlood"), "{feedback}");
}

#[test]
fn a_run_that_does_not_take_place_is_a_problem_and_no_reward() {
    let environment = doubling(RunLimits::default());
    let mut episode = environment.start(&task(&environment, "unknown-language")).unwrap();
    let failure = episode.act(vec![Move::new("player", "program", "print(1)")]).unwrap_err();
    assert!(matches!(failure.cause, Cause::Problem { .. }), "{failure}");
    assert!(failure.to_string().contains("no interpreter for `malbolge`"), "{failure}");
}

#[test]
fn time_in_the_sandbox_is_not_the_plugins_own() {
    let limits = Limits { timeout_ms: 300, ..Limits::default() };
    let grant = SandboxGrant { runner: Arc::new(SANDBOX.clone()), limits: RunLimits::default() };
    let to = vec![Grantee::named("program-environment")];
    let grants = Grants { sandbox: Grant { what: Some(grant), to }, ..Grants::default() };
    let library =
        PluginLibrary::load(&[fixture("program-environment")], &[], &limits, grants).unwrap();
    let environment = library.environment(None).unwrap();
    // Four runs of about half a second each.
    let slow = "for _ in range(5_000_000): pass\nprint(2 * int(input()))";
    assert_eq!(judge(environment, "fine", slow).0, 1.0);
}

#[test]
fn without_a_grant_a_plugin_that_wants_the_sandbox_is_not_loaded() {
    let file = fixture("program-environment").display().to_string();
    let (code, _, stderr) = run(&["plugin", "check", &file]);
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.contains("grant that with `--grant program-environment=sandbox`"), "{stderr}");
}

#[test]
fn what_a_plugin_asks_for_can_be_seen_before_it_is_granted() {
    let file = fixture("program-environment").display().to_string();
    let (code, stdout, stderr) = run(&["plugin", "inspect", &file]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("`--grant program-environment=sandbox`"), "{stdout}");
    let file = fixture("tool-workflow").display().to_string();
    let (code, stdout, stderr) = run(&["plugin", "inspect", &file]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("calls the tool `run`"), "{stdout}");
    assert!(stdout.contains("`--grant tool-workflow=sandbox`"), "{stdout}");
    let (code, stdout, _) = run(&["plugin", "inspect", "plan-path"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("imports nothing that reaches beyond the log"), "{stdout}");
}

/// The player of the tool loop answers `programs` in turn.
fn play(granted: &[&str], programs: &[&str]) -> Result<(Ending, Vec<Event>), String> {
    let library = library(&["hostile-environment", "tool-workflow"], granted, RunLimits::default());
    let environment = library.environment(None).unwrap().clone();
    let workflow = library.workflow(Some("tool-workflow"), &environment).unwrap();
    let scenario = scenario(&environment, "mode = \"fine\"", &workflow, "");
    let mut now = scenario.begin(Split::Train, 5).map_err(|failure| failure.to_string())?;
    let mut events = now.events.clone();
    for program in programs {
        let Next::Asked(position) = &now.next else { panic!("it ended early") };
        now = scenario
            .answer(position, &[Answer { text: program, complete: true, forced: false }])
            .map_err(|failure| failure.to_string())?;
        events.extend(now.events.clone());
    }
    match now.next {
        Next::Ended(ending) => Ok((ending, events)),
        Next::Asked(_) => panic!("it did not end"),
    }
}

#[test]
fn a_workflow_has_a_program_run_and_goes_on_with_what_it_printed() {
    let programs = ["print(1 / 0)", "import sys\nprint(int(sys.stdin.read() == 'tool input'))"];
    let (ending, events) = play(&["tool-workflow"], &programs).unwrap();
    assert_eq!(ending, Ending::Solved);
    let runs: Vec<(bool, &str)> = events
        .iter()
        .filter_map(|event| match event {
            Event::Called { succeeded, answer, .. } => Some((*succeeded, answer.as_str())),
            _ => None,
        })
        .collect();
    let [(false, failed), (true, printed)] = runs[..] else { panic!("{runs:?}") };
    assert!(failed.contains("\"ending\":\"error\"") && failed.contains("ZeroDivisionError"));
    assert!(printed.contains("\"stdout\":\"1\\n\""), "{printed}");
}

#[test]
fn a_workflow_without_a_grant_has_no_program_run() {
    let failure = play(&[], &["print(1)"]).unwrap_err();
    assert!(failure.contains("grant it with `--grant tool-workflow=sandbox`"), "{failure}");
}

/// Plays the fixture `granted` in this language; what is told of it.
fn play_granted(folder: &Path, how: &str) -> String {
    let line = "host play --plugins granted/granted.wasm,solo --grant granted=sandbox,search \
                --set 'retrieval.corpus=[\"corpus.jsonl\"]'";
    let (input, flags) = how.split_once('|').unwrap_or(("", how));
    type_in(folder, &format!("printf '{input}\\n' | {line} {flags} 2>&1 || true")).unwrap()
}

fn uses_what_it_was_granted(language: &str) {
    let folder = tempfile::tempdir().unwrap();
    let corpus = "{\"id\":\"a\",\"text\":\"alpha beta\"}\n{\"id\":\"b\",\"text\":\"beta\"}\n";
    std::fs::write(folder.path().join("corpus.jsonl"), corpus).unwrap();
    built(language, "granted", folder.path());
    for (how, told) in [
        ("--oracle --draw", &["drawn 0", "accepted:  exited 0 2, exited 0 42", "Solved"][..]),
        ("1 / 0|--human --set workflow.kind=run", &["failed ZeroDivisionError"]),
        ("1|--human --set workflow.kind=unknown", &["no interpreter for `malbolge` is loaded"]),
        ("alpha|--human --set workflow.kind=query", &["query accepted:  a"]),
    ] {
        let said = play_granted(folder.path(), how);
        told.iter().for_each(|told| assert!(said.contains(told), "{how}: {said}"));
    }
}

#[test]
fn a_plugin_in_javascript_uses_what_it_was_granted() {
    if has("node") {
        uses_what_it_was_granted("javascript");
    }
}

#[test]
fn a_plugin_in_c_uses_what_it_was_granted() {
    uses_what_it_was_granted("c");
}
