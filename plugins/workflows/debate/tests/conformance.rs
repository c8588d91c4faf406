//! The workflow keeps the contract.

use debate::Debate;

#[test]
fn keeps_the_contract() {
    plugin_sdk::testing::check_workflow::<Debate>().assert_passed();
}
