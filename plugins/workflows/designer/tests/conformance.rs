//! The workflow keeps the contract.

use designer::Designer;

#[test]
fn keeps_the_contract() {
    plugin_sdk::testing::check_workflow::<Designer>().assert_passed();
}
