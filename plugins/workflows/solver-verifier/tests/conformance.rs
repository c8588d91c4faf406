//! The workflow keeps the contract.

use solver_verifier::SolverVerifier;

#[test]
fn keeps_the_contract() {
    plugin_sdk::testing::check_workflow::<SolverVerifier>().assert_passed();
}
