//! What player and judges are told.

use judged::Judged;
use plugin_sdk::Seat;
use plugin_sdk::testing::{Native, Rehearsal, Scope, check_workflow};
use plugin_sdk::workflow::Status;

const KINDS: [&str; 1] = ["moves"];
const PLAYER: &str = "player";
const JUDGE: &str = "judge";

type Team = Rehearsal<Judged>;

#[test]
fn tiny_policies_are_told_words() {
    let mut team = Team::begin(&KINDS, &[]);
    assert_eq!(team.told(PLAYER), "player seen 1");
    team.says(PLAYER, "D").becomes(&[(false, "There is a wall.")]);
    assert_eq!(team.asked(), ["judge", "judge 2", "judge 3"]);
    for judge in 0..3 {
        let told = team.told(Seat::numbered(JUDGE, judge));
        assert_eq!(told, "judge seen 1 answer D then seen 2");
    }
}

#[test]
fn language_models_are_told_sentences() {
    let mut team = Team::of_language_models(&KINDS, &[("judges", 1.into())]);
    assert_eq!(team.told(PLAYER), "seen 1\n\nTurns left, this one included: 9");
    team.says(PLAYER, "<think>Up?</think>Down:\nD").becomes(&[(false, "There is a wall.")]);
    assert_eq!(
        team.told(JUDGE),
        "The player saw:\nseen 1\n\nIt answered:\nDown:\nD\n\nWhat is seen now:\nseen 2\n\n\
         Turns left, this one included: 9"
    );
    team.says(JUDGE, "bad");
    assert!(team.told(PLAYER).contains("in full: There is a wall."), "{}", team.told(PLAYER));
    assert!(!team.told(PLAYER).contains("bad"), "{}", team.told(PLAYER));
}

#[test]
fn what_is_revealed_is_told_to_nobody_and_only_its_change_is_a_situation() {
    let mut team = Team::begin_revealing(&KINDS, &[], "secret secret");
    let mut told = Vec::new();
    for (after, situation) in [
        (Some("secret"), Some("nearer")),
        (Some("secret secret secret"), Some("farther")),
        (Some("secret secret hidden"), Some("same")),
        (None, None),
    ] {
        told.extend(team.prompt(PLAYER));
        assert_eq!(team.situation(PLAYER), None);
        team.says(PLAYER, "D").reveals(after).becomes(&[(true, "")]);
        for judge in (0..3).map(|judge| Seat::numbered(JUDGE, judge)) {
            assert_eq!(team.situation(judge.clone()).as_deref(), situation);
            told.extend(team.prompt(judge.clone()));
            team.says(judge, "good");
        }
    }
    for text in told.iter().map(plugin_sdk::workflow::Message::text) {
        for word in ["secret", "hidden", "nearer", "farther", "same"] {
            assert!(!text.contains(word), "{text}");
        }
    }
    assert_eq!(told.len(), 2 * 4 * 4);
}

#[test]
fn an_expert_judge_says_what_is_true_and_nothing_where_it_is_not_known() {
    let mut team = Team::begin_revealing(&KINDS, &[("judges", 1.into())], "D D");
    for (after, word) in [
        (Some("D"), Some("good")),
        (Some("D"), Some("bad")),
        (Some("D D"), Some("bad")),
        (None, None),
    ] {
        assert_eq!(team.demonstrates(PLAYER, "moves", "D").as_deref(), Some("D"));
        team.says(PLAYER, "D").reveals(after).becomes(&[(true, "")]);
        assert_eq!(team.demonstrates(JUDGE, "moves", "D").as_deref(), word);
        team.says(JUDGE, "good");
    }
    team.says(PLAYER, "D").reveals(Some("D")).becomes(&[(true, "")]).says(JUDGE, "good");
    team.says(PLAYER, "D").reveals(None).ends(Status::Solved);
    assert_eq!(team.demonstrates(JUDGE, "moves", "D").as_deref(), Some("good"));
}

#[test]
fn keeps_the_contract_whoever_judges() {
    let report = check_workflow::<Judged>();
    assert!(report.passed_strictly(), "{report}");
    for verdicts in ["none", "random", "truth"] {
        let scope = Scope::default().with("verdicts", verdicts);
        scope.check_workflow(&Native::<Judged>::default()).assert_passed();
    }
    Scope::default().with("judges", 1).check_workflow(&Native::<Judged>::default()).assert_passed();
}
