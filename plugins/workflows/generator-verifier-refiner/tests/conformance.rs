//! The workflow keeps the contract.

use generator_verifier_refiner::GeneratorVerifierRefiner;

#[test]
fn keeps_the_contract() {
    plugin_sdk::testing::check_workflow::<GeneratorVerifierRefiner>().assert_passed();
}
