//! `host plugin check`: shipped plugins keep the contract, and it notices who does not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;

use serde_json::Value;

use crate::support::{fixture, plugin, run, shipped};

/// Exit code and standard output of a short check.
fn check(file: &Path, set: &[&str]) -> (i32, String) {
    let file = file.to_str().unwrap();
    let set = set.iter().flat_map(|pair| ["--set", pair]);
    let flags: Vec<&str> =
        ["plugin", "check", file, "--tasks", "5"].into_iter().chain(set).collect();
    let (code, stdout, stderr) = run(&flags);
    (code, stdout + &stderr)
}

/// The checks that failed, and all that was said.
fn faults(file: &Path, set: &str) -> (Vec<String>, String) {
    faults_of(file, &[set])
}

fn faults_of(file: &Path, set: &[&str]) -> (Vec<String>, String) {
    let (code, text) = check(file, set);
    assert_eq!(code, 7, "{set:?}: {text}");
    let failed = text.lines().filter_map(|line| line.trim_start().strip_prefix("FAILED"));
    let name = |line: &str| line.split_whitespace().next().unwrap().to_owned();
    (failed.map(name).collect(), text)
}

/// What a plugin is granted that has to be.
fn grants(name: &str) -> Vec<String> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/search/corpus.jsonl");
    match name {
        "search" => vec!["--grant-retrieval".to_owned(), corpus.to_str().unwrap().to_owned()],
        _ => Vec::new(),
    }
}

/// But for `code`, of which every move is a run of Python: its own tests check it natively.
#[test]
fn every_shipped_plugin_keeps_the_contract() {
    let names = shipped(&["environments", "interpreters", "workflows"]);
    assert!(names.len() >= 25, "{names:?}");
    // What is built on request is checked on request.
    let is_left_out = |name: &str| ["code", "reasoning-gym"].contains(&name);
    let names: Vec<String> = names.into_iter().filter(|name| !is_left_out(name)).collect();
    std::thread::scope(|scope| {
        for half in names.chunks(names.len().div_ceil(2)) {
            scope.spawn(|| half.iter().for_each(|name| check_shipped(name)));
        }
    });
}

fn check_shipped(name: &str) {
    let file = plugin(name);
    let mut flags = vec!["plugin", "check", file.to_str().unwrap(), "--tasks", "1"];
    let grants = grants(name);
    flags.extend(grants.iter().map(String::as_str));
    let (code, stdout, stderr) = run(&flags);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains(&format!("`{name}`")) && stdout.contains("  ok  "), "{stdout}");
}

#[test]
fn an_environment_that_breaks_the_contract_is_found_out() {
    let file = fixture("hostile-environment");
    let (code, text) = check(&file, &[]);
    assert_eq!(code, 0, "{text}");
    for (mode, finding, reason) in [
        ("loop-earns", "loops", "a way back to an earlier state earned 0.100"),
        ("hidden-state", "resume", "does not look like the saved one"),
        ("remembers", "instances", "in an instance that has served test task 1"),
        ("nan-reward", "start", "the award `nothing` is NaN"),
        ("trap-resume", "start", "failed in `resume`: it crashed"),
        ("trap-observe", "start", "failed in `observe`: it crashed"),
        ("short-of-breath", "unreadable", "(tried: ten thousand characters of prose)"),
        ("third-earns", "loops", "the same actions over and over"),
        ("changes-its-name", "description", "when the same instance is asked again"),
        ("changes-its-mind", "description", "when the same instance is asked again"),
    ] {
        let (names, text) = faults(&file, &format!("environment.mode={mode}"));
        assert!(names.iter().any(|name| name == finding), "{mode}: {text}");
        assert!(text.contains(reason), "{mode}: {text}");
    }
}

#[test]
fn a_team_that_moves_at_the_same_time_is_checked_with_its_own_seats_and_views() {
    let file = fixture("pair-environment");
    for (game, told) in [
        ("joint", "2 seats are told the same"),
        ("duel", "2 seats are told the same"),
        ("private", "2 seats are told different things"),
    ] {
        let (code, text) = check(&file, &[&format!("environment.game={game}")]);
        assert_eq!(code, 0, "{game}: {text}");
        let solves = text.contains("the expert solves 105 tasks, within 1 actions");
        assert!(text.contains(told) && solves == (game != "duel"), "{game}: {text}");
    }
}

#[test]
fn a_finding_for_programs_says_how_to_see_it_and_strictly_a_skip_fails() {
    let file = fixture("hostile-environment").display().to_string();
    let check = |more: &[&str]| {
        let flags = [&["plugin", "check", &file, "--tasks", "2", "--json"], more].concat();
        let (code, stdout, stderr) = run(&flags);
        let report: Value = serde_json::from_str(&stdout).expect(&stderr);
        (code, report)
    };
    let (code, report) = check(&["--set", "environment.mode=loop-earns"]);
    assert_eq!((code, &report["passed"]), (7, &Value::Bool(false)), "{report:#}");
    let findings = report["reports"][0]["findings"].as_array().unwrap();
    let loops = findings.iter().find(|finding| finding["check"] == "loops").unwrap();
    let seen = &loops["reproducer"];
    assert_eq!((&loops["verdict"], &seen["split"]), (&"failed".into(), &"train".into()));
    assert_eq!(seen["settings"]["mode"], "loop-earns");
    assert!(seen["seed"].is_u64() && seen["actions"][0]["kind"] == "answer", "{seen:#}");
    assert_eq!(
        (&seen["actions"][0]["act"], &seen["actions"][0]["instance"]),
        (&0.into(), &0.into())
    );
    assert_eq!(seen["step"], 1, "{seen:#}");
    // What is said to show it does, and not with other settings.
    let replay = |mode: &str| {
        let seen = seen.to_string().replace("loop-earns", mode);
        let (code, stdout, stderr) =
            run(&["plugin", "check", &file, "--tasks", "2", "--replay", &seen]);
        (code, stdout + &stderr)
    };
    let (code, text) = replay("loop-earns");
    assert_eq!(code, 7, "{text}");
    let shown = text.contains("+0.1000 presence") && text.contains("FAILED   loops");
    assert!(shown && loops["command"].as_str().unwrap().contains("--replay"), "{text}");
    let (code, text) = replay("fine");
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("nothing is wrong there"), "{text}");
    // What saves nothing cannot be resumed, so that one check cannot look.
    let unsaved = ["--set", "environment.mode=replay-only"];
    let (code, report) = check(&unsaved);
    assert_eq!((code, &report["reports"][0]["grade"]), (0, &"pass".into()), "{report:#}");
    let (code, report) = check(&[&unsaved[..], &["--strict"]].concat());
    assert_eq!((code, &report["strict"]), (7, &Value::Bool(true)), "{report:#}");
    let (code, report) = check(&["--strict"]);
    // Its expert earns nothing, so that nothing can be compared with that.
    assert_eq!((code, &report["reports"][0]["grade"]), (7, &"pass".into()), "{report:#}");
    assert_eq!(report["reports"][0]["tried"]["tasks"], 6);
    assert_eq!(report["sha256"][0].as_str().map(str::len), Some(64), "{report:#}");
    let (code, text) = {
        let file = plugin("plan-path").display().to_string();
        let (code, stdout, stderr) = run(&["plugin", "check", &file, "--tasks", "5", "--strict"]);
        (code, stdout + &stderr)
    };
    assert_eq!(code, 0, "{text}");
}

#[test]
fn workflows_with_panels_threads_judges_tools_and_teams_that_are_written_keep_the_contract() {
    for name in ["panel", "pair"] {
        let (code, text) = check(&fixture(&format!("{name}-workflow")), &[]);
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("keep to the roles, kinds and limits"), "{text}");
    }
    // These are for tests of the host, and some of their roles cannot learn anything.
    for (name, told) in [
        ("threads", "`planner` is not asked as open, but nobody acts when it"),
        ("designer", "`designer` is not asked as open, but nobody acts when it"),
        ("search", "`searcher` is not asked as open, but nobody acts when it"),
        ("judge", "the answers of `judge` were all worth the same, whatever it said"),
        ("chorus", "the answers of `singer` were all worth the same, whatever it said"),
    ] {
        let (faults, text) = faults_of(&fixture(&format!("{name}-workflow")), &[]);
        assert_eq!(faults, ["worth"], "{name}: {text}");
        assert!(text.contains(told), "{name}: {text}");
    }
    // It goes on for as long as its program prints the wrong thing.
    let (code, text) = check(&fixture("tool-workflow"), &[]);
    assert!(code == 7 && text.contains("nobody acts for 48 answers"), "{text}");
}

#[test]
fn a_workflow_that_breaks_the_contract_is_found_out() {
    let file = fixture("hostile-workflow");
    // It is sound in one mode, and says of the others that they are, too.
    assert_eq!(faults(&file, "workflow.mode=fine").0, ["settings"]);
    for (mode, reason) in [
        ("unknown-kind", "it acts with unknown kind `nonsense`"),
        ("wait-for-nobody", "it waits although no answer is due"),
        ("unknown-role", "it names a role `nobody` that it does not have"),
        ("trap", "failed in `advance`: it crashed"),
    ] {
        let (names, text) = faults(&file, &format!("workflow.mode={mode}"));
        assert_eq!(names[0], "rehearsal", "{mode}: {text}");
        assert!(text.contains(reason), "{mode}: {text}");
    }
}

#[test]
fn a_look_goes_on_with_other_tasks_and_settings_for_as_long_as_it_may() {
    let file = plugin("solver-verifier").display().to_string();
    let tried = |minutes: &str| {
        let flags = ["plugin", "check", &file, "--tasks", "1", "--json", "--minutes", minutes];
        let (code, stdout, stderr) = run(&flags);
        assert_eq!(code, 0, "{stdout}{stderr}");
        let report: Value = serde_json::from_str(&stdout).unwrap();
        report["reports"][0]["tried"]["settings"].as_u64().unwrap()
    };
    assert_eq!(tried("0"), 1);
    assert!(tried("0.1") > 1);
    let (code, _, stderr) = run(&["plugin", "check", &file, "--minutes", "never"]);
    assert_eq!(code, 2, "{stderr}");
}

#[test]
fn settings_that_cannot_be_are_a_matter_of_usage_not_a_finding() {
    let file = plugin("plan-path");
    for (set, message) in [
        ("environment.wals=3", "did you mean `walls`?"),
        ("environment.walls=-1", "`walls` is -1, but must be"),
        ("workflow.mode=fine", "the component brings no workflow"),
        ("walls=3", "there is no setting `walls`"),
        ("train.steps=3", "`train.steps` cannot be used: this command does not read it"),
        ("tasks.train=['nowhere.jsonl']", "cannot read the records in `nowhere.jsonl`"),
    ] {
        let (code, text) = check(&file, &[set]);
        assert_eq!(code, 2, "{set}: {text}");
        assert!(text.contains(message), "{set}: {text}");
    }
    for (command, set) in [("inspect", "tasks.limit=3"), ("bench", "workflow.rounds=3")] {
        let (code, _, stderr) = run(&["plugin", command, "plan-path", "--set", set]);
        let key = set.split_once('=').unwrap().0;
        let said = stderr.contains(&format!("`{key}` cannot be used: this command does not read"));
        assert!(code == 2 && said, "{command}: {code} {stderr}");
    }
    // Limits count, too: a check can be made as tight or as wide as a run.
    let (code, text) = check(&file, &["plugins.limits.fuel=10"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("ran out of fuel"), "{text}");
}

#[test]
fn an_environment_of_records_is_checked_with_those_that_are_named_and_no_other_takes_some() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records.jsonl");
    let record = |sum: u32| format!("{{\"question\": \"{sum} is\", \"answer\": \"{sum}0\"}}\n");
    std::fs::write(&records, (1..9).map(record).collect::<String>()).unwrap();
    let set = format!("tasks.train=[{:?}]", records.display().to_string());
    let (_, text) = check(&fixture("records-environment"), &[&set]);
    assert!(text.contains("the expert solves 105 tasks"), "{text}");
    let (code, text) = check(&plugin("plan-path"), &[&set]);
    assert!(code == 2 && text.contains("`plan-path` reads no records"), "{code} {text}");
}

#[test]
fn the_kind_of_action_that_a_workflow_is_set_to_send_is_one_that_there_is() {
    let set = ["--set", "workflow.kind=moves"];
    let (code, _, stderr) = run(&[&["plugin", "inspect", "solo"], &set[..]].concat());
    assert_eq!(code, 0, "{stderr}");
    let (code, text) = check(&plugin("solo"), &set[1..]);
    assert_eq!(code, 0, "{text}");
}

#[test]
fn an_environment_is_measured_with_the_seats_that_it_names() {
    let set = ["--set", "environment.opponent=seat"];
    let (code, stdout, stderr) = run(&[&["plugin", "bench", "connect-four"], &set[..]].concat());
    assert!(code == 0 && stdout.contains("act, as the expert does"), "{code} {stdout}{stderr}");
}

#[test]
fn a_hunt_follows_the_check_and_shows_what_it_found_again() {
    let hunt = |file: &str, more: &[&str]| {
        let flags = ["plugin", "check", file, "--tasks", "1", "--hunt", "--minutes", "0.03"];
        run(&[&flags[..], more].concat())
    };
    let file = fixture("hostile-environment").display().to_string();
    let (code, stdout, stderr) = hunt(&file, &["--set", "environment.mode=loop-earns", "--json"]);
    let report: Value = serde_json::from_str(&stdout).expect(&stderr);
    let findings = report["reports"][0]["findings"].as_array().unwrap();
    let named = |name: &str| findings.iter().find(|finding| finding["check"] == name).unwrap();
    assert_eq!((code, &named("paid-detours")["verdict"]), (7, &"failed".into()), "{report:#}");
    assert_eq!(named("blind-solutions")["verdict"], "passed", "{report:#}");
    let seen = named("paid-detours")["reproducer"].to_string();
    let (code, text, _) = run(&["plugin", "check", &file, "--tasks", "1", "--replay", &seen]);
    assert_eq!((code, text.contains("FAILED   paid-detours")), (7, true), "{text}");
    // Nothing is wrong with what is shipped.
    let (code, text, stderr) = hunt(&plugin("sudoku").display().to_string(), &[]);
    assert_eq!(code, 0, "{text} {stderr}");
    for kind in ["unsolved-income", "paid-detours", "late-solutions", "blind-solutions"] {
        assert!(text.contains(&format!("ok       {kind}")), "{text}");
    }
    let (code, _, stderr) = hunt(&plugin("solo").display().to_string(), &[]);
    assert_eq!((code, stderr.contains("brings no environment")), (2, true), "{stderr}");
}
