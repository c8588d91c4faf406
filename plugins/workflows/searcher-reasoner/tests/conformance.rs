//! The workflow keeps the contract.

use searcher_reasoner::SearcherReasoner;

#[test]
fn keeps_the_contract() {
    plugin_sdk::testing::check_workflow::<SearcherReasoner>().assert_passed();
}
