//! The workflow keeps the contract.

use tool_planner::ToolPlanner;

#[test]
fn keeps_the_contract() {
    plugin_sdk::testing::check_workflow::<ToolPlanner>().assert_passed();
}
