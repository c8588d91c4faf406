//! What the two are told.

use draft_refine::DraftRefine;
use plugin_sdk::testing::{Rehearsal, check_workflow};

#[test]
fn each_is_told_what_became_of_its_own_answer() {
    let mut team = Rehearsal::<DraftRefine>::of_language_models(&["moves", "plan"], &[]);
    team.says("drafter", "D").becomes(&[(false, "There is a wall.")]);
    let told = team.told("solver");
    assert!(told.starts_with("seen 1\n\nThe draft:\nD\n\n") && !told.contains("wall"), "{told}");
    team.says("solver", "U").becomes(&[(false, "There is a tree.")]);
    let told = team.told("drafter");
    assert!(told.contains("in full: There is a wall.") && !told.contains("tree"), "{told}");
    team.says("drafter", "R").becomes(&[(true, "")]);
    let told = team.told("solver");
    assert!(told.contains("in full: There is a tree.") && !told.contains("wall"), "{told}");
}

#[test]
fn a_draft_that_nobody_scores_is_worth_what_the_solver_makes_of_it() {
    let mut team = Rehearsal::<DraftRefine>::begin(&["moves"], &[]);
    assert_eq!(team.says("drafter", "D").open(), [0]);
    team.says("solver", "U").becomes(&[(true, "")]);
    assert_eq!(team.open(), [2], "a new question begins");
    let mut team = Rehearsal::<DraftRefine>::begin(&["moves", "plan"], &[]);
    team.says("drafter", "D").becomes(&[(true, "")]);
    assert_eq!(team.open().len(), 0);
}

#[test]
fn keeps_the_contract() {
    check_workflow::<DraftRefine>().assert_passed();
}
