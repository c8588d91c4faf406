//! The workflow keeps the contract.

use coder_tester::CoderTester;

#[test]
fn keeps_the_contract() {
    plugin_sdk::testing::check_workflow::<CoderTester>().assert_passed();
}
