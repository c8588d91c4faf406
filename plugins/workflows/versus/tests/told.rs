//! What the two are told.

use plugin_sdk::testing::{Rehearsal, check_workflow};
use versus::Versus;

#[test]
fn each_is_told_what_became_of_its_own_answer() {
    let mut team = Rehearsal::<Versus>::of_language_models(&["moves"], &[("history", 1.into())]);
    team.says("first", "9").becomes(&[(false, "There is no column 9.")]);
    assert!(team.told("first").contains("in full: There is no column 9."));
    team.says("first", "1").becomes(&[(true, "")]);
    assert!(!team.told("second").contains("column"), "{}", team.told("second"));
    assert_eq!(team.history("second"), []);
    team.says("second", "2").becomes(&[(true, "")]);
    assert!(!team.told("first").contains("last answer"), "{}", team.told("first"));
    assert_eq!(team.history("first")[0].1, "1");
}

#[test]
fn a_move_is_worth_what_the_reply_to_it_brings_and_no_later_one() {
    let mut team = Rehearsal::<Versus>::begin(&["moves"], &[]);
    team.says("first", "1").becomes(&[(true, "")]);
    assert_eq!(team.open(), [0, 1]);
    team.says("second", "9").becomes(&[(false, "There is no column 9.")]);
    assert_eq!(team.open(), [0, 2], "there is nothing to reply to what was refused");
    team.says("second", "2").becomes(&[(true, "")]);
    assert_eq!(team.open(), [2, 3], "the first move has been replied to");
    team.says("first", "3").becomes(&[(true, "")]);
    assert_eq!(team.open(), [3, 4]);
}

#[test]
fn keeps_the_contract() {
    check_workflow::<Versus>().assert_passed();
}
