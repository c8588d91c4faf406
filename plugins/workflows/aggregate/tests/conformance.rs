//! The workflow keeps the contract.

use aggregate::Aggregate;

#[test]
fn keeps_the_contract() {
    plugin_sdk::testing::check_workflow::<Aggregate>().assert_passed();
}
