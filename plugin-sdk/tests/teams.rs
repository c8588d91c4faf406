//! The conformance suite plays a team: moves at the same time, views of each
//! seat, awards to each.

mod carry;

use carry::*;
use plugin_sdk::testing::{Report, Verdict, check_environment};

fn check<const FAULT: u8>() -> Report {
    check_environment::<Carry<FAULT>>()
}

fn faults<const FAULT: u8>() -> Vec<&'static str> {
    let report = check::<FAULT>();
    let failed = report.findings.iter().filter(|finding| finding.verdict == Verdict::Failed);
    failed.map(|finding| finding.check).collect()
}

fn sentence(report: &Report, check: &str) -> String {
    let finding = report.finding(check).unwrap_or_else(|| panic!("{report}"));
    format!("{finding}")
}

#[test]
fn a_sound_team_of_two_who_must_move_together_passes_every_check() {
    let report = check::<SOUND>();
    assert!(report.passed_strictly(), "{report}");
    assert!(sentence(&report, "seats").contains("2 seats are told different things"), "{report}");
    assert!(sentence(&report, "expert").contains("within 4 actions"), "{report}");
}

#[test]
fn shaping_that_is_taken_back_from_another_seat_is_a_paid_loop() {
    assert_eq!(faults::<CHARGES_THE_OTHER>(), ["loops", "loitering"]);
    let report = check::<CHARGES_THE_OTHER>();
    let found = sentence(&report, "loops");
    assert!(found.contains("earned 1.000 for carrier") && found.contains(" with "), "{report}");
}

#[test]
fn who_is_paid_for_what_another_says_is_found() {
    let found = faults::<PAYS_FOR_THE_OTHERS_WORDS>();
    assert!(found.contains(&"loops") && found.contains(&"unreadable"), "{found:?}");
}

#[test]
fn what_one_seat_wins_of_another_is_no_income_but_what_it_gets_besides_is() {
    assert_eq!(faults::<IS_A_CONTEST>(), [""; 0]);
    assert_eq!(faults::<PAYS_IN_A_CONTEST>(), ["loops", "loitering", "unreadable"]);
}

#[test]
fn awards_for_nobody_are_found() {
    assert!(faults::<PAYS_A_THIRD_MOVER>().contains(&"rewards"));
    assert!(faults::<PAYS_A_STRANGER>().contains(&"rewards"));
}

#[test]
fn what_only_joint_moves_change_and_only_the_second_seat_sees_is_looked_at() {
    assert_eq!(faults::<FORGETS_JOINT_MOVES>(), ["resume"]);
    assert!(faults::<SHOWS_THE_SECOND_ITS_LOOKS>().contains(&"pure"));
    assert_eq!(faults::<SHOWS_THE_SECOND_ITS_ANSWER>(), ["leak"]);
    assert_eq!(faults::<TELLS_THE_SECOND_THE_SEED>(), ["seed"]);
    let unlisted = faults::<SHOWS_THE_SECOND_AN_UNLISTED_WORD>();
    assert!(unlisted.contains(&"vocabulary"), "{unlisted:?}");
}

#[test]
fn privacy_is_neither_kept_from_the_host_nor_claimed_for_nothing() {
    assert!(faults::<KEEPS_ITS_PRIVACY_TO_ITSELF>().contains(&"seats"));
    let report = check::<SHOWS_ALL_THE_SAME>();
    let seats = report.finding("seats").unwrap_or_else(|| panic!("{report}"));
    assert_eq!(seats.verdict, Verdict::Skipped, "{report}");
}

#[test]
fn an_environment_may_refuse_moves_at_the_same_time_but_not_fall_over_them() {
    let found = faults::<TAKES_TURNS>();
    assert!(!found.contains(&"start") && !found.contains(&"determinism"), "{found:?}");
    assert_eq!(faults::<PANICS_AT_JOINT_MOVES>(), ["start"]);
}
