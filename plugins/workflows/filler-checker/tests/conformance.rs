//! The workflow keeps the contract.

use filler_checker::FillerChecker;

#[test]
fn keeps_the_contract() {
    plugin_sdk::testing::check_workflow::<FillerChecker>().assert_passed();
}
