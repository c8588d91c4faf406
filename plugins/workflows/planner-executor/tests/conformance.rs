//! The workflow keeps the contract.

use planner_executor::PlannerExecutor;

#[test]
fn keeps_the_contract() {
    plugin_sdk::testing::check_workflow::<PlannerExecutor>().assert_passed();
}
