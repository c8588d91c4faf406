//! The workflow keeps the contract.

use planner_workers::PlannerWorkers;

#[test]
fn keeps_the_contract() {
    plugin_sdk::testing::check_workflow::<PlannerWorkers>().assert_passed();
}
