//! What the two are told.

use plugin_sdk::testing::Rehearsal;
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
