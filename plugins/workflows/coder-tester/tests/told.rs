//! What the two are told.

use coder_tester::CoderTester;
use plugin_sdk::testing::{Rehearsal, check_workflow};

#[test]
fn each_is_told_what_became_of_its_own_answer() {
    let kinds = ["program", "tests"];
    let mut team = Rehearsal::<CoderTester>::of_language_models(&kinds, &[("history", 1.into())]);
    team.says("coder", "print(1)").says("tester", "1 -> 2");
    team.becomes(&[(false, "It does not end."), (true, "")]);
    let [coder, tester] = ["coder", "tester"].map(|role| team.told(role));
    assert!(coder.contains("in full: It does not end."), "{coder}");
    assert!(!tester.contains("It does not end."), "{tester}");
    assert_eq!(team.history("coder")[0].1, "print(1)");
    assert_eq!(team.history("tester")[0].1, "1 -> 2");
}

#[test]
fn keeps_the_contract() {
    check_workflow::<CoderTester>().assert_passed();
}
