//! The workflow keeps the contract.

use reasoner_tool::ReasonerTool;

#[test]
fn keeps_the_contract() {
    plugin_sdk::testing::check_workflow::<ReasonerTool>().assert_passed();
}
