//! What the designer and its team are told.

use designer::Designer;
use plugin_sdk::Seat;
use plugin_sdk::testing::{Rehearsal, check_workflow};

#[test]
fn the_designer_is_told_why_its_design_was_not_read_and_its_team_is_not() {
    let mut team = Rehearsal::<Designer>::of_language_models(&["moves"], &[]);
    team.says("designer", "I would ask Ann.");
    let told = team.told("executor");
    assert!(told.starts_with("seen 1\n\nTurns left"), "{told}");
    team.says("executor", "D").becomes(&[(false, "There is a wall.")]);
    let told = team.told("designer");
    assert!(told.contains("last answer: It cannot be read") && !told.contains("wall"), "{told}");
    let design = r#"{"team": [{"name": "a", "task": "Go."}], "order": ["a", "a"]}"#;
    team.says("designer", design);
    let told = team.told("executor");
    assert!(told.contains("Your task: Go.\n\nWhat became") && told.contains("wall"), "{told}");
    team.says("executor", "U");
    let told = team.told("executor");
    assert!(told.contains("The member before you said:\nU"), "{told}");
    team.says("executor", "U").becomes(&[(true, "")]);
    assert!(!team.told("designer").contains("last answer"), "{}", team.told("designer"));
}

#[test]
fn a_design_and_all_but_the_last_answer_are_worth_what_that_does() {
    let design = r#"{"team": [{"name": "a", "task": "Solve."}, {"name": "b", "task": "Check."}],
        "order": ["a", "b"]}"#;
    let mut team = Rehearsal::<Designer>::begin(&["moves"], &[]);
    assert_eq!(team.says("designer", design).open(), [0, 1]);
    assert_eq!(team.says("executor", "D").open(), [0, 1]);
    team.says(Seat::numbered("executor", 1), "U").becomes(&[(true, "")]);
    assert_eq!(team.open(), [3], "a new question begins");
}

#[test]
fn the_designer_is_told_how_large_a_team_may_be() {
    let team = Rehearsal::<Designer>::of_language_models(&["moves"], &[("executors", 2.into())]);
    let told = team.prompt("designer")[0].text();
    assert!(
        told.contains("Members of a team: 2 at most. Names in an order: 16 at most."),
        "{told}"
    );
}

#[test]
fn keeps_the_contract() {
    check_workflow::<Designer>().assert_passed();
}
