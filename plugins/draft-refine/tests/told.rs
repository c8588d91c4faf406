//! What the two are told.

use draft_refine::DraftRefine;
use plugin_sdk::testing::Rehearsal;

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
