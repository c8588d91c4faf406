//! Plugins that misbehave on purpose: each is stopped, says whose fault it was
//! and in which way, and harms neither the next run nor the one beside it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};

use troupe_core::config::Limits;
use troupe_guests::plugin::{
    Cause, Directive, EnvironmentPlugin, Event, Grants, Move, Outcome, Part, Plugin, PluginEngine,
    PluginError, PluginFailure, Reply, Seat, Status, Step, Task, View, WorkflowPlugin, text_of,
};

use crate::support::components::{folder, library_within};
use crate::support::scenarios;
use crate::support::{self, fixture, plugin};

const ROLE: &str = "player";

/// Tight enough that running out takes no time, ample for honest work.
fn limits() -> Limits {
    Limits { fuel: 200_000_000, ..Limits::default() }
}

fn environment(limits: &Limits) -> EnvironmentPlugin {
    let library = library_within(&["hostile-environment"], limits);
    library.environment(None).unwrap().clone()
}

fn task(environment: &EnvironmentPlugin, mode: &str) -> Task {
    scenarios::task(environment, &format!("mode = \"{mode}\""), 5)
}

/// A whole episode with a fork in the middle: what could be seen and what came of it.
fn answer(text: &str) -> Vec<Move> {
    vec![Move::new(ROLE, "answer", text)]
}

fn run(environment: &EnvironmentPlugin, mode: &str) -> Result<(String, Outcome), PluginFailure> {
    let mut episode = environment.start(&task(environment, mode))?;
    episode.demonstrate(&Seat::new(ROLE))?.expect("there is an expert");
    let mut fork = environment.resume(&episode.save()?)?;
    let observation = text_of(&fork.observe(&Seat::new(ROLE))?);
    Ok((observation, fork.act(answer("1"))?))
}

#[test]
fn every_hostile_mode_is_contained_and_attributed() {
    let environment = environment(&limits());
    let fine = run(&environment, "fine").unwrap();
    assert!(fine.0.starts_with("name") && fine.1.status == Status::Solved, "{fine:?}");
    for (mode, call, word) in [
        ("spin", "act", "out_of_fuel"),
        ("memory-hog", "act", "out_of_memory"),
        ("stack-overflow", "act", "stack_overflow"),
        ("trap-start", "start", "trap"),
        ("trap-observe", "observe", "trap"),
        ("trap-act", "act", "trap"),
        ("trap-demonstrate", "demonstrate", "trap"),
        ("trap-save", "save", "trap"),
        ("trap-resume", "resume", "trap"),
        ("huge-string", "observe", "out_of_memory"),
        ("long-feedback", "act", "text_too_long"),
        ("long-demonstration", "demonstrate", "invalid_answer"),
        ("many-parts", "act", "invalid_answer"),
        ("long-part", "act", "invalid_answer"),
        ("many-effects", "act", "invalid_answer"),
        ("ghost-award", "act", "invalid_answer"),
        ("many-images", "observe", "invalid_answer"),
        ("nan-reward", "act", "invalid_answer"),
        ("infinite-reward", "act", "invalid_answer"),
        ("problem", "act", "internal"),
    ] {
        let failure = run(&environment, mode).unwrap_err();
        assert_eq!((failure.call, failure.cause.word()), (call, word), "{mode}: {failure}");
        assert_eq!(&*failure.plugin, "hostile-environment", "{mode}");
        assert_eq!(failure, run(&environment, mode).unwrap_err(), "{mode}");
        assert_eq!(fine, run(&environment, "fine").unwrap(), "after {mode}");
    }
}

#[test]
fn what_there_is_too_much_of_is_named_with_its_limit() {
    let environment = environment(&Limits::default());
    let message = |mode| run(&environment, mode).unwrap_err().to_string();
    let parts = message("many-parts");
    assert!(parts.ends_with("the awards of an outcome come to 1001; 64 is the most"), "{parts}");
    let settings = environment.settings(&"mode = \"many-words\"".parse().unwrap()).unwrap();
    let words = environment.configure(&settings).unwrap_err().to_string();
    assert!(words.contains("`hostile-environment`"), "{words}");
    assert!(words.ends_with("it has 100000 words in its vocabulary; 65536 is the most"));
    let requests = first_step_after_an_answer("many-requests").unwrap_err().to_string();
    assert!(requests.contains("its requests come to"), "{requests}");
}

#[test]
fn a_panic_is_reported_in_the_plugins_own_words() {
    let failure = run(&environment(&limits()), "trap-act").unwrap_err();
    assert!(failure.to_string().contains("the mode says so"), "{failure}");
}

#[test]
fn the_clock_stops_a_plugin_with_fuel_to_spare() {
    let limits = Limits { fuel: u64::MAX, timeout_ms: 100, ..Limits::default() };
    let failure = run(&environment(&limits), "spin").unwrap_err();
    assert_eq!(failure.cause, Cause::OutOfTime { timeout_ms: 100 });
}

#[test]
fn a_flood_of_log_lines_is_cut() {
    let environment = environment(&Limits::default());
    let mut episode = environment.start(&task(&environment, "log-flood")).unwrap();
    // A million lines of ten thousand letters may be too much work, or not.
    if let Err(failure) = episode.act(answer("1")) {
        assert!(matches!(failure.cause.word(), "out_of_fuel" | "out_of_time"), "{failure}");
    }
    let lines = episode.take_log();
    assert!(!lines.is_empty() && lines.len() <= 256, "{} lines", lines.len());
    assert!(lines.iter().all(|line| line.text.len() <= 1024));
}

#[test]
fn the_first_lines_that_a_plugin_logs_are_shown_with_its_name() {
    let plugins =
        format!("{},{}", fixture("hostile-environment").display(), plugin("solo").display());
    let set = ["--set", "environment.mode=logs"];
    let (code, shown, stderr) =
        support::run(&[&["play", "--plugins", &plugins, "--oracle"][..], &set].concat());
    assert_eq!(code, 0, "{stderr}");
    assert!(shown.contains("hostile-environment logged (warning): careful"), "{shown}");
    let lines: Vec<&str> = shown.lines().filter(|line| line.contains("logged (info)")).collect();
    assert_eq!(lines.len(), 7, "a line of eight was the warning: {shown}");
    assert!(lines.iter().all(|line| line.len() < 320), "{shown}");
}

#[test]
fn without_a_saved_state_the_actions_are_replayed() {
    let environment = environment(&limits());
    let mut episode = environment.start(&task(&environment, "replay-only")).unwrap();
    episode.act(answer("2")).unwrap();
    let state = episode.save().unwrap();
    assert_eq!((state.saved(), state.moves().len()), (None, 1));
    let mut fork = environment.resume(&state).unwrap();
    assert_eq!(fork.act(answer("1")).unwrap(), episode.act(answer("1")).unwrap());
    let over = fork.act(answer("1")).unwrap_err();
    assert_eq!(over.cause.word(), "out_of_order");
}

#[test]
fn a_state_of_another_plugin_is_a_typed_problem() {
    let hostile = environment(&limits());
    let other = library_within(&["plan-path"], &limits());
    let other = other.environment(None).unwrap();
    let state = other.start(&scenarios::task(other, "", 1)).unwrap().save().unwrap();
    let failure = hostile.resume(&state).unwrap_err();
    assert_eq!((failure.call, failure.cause.word()), ("resume", "invalid_state"));
}

#[test]
fn hostile_runs_do_not_disturb_those_beside_them() {
    let environment = environment(&limits());
    let fine = run(&environment, "fine").unwrap();
    std::thread::scope(|scope| {
        for mode in ["spin", "memory-hog", "stack-overflow", "trap-act", "nan-reward"] {
            let (environment, fine) = (&environment, &fine);
            scope.spawn(move || (0..5).for_each(|_| drop(run(environment, mode).unwrap_err())));
            scope.spawn(move || {
                (0..50).for_each(|_| assert_eq!(run(environment, "fine").unwrap(), *fine));
            });
        }
    });
}

fn first_step_after_an_answer(mode: &str) -> Result<Step, PluginFailure> {
    let limits = limits();
    let library = library_within(&["hostile-environment", "hostile-workflow"], &limits);
    let environment = library.environment(None).unwrap();
    let workflow: WorkflowPlugin = library.workflow(None, environment).unwrap();
    let scenario = scenarios::scenario(
        environment,
        "mode = \"fine\"",
        &workflow,
        &format!("mode = \"{mode}\""),
    );
    let mut session = scenarios::session(&scenario)?;
    let parts = vec![Part::Text("go".to_owned())];
    session.advance(Event::Begun(vec![View { seat: None, parts }]))?;
    let mut session = workflow.resume(&session.save()?)?;
    session.advance(Event::Replied(Reply {
        seat: Seat::new(ROLE),
        answer: 0,
        thread: String::new(),
        text: "1".to_owned(),
        complete: true,
    }))
}

#[test]
fn a_hostile_workflow_is_contained_too() {
    let directive = |mode| first_step_after_an_answer(mode).unwrap().directive;
    assert!(matches!(directive("fine"), Directive::Act(_)));
    assert_eq!(directive("wait-for-nobody"), Directive::Wait);
    for (mode, word) in [
        ("unknown-role", "invalid_answer"),
        ("wrong-role-action", "invalid_answer"),
        ("spin", "out_of_fuel"),
        ("huge-prompt", "out_of_memory"),
        ("many-requests", "invalid_answer"),
        ("many-credits", "invalid_answer"),
        ("nan-credit", "invalid_answer"),
        ("many-calls", "invalid_answer"),
        ("many-moves", "invalid_answer"),
        ("unknown-seat", "invalid_answer"),
        ("many-messages", "invalid_answer"),
        ("many-long-messages", "invalid_answer"),
        ("trap", "trap"),
        ("problem", "internal"),
    ] {
        let failure = first_step_after_an_answer(mode).unwrap_err();
        assert_eq!((failure.call, failure.cause.word()), ("advance", word), "{mode}: {failure}");
        assert_eq!(&*failure.plugin, "hostile-workflow");
    }
}

/// What is said of a file with this content.
fn refusal(bytes: &[u8]) -> PluginError {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plugin.wasm");
    std::fs::write(&file, bytes).unwrap();
    Plugin::load(&PluginEngine::new().unwrap(), &file, &Limits::default(), &Grants::default())
        .unwrap_err()
}

fn assembled(name: &str) -> Vec<u8> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/plugins");
    wat::parse_file(fixtures.join(name)).unwrap()
}

#[test]
fn files_that_are_no_plugins_are_refused_before_they_run() {
    let error = refusal(&assembled("contract-version-9.wat"));
    assert!(error.to_string().contains("speaks contract 9.0.0"), "{error}");
    let error = refusal(&assembled("unknown-import.wat"));
    assert!(error.to_string().contains("imports `acme:net/sockets@1.0.0`"), "{error}");
    let error = refusal(&assembled("core-module.wat"));
    assert!(error.to_string().contains("it is a core module, not a component"), "{error}");
    let whole = std::fs::read(folder().join("plan-path.wasm")).unwrap();
    for length in [8, 100, whole.len() / 2, whole.len() - 1] {
        let error = refusal(&whole[..length]);
        let refused = matches!(error, PluginError::Damaged { .. } | PluginError::NoContract { .. });
        assert!(refused, "{length}: {error}");
    }
    let missing = Plugin::load(
        &PluginEngine::new().unwrap(),
        &PathBuf::from("no/such.wasm"),
        &Limits::default(),
        &Grants::default(),
    );
    assert!(matches!(missing, Err(PluginError::Io { .. })));
}
