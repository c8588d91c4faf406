//! What the two are told.

use plugin_sdk::testing::{Rehearsal, check_workflow};
use searcher_reasoner::SearcherReasoner;

#[test]
fn each_is_told_what_became_of_its_own_answer() {
    let mut team = Rehearsal::<SearcherReasoner>::of_language_models(&["query", "answer"], &[]);
    team.says("searcher", "Rome").becomes(&[(false, "Nothing was found.")]);
    assert!(!team.told("reasoner").contains("Nothing"), "{}", team.told("reasoner"));
    team.says("reasoner", "I lack a date.\n`More.`");
    assert!(team.told("searcher").contains("in full: Nothing was found."));
    team.says("searcher", "Rome date").becomes(&[(true, "")]);
    team.says("reasoner", "753").becomes(&[(false, "Wrong.")]);
    assert!(!team.told("searcher").contains("Wrong"), "{}", team.told("searcher"));
    team.says("searcher", "Rome").becomes(&[(true, "")]);
    assert!(team.told("reasoner").contains("in full: Wrong."), "{}", team.told("reasoner"));
}

#[test]
fn to_ask_for_more_is_worth_what_the_answer_will_be() {
    let mut team = Rehearsal::<SearcherReasoner>::begin(&["query", "answer"], &[]);
    team.says("searcher", "Rome").becomes(&[(true, "")]);
    assert_eq!(team.says("reasoner", "more").open(), [1]);
    team.says("searcher", "Rome date").becomes(&[(true, "")]);
    assert_eq!(team.open(), [1, 3]);
    team.says("reasoner", "753").becomes(&[(false, "Wrong.")]);
    assert_eq!(team.open().len(), 0, "it has answered");
}

#[test]
fn keeps_the_contract() {
    check_workflow::<SearcherReasoner>().assert_passed();
}
