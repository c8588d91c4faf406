//! The workflow keeps the contract.

use solo::Solo;

#[test]
fn keeps_the_contract() {
    plugin_sdk::testing::check_workflow::<Solo>().assert_passed();
}
