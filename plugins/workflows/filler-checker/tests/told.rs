//! What the two are told.

use filler_checker::FillerChecker;
use plugin_sdk::testing::{Rehearsal, check_workflow};

#[test]
fn each_is_told_what_became_of_its_own_answer() {
    let mut team = Rehearsal::<FillerChecker>::of_language_models(&["fill", "erase"], &[]);
    team.says("filler", "r1c1=5").becomes(&[(false, "r1c1 is given.")]);
    assert!(!team.told("checker").contains("given"), "{}", team.told("checker"));
    team.says("checker", "r2c2-").becomes(&[(false, "r2c2 is empty.")]);
    let told = team.told("filler");
    assert!(told.contains("in full: r1c1 is given.") && !told.contains("empty"), "{told}");
    team.says("filler", "pass").becomes(&[(true, "")]);
    let told = team.told("checker");
    assert!(told.contains("in full: r2c2 is empty.") && !told.contains("given"), "{told}");
}

#[test]
fn keeps_the_contract() {
    check_workflow::<FillerChecker>().assert_passed();
}
