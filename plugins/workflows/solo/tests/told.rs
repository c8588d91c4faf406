//! What the player is told.

use plugin_sdk::Workflow;
use plugin_sdk::settings::{self, defaults};
use plugin_sdk::testing::{Rehearsal, check_workflow};
use plugin_sdk::workflow::ActionKind;
use solo::Solo;

const KINDS: [&str; 1] = ["moves"];
const PLAYER: &str = "player";

#[test]
fn a_tiny_policy_is_told_what_there_is_to_see_and_nothing_else() {
    let mut solo = Rehearsal::<Solo>::begin(&KINDS, &[]);
    assert_eq!(solo.told(PLAYER), "player seen 1");
    solo.says(PLAYER, "D").becomes(&[(false, "There is a wall.")]);
    assert_eq!(solo.told(PLAYER), "player seen 2");
    assert_eq!(solo.history(PLAYER), []);
}

#[test]
fn a_language_model_is_told_what_became_of_its_last_answer_and_how_many_turns_are_left() {
    let mut solo = Rehearsal::<Solo>::of_language_models(&KINDS, &[]);
    let left = |turns: u32| format!("Turns left, this one included: {turns}");
    assert_eq!(solo.told(PLAYER), format!("seen 1\n\n{}", left(9)));
    solo.says(PLAYER, "D").becomes(&[(false, "There is a wall.")]);
    let became = "What became of your last answer: It was not accepted in full: There is a wall.";
    assert_eq!(solo.told(PLAYER), format!("seen 2\n\n{became}\n\n{}", left(8)));
    solo.says(PLAYER, "U").becomes(&[(true, "")]);
    assert_eq!(solo.told(PLAYER), format!("seen 3\n\n{}", left(7)));
}

#[test]
fn what_the_observation_says_is_not_said_twice() {
    let mut solo = Rehearsal::<Solo>::of_language_models(&KINDS, &[]);
    solo.says(PLAYER, "D").becomes(&[(false, "seen 2")]);
    assert!(!solo.told(PLAYER).contains("became"), "{}", solo.told(PLAYER));
}

#[test]
fn as_many_turns_are_remembered_as_are_wanted_in_their_order() {
    let mut solo = Rehearsal::<Solo>::begin(&KINDS, &[("history", 2.into())]);
    for said in ["A", "B", "<think>D</think>C"] {
        solo.says(PLAYER, said).becomes(&[(true, "")]);
    }
    let turn = |told: &str, said: &str| (told.to_owned(), said.to_owned());
    assert_eq!(solo.history(PLAYER), [turn("player seen 2", "B"), turn("player seen 3", "C")]);
    assert_eq!(solo.told(PLAYER), "player seen 4");
    // A turn in which nothing was said is none.
    solo.says(PLAYER, "").becomes(&[(true, "")]);
    assert_eq!(solo.history(PLAYER), [turn("player seen 2", "B"), turn("player seen 3", "C")]);
}

#[test]
fn what_is_seen_says_in_which_situation_a_player_answers_and_its_prompt_does_not_change() {
    let rules = "first=0 1; second=2";
    let mut solo = Rehearsal::<Solo>::begin(&KINDS, &[("situations", rules.into())]);
    let mut plain = Rehearsal::<Solo>::begin(&KINDS, &[]);
    for situation in [Some("first"), Some("second"), None] {
        assert_eq!(solo.situation(PLAYER).as_deref(), situation);
        assert_eq!(plain.situation(PLAYER), None);
        assert_eq!(solo.prompt(PLAYER), plain.prompt(PLAYER));
        for either in [&mut solo, &mut plain] {
            either.says(PLAYER, "D").becomes(&[(true, "")]);
        }
    }
}

#[test]
fn a_rule_that_names_no_situation_is_refused() {
    let settings = settings::with(defaults(&Solo::describe().settings), "situations", "near");
    let kinds = [ActionKind { name: "moves".to_owned(), summary: String::new() }];
    let refused = Solo::configure(&settings, &kinds).unwrap_err().message;
    assert!(refused.starts_with("`situations` has the rule `near`, but a rule is "), "{refused}");
}

#[test]
fn keeps_the_contract() {
    check_workflow::<Solo>().assert_passed();
}
