//! What those who propose and the aggregator are told.

use aggregate::Aggregate;
use plugin_sdk::Seat;
use plugin_sdk::testing::{Rehearsal, check_workflow};

#[test]
fn who_proposes_is_told_of_its_own_proposal() {
    let chosen = [("tools", 1.into())];
    let mut team = Rehearsal::<Aggregate>::of_language_models(&["moves", "plan"], &chosen);
    let [one, other] = [0, 1].map(|seat| Seat::numbered("reasoner", seat));
    team.says(&one, "So:\n```\nD\n```").says(&other, "U").says("tool", "print(1/0)");
    team.returns(&[(false, "ZeroDivisionError")]);
    team.becomes(&[(false, "There is a wall."), (true, ""), (false, "Nothing is said.")]);
    let told = team.told("aggregator");
    assert!(told.starts_with("seen 1\n\nThe proposals: D | U |"), "{told}");
    assert!(!told.contains("wall"), "{told}");
    team.says("aggregator", "L").becomes(&[(false, "There is a tree.")]);
    assert!(team.told(&one).contains("There is a wall."), "{}", team.told(&one));
    assert!(!team.told(&other).contains("last answer"), "{}", team.told(&other));
    assert!(team.told("tool").contains("The program failed: ZeroDivisionError"));
    team.says(&one, "D").says(&other, "U").says("tool", "print('U')").returns(&[(true, "U")]);
    team.becomes(&[(true, ""), (true, ""), (true, "")]);
    assert!(team.told("aggregator").contains("There is a tree."));
}

#[test]
fn a_proposal_that_nobody_scores_is_worth_what_the_aggregator_makes_of_it() {
    let second = Seat::numbered("reasoner", 1);
    let mut team = Rehearsal::<Aggregate>::begin(&["moves"], &[]);
    assert_eq!(team.says("reasoner", "D").says(second.clone(), "U").open(), [0, 1]);
    team.says("aggregator", "U").becomes(&[(true, "")]);
    assert_eq!(team.open(), [3, 4], "a new question begins");
    let mut team = Rehearsal::<Aggregate>::begin(&["moves", "plan"], &[]);
    team.says("reasoner", "D").says(second, "U").becomes(&[(true, ""), (true, "")]);
    assert_eq!(team.open().len(), 0);
}

#[test]
fn keeps_the_contract() {
    check_workflow::<Aggregate>().assert_passed();
}
