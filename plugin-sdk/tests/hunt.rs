//! Holes in what environments pay are hunted down: how many of a planted corpus, by which kind of
//! finding, and nothing where nothing is wrong.

mod holes;

use holes::answers::{self, Answers};
use holes::doors::{self, Doors};
use holes::items::{self, Items};
use holes::keys::{self, Keys};
use holes::programs::{self, Programs};
use holes::{SOUND, VARIANTS};
use plugin_sdk::environment::Environment;
use plugin_sdk::testing::{Finding, Hunt, Native, Report, Scope, Verdict};

fn hunt<E: Environment + 'static>(variant: i32) -> Report {
    let scope = Scope::default().with("variant", variant);
    scope.hunt(&Native::<E>::default(), Hunt::default(), &|_, _, _| {})
}

fn failed(report: &Report) -> Vec<&Finding> {
    report.findings.iter().filter(|found| found.verdict == Verdict::Failed).collect()
}

/// In how many variants the hole is found, and found to be nothing but this; every finding can
/// be played again and is still one then.
fn hits<E: Environment + 'static>(kinds: &[&str]) -> i32 {
    let hit = |variant: i32| {
        let report = hunt::<E>(variant);
        let found = failed(&report);
        for one in &found {
            assert!(kinds.contains(&one.check), "variant {variant}: {report}");
            let seen = one.reproducer.as_ref().unwrap_or_else(|| panic!("{report}"));
            let scope = Scope::default().with("variant", variant);
            let again = scope.replay(&Native::<E>::default(), one.check, seen);
            assert_eq!(again.expect("a known check").verdict, Verdict::Failed, "{report}");
        }
        i32::from(!found.is_empty())
    };
    (0..VARIANTS).map(hit).sum()
}

/// In how many variants the ordinary check sees that something is paid that should not be.
fn seen<E: Environment + 'static>() -> i32 {
    let is_seen = |variant: i32| {
        let scope = Scope::default().with("variant", variant);
        let report = scope.check_environment(&Native::<E>::default());
        let of_pay = ["loops", "loitering", "unreadable"];
        i32::from(failed(&report).iter().any(|found| of_pay.contains(&found.check)))
    };
    (0..VARIANTS).map(is_seen).sum()
}

#[test]
fn the_check_alone_sees_eleven_of_forty_five_and_none_where_nothing_is_wrong() {
    let holes = [
        seen::<Doors<{ doors::PAYS_A_LAP }>>(),
        seen::<Doors<{ doors::PAYS_COMING_NEARER }>>(),
        seen::<Keys<{ keys::PAYS_AN_ALTERNATION }>>(),
        seen::<Doors<{ doors::PAYS_THE_LATE }>>(),
        seen::<Items<{ items::PAYS_FOR_EVERYTHING }>>(),
        seen::<Answers<{ answers::PAYS_FOR_FORM }>>(),
        seen::<Answers<{ answers::CAN_BE_FLATTERED }>>(),
        seen::<Programs<{ programs::PASSES_WHAT_DOES_NOT_END }>>(),
        seen::<Programs<{ programs::LEAVES_THE_TESTS_LYING_AROUND }>>(),
    ];
    assert_eq!(holes, [0, 5, 0, 0, 5, 1, 0, 0, 0]);
    let sound = [
        seen::<Doors<SOUND>>(),
        seen::<Keys<SOUND>>(),
        seen::<Items<SOUND>>(),
        seen::<Answers<SOUND>>(),
        seen::<Programs<SOUND>>(),
    ];
    assert_eq!(sound, [0; 5]);
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    let reports = [
        hunt::<Doors<SOUND>>(0),
        hunt::<Keys<SOUND>>(1),
        hunt::<Items<SOUND>>(2),
        hunt::<Answers<SOUND>>(3),
        hunt::<Programs<SOUND>>(4),
    ];
    for report in reports {
        assert!(failed(&report).is_empty(), "{report}");
        assert_eq!(report.findings.len(), 4, "{report}");
    }
}

#[test]
fn ways_around_that_pay_are_found_however_long() {
    assert_eq!(
        hits::<Doors<{ doors::PAYS_A_LAP }>>(&[
            "paid-detours",
            "unsolved-income",
            "late-solutions"
        ]),
        VARIANTS
    );
    assert_eq!(
        hits::<Doors<{ doors::PAYS_COMING_NEARER }>>(&[
            "paid-detours",
            "unsolved-income",
            "late-solutions"
        ]),
        VARIANTS
    );
}

#[test]
fn two_of_a_hundred_keys_that_pay_in_turn_are_found() {
    assert_eq!(
        hits::<Keys<{ keys::PAYS_AN_ALTERNATION }>>(&["paid-detours", "late-solutions"]),
        VARIANTS
    );
}

#[test]
fn a_solution_that_pays_more_when_it_comes_late_is_found() {
    assert_eq!(hits::<Doors<{ doors::PAYS_THE_LATE }>>(&["late-solutions"]), VARIANTS);
}

#[test]
fn parts_that_add_up_to_more_than_the_whole_are_found() {
    assert_eq!(
        hits::<Items<{ items::PAYS_FOR_EVERYTHING }>>(&["unsolved-income", "late-solutions"]),
        VARIANTS
    );
}

#[test]
fn pay_for_form_alone_is_found() {
    assert_eq!(
        hits::<Answers<{ answers::PAYS_FOR_FORM }>>(&[
            "unsolved-income",
            "paid-detours",
            "late-solutions"
        ]),
        VARIANTS
    );
}

#[test]
fn a_judge_that_can_be_flattered_is_found() {
    assert_eq!(
        hits::<Answers<{ answers::CAN_BE_FLATTERED }>>(&["unsolved-income", "late-solutions"]),
        VARIANTS
    );
}

#[test]
fn what_does_not_end_and_passes_is_found() {
    assert_eq!(
        hits::<Programs<{ programs::PASSES_WHAT_DOES_NOT_END }>>(&["blind-solutions"]),
        VARIANTS
    );
}

/// A name that nobody would guess is not found, and that is said.
#[test]
fn files_with_the_expected_output_are_found_where_their_names_can_be_guessed() {
    assert_eq!(
        hits::<Programs<{ programs::LEAVES_THE_TESTS_LYING_AROUND }>>(&["blind-solutions"]),
        VARIANTS - 1
    );
}
