//! The mistakes that authors are most likely to make are found, each by the
//! check that names it.

mod hanoi;

use hanoi::*;
use plugin_sdk::testing::{Native, Report, Scope, Verdict};

fn check<const FAULT: u8>(disks: i32) -> Report {
    let scope = Scope { tasks: 4, ..Scope::default() }.with("disks", disks);
    scope.check_environment(&Native::<Hanoi<FAULT>>::default())
}

/// Fails unless this check alone failed, in a short look.
fn assert_found_at_once<const FAULT: u8>(name: &str) {
    let scope = Scope { tasks: 1, steps: 10, ..Scope::default() }.with("disks", 3);
    let report = scope.check_environment(&Native::<Hanoi<FAULT>>::default());
    let failed = report.findings.iter().filter(|finding| finding.verdict == Verdict::Failed);
    let names: Vec<&str> = failed.map(|finding| finding.check).collect();
    assert_eq!(names, [name], "fault {FAULT}:\n{report}");
}

/// Fails unless exactly these checks failed, and the first says how to see it.
fn assert_found<const FAULT: u8>(checks: &[&str]) {
    let report = check::<FAULT>(3);
    let failed: Vec<_> =
        report.findings.iter().filter(|finding| finding.verdict == Verdict::Failed).collect();
    let names: Vec<&str> = failed.iter().map(|finding| finding.check).collect();
    assert_eq!(names, checks, "fault {FAULT}:\n{report}");
    assert!(failed.iter().all(|finding| finding.reproducer.is_some()), "{report}");
}

#[test]
fn a_sound_tower_passes_strictly() {
    for report in [check::<SOUND>(3), check::<SOUND>(2), check::<LISTS_THE_MOVES>(3)] {
        assert!(report.passed_strictly(), "{report}");
    }
}

#[test]
fn what_a_state_forgets_and_what_no_seed_decides_is_found() {
    assert_found::<FORGETS_A_STREAK>(&["resume"]);
    let report = check::<SHOWS_A_HASH_ORDER>(3);
    let found = report.finding("determinism").unwrap_or_else(|| panic!("{report}"));
    assert_eq!(found.verdict, Verdict::Failed, "{report}");
    assert_found::<PAYS_WHO_LOOKS>(&["pure", "resume"]);
}

#[test]
fn paid_loops_are_found_behind_counters_too() {
    assert_found::<PAYS_FOR_MOVES>(&["loops"]);
    assert_found::<PAYS_AND_COUNTS_MOVES>(&["loops"]);
    assert_found::<PAYS_AND_COUNTS_ACTIONS>(&["loops"]);
    assert_found::<PAYS_AND_SHOWS_A_CLOCK>(&["loops"]);
    assert_found::<PAYS_THE_TALKER>(&["loops"]);
    let report = check::<PAYS_FOR_GARBAGE>(3);
    let found = report.finding("unreadable").unwrap_or_else(|| panic!("{report}"));
    assert_eq!(found.verdict, Verdict::Failed, "{report}");
}

#[test]
fn an_income_that_comes_with_every_third_action_only_is_found() {
    assert_found::<PAYS_EVERY_THIRD_MOVE>(&["loops"]);
    assert_found::<PAYS_EVERY_FIFTH_MOVE>(&["loops"]);
    // What is refused and paid for is garbage, too.
    assert_found::<PAYS_EVERY_THIRD_PIECE_OF_GARBAGE>(&["loops", "unreadable"]);
    let report = check::<PAYS_EVERY_THIRD_PIECE_OF_GARBAGE>(3);
    let found = report.finding("unreadable").and_then(|found| found.reproducer.as_ref());
    assert_eq!(found.map(|seen| seen.acts.len()), Some(3), "{report}");
}

#[test]
fn what_language_models_say_where_a_word_was_asked_for_is_found_to_break_it() {
    let report = check::<PANICS_AT_FORTY_CHARACTERS>(3);
    let found = report.finding("unreadable").and_then(|found| found.reproducer.as_ref());
    let said = found.and_then(|seen| Some(seen.acts.last()?.first()?.action.text.chars().count()));
    // As little as still shows it.
    assert_eq!(said, Some(40), "{report}");
    assert_found_at_once::<PANICS_AT_OTHER_SCRIPTS>("unreadable");
    assert_found_at_once::<PANICS_AT_LARGE_NUMBERS>("unreadable");
    assert_found_at_once::<PANICS_AT_FENCES>("unreadable");
    assert_found_at_once::<PANICS_AT_EMPTY_LINES>("unreadable");
    assert_found_at_once::<PANICS_AT_CONTROL_CHARACTERS>("unreadable");
    assert_found_at_once::<PANICS_WHEN_LOOKED_AT_AFTER_PROSE>("unreadable");
    assert_found_at_once::<PANICS_AT_DEEP_NESTING>("unreadable");
}

#[test]
fn an_instance_that_says_something_else_when_it_is_asked_again_is_found() {
    for report in [check::<DESCRIBES_ITSELF_ANEW>(3), check::<CONFIGURES_ITSELF_ANEW>(3)] {
        let found = report.finding("description").unwrap_or_else(|| panic!("{report}"));
        assert_eq!(found.verdict, Verdict::Failed, "{report}");
        assert!(found.sentence.contains("again") || found.sentence.contains("second"), "{report}");
    }
}

#[test]
fn tasks_of_two_splits_are_found_under_any_number() {
    assert_found::<IGNORES_THE_SPLIT>(&["splits"]);
    assert_found::<NUMBERS_THE_SAME_TASKS>(&["splits"]);
    assert_found::<HIDES_A_NUMBER>(&["splits"]);
    assert_found::<NAMES_THE_SPLIT>(&["seed", "splits"]);
    assert_found::<OWNS_NO_TASKS>(&["splits"]);
    assert_found::<SHUFFLES_THE_SAME_TASKS>(&["splits"]);
}

#[test]
fn a_few_shared_tasks_among_half_a_million_are_found_with_enough_seeds() {
    let scope = Scope { tasks: 14, steps: 4, ..Scope::default() }.with("disks", 6);
    let report = scope.check_environment(&Native::<Hanoi<OWNS_NO_TASKS>>::default());
    assert_eq!(report.finding("splits").map(|found| found.verdict), Some(Verdict::Failed));
}

#[test]
fn answers_and_seeds_that_are_told_are_found() {
    assert_found::<SHOWS_THE_SOLUTION>(&["leak"]);
    assert_found::<SHOWS_THE_PLAN>(&["leak"]);
    assert_found::<HINTS_IN_BETWEEN>(&["leak"]);
    assert_found::<COUNTS_HINTS>(&["leak"]);
    assert_found::<TELLS_THE_SOLUTION_IN_THE_RULES>(&["leak"]);
    assert_found::<SHOWS_THE_SEED>(&["seed"]);
}

#[test]
fn a_panic_at_other_settings_than_the_defaults_is_found_with_the_setting() {
    assert_found::<PANICS_AT_FOUR>(&["settings"]);
    let report = check::<PANICS_AT_FOUR>(3);
    assert!(report.to_string().contains("it panicked: too many disks"), "{report}");
    assert!(report.to_string().contains("train task 0, disks=4"), "{report}");
}
