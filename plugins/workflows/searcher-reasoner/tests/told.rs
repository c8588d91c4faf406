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
fn a_language_model_is_told_when_it_has_to_answer_and_a_tiny_policy_as_before() {
    let (kinds, rounds) = (["query", "answer"], [("rounds", 2.into())]);
    let mut team = Rehearsal::<SearcherReasoner>::of_language_models(&kinds, &rounds);
    team.says("searcher", "Rome").becomes(&[(true, "")]);
    assert!(!team.told("reasoner").contains("answer now"), "{}", team.told("reasoner"));
    team.says("reasoner", "more").says("searcher", "Rome date").becomes(&[(true, "")]);
    assert!(team.told("reasoner").contains("answer now"), "{}", team.told("reasoner"));
    let mut team = Rehearsal::<SearcherReasoner>::begin(&kinds, &[("rounds", 1.into())]);
    team.says("searcher", "Rome").becomes(&[(true, "")]);
    assert_eq!(team.told("reasoner"), "reasoner seen 2");
}

#[test]
fn who_asks_for_more_in_the_last_turn_has_answered() {
    let kinds = ["query", "answer"];
    let mut team = Rehearsal::<SearcherReasoner>::begin(&kinds, &[("rounds", 16.into())]);
    for _ in 0..8 {
        team.says("searcher", "Rome").becomes(&[(true, "")]).says("reasoner", "more");
    }
    team.says("searcher", "Rome").becomes(&[(true, "")]).says("reasoner", "more");
    assert_eq!(team.acts()[0].action.kind, "answer", "it is the ninth turn of nine");
}

#[test]
fn keeps_the_contract() {
    check_workflow::<SearcherReasoner>().assert_passed();
}
