//! The workflow keeps the contract.

use draft_refine::DraftRefine;

#[test]
fn keeps_the_contract() {
    plugin_sdk::testing::check_workflow::<DraftRefine>().assert_passed();
}
