//! The workflow keeps the contract.

use versus::Versus;

#[test]
fn keeps_the_contract() {
    plugin_sdk::testing::check_workflow::<Versus>().assert_passed();
}
