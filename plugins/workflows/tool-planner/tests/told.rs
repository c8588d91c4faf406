//! What the two are told.

use plugin_sdk::testing::{Rehearsal, check_workflow};
use tool_planner::ToolPlanner;

#[test]
fn each_is_told_what_became_of_its_own_answer() {
    let mut team = Rehearsal::<ToolPlanner>::of_language_models(&["moves", "plan"], &[]);
    team.says("tool", "print('D')").returns(&[(true, "D")]).becomes(&[(false, "A wall.")]);
    let told = team.told("planner");
    assert!(told.starts_with("seen 1\n\nThe program says: D\n\nTurns"), "{told}");
    team.says("planner", "U").becomes(&[(false, "A tree.")]);
    let told = team.told("tool");
    assert!(told.contains("in full: A wall.") && !told.contains("tree"), "{told}");
    team.says("tool", "print(d)").returns(&[(false, "NameError: d")]).becomes(&[(false, "")]);
    let told = team.told("planner");
    assert!(told.contains("says: NameError: d") && told.contains("in full: A tree."), "{told}");
    team.says("planner", "U").becomes(&[(true, "")]);
    let told = team.told("tool");
    assert!(told.contains("The program failed: NameError: d") && !told.contains("wall"), "{told}");
}

#[test]
fn a_program_that_nobody_scores_is_worth_what_the_planner_makes_of_it() {
    let mut team = Rehearsal::<ToolPlanner>::begin(&["moves"], &[]);
    assert_eq!(team.says("tool", "print('D')").returns(&[(true, "D")]).open(), [0]);
    team.says("planner", "U").becomes(&[(true, "")]);
    assert_eq!(team.open(), [2], "a new question begins");
    let mut team = Rehearsal::<ToolPlanner>::begin(&["moves", "plan"], &[]);
    team.says("tool", "print('D')").returns(&[(true, "D")]).becomes(&[(true, "")]);
    assert_eq!(team.open().len(), 0);
}

#[test]
fn keeps_the_contract() {
    check_workflow::<ToolPlanner>().assert_passed();
}
