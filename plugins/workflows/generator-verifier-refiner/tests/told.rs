//! What the three are told.

use generator_verifier_refiner::GeneratorVerifierRefiner;
use plugin_sdk::testing::{Rehearsal, check_workflow};

#[test]
fn each_is_told_what_became_of_its_own_answer() {
    let kinds = ["moves", "plan"];
    let mut team =
        Rehearsal::<GeneratorVerifierRefiner>::of_language_models(&kinds, &[("history", 1.into())]);
    team.says("generator", "D").becomes(&[(false, "There is a wall.")]);
    let told = team.told("verifier");
    assert!(told.starts_with("seen 1\n\nThe generator's answer:\nD\n\nTurns"), "{told}");
    team.says("verifier", "It is wrong.");
    let told = team.told("refiner");
    assert!(told.contains("answer:\nD\n\nThe verifier's verdict:\nIt is wrong.\n\nT"), "{told}");
    team.says("refiner", "U").becomes(&[(false, "There is a tree.")]);
    let told = team.told("generator");
    assert!(told.contains("in full: There is a wall.") && !told.contains("tree"), "{told}");
    team.says("generator", "R").becomes(&[(true, "")]);
    assert_eq!(team.history("verifier")[0].1, "It is wrong.");
    team.says("verifier", "Fine.");
    let told = team.told("refiner");
    assert!(told.contains("in full: There is a tree.") && !told.contains("wall"), "{told}");
}

#[test]
fn an_answer_and_a_verdict_are_worth_what_the_refiner_makes_of_them() {
    let mut team = Rehearsal::<GeneratorVerifierRefiner>::begin(&["moves"], &[]);
    assert_eq!(team.says("generator", "D").open(), [0, 1]);
    assert_eq!(team.says("verifier", "a wall").open(), [0, 1]);
    team.says("refiner", "U").becomes(&[(true, "")]);
    assert_eq!(team.open(), [3], "a new question begins");
    let mut team = Rehearsal::<GeneratorVerifierRefiner>::begin(&["moves", "plan"], &[]);
    team.says("generator", "D").becomes(&[(true, "")]);
    assert_eq!(team.open(), [1], "the generator's answer is scored");
}

#[test]
fn keeps_the_contract() {
    check_workflow::<GeneratorVerifierRefiner>().assert_passed();
}
