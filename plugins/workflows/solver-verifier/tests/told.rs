//! What the two are told.

use plugin_sdk::testing::{Rehearsal, check_workflow};
use solver_verifier::SolverVerifier;

type Team = Rehearsal<SolverVerifier>;

#[test]
fn the_solver_is_told_of_its_proposal_and_the_verifier_is_not() {
    let mut team = Team::of_language_models(&["moves", "plan"], &[("history", 1.into())]);
    assert!(!team.told("solver").contains("accept"), "{}", team.told("solver"));
    team.says("solver", "D").becomes(&[(false, "There is a wall.")]);
    let told = team.told("verifier");
    assert!(told.starts_with("seen 1\n\nThe solver's answer:\nD\n\n"), "{told}");
    assert!(!told.contains("wall"), "{told}");
    team.says("verifier", "reject: a wall is there");
    let told = team.told("solver");
    let criticized = "Your last answer:\nD\n\nThe verifier did not accept it:\nreject: a wall";
    assert!(told.contains(criticized) && told.contains("in full: There is a wall."), "{told}");
    assert_eq!(team.history("solver")[0].1, "D");
    team.says("solver", "U").becomes(&[(true, "")]);
    assert_eq!(team.history("verifier")[0].1, "reject: a wall is there");
    assert_eq!(team.says("verifier", "I agree.\n**Accept.**").acts()[0].action.text, "U");
}

#[test]
fn a_tiny_policy_is_told_as_before() {
    let mut team = Team::begin(&["moves", "plan"], &[]);
    team.says("solver", "D").becomes(&[(false, "There is a wall.")]).says("verifier", "reject U");
    assert_eq!(team.told("solver"), "seen 1 criticism D reject U");
}

#[test]
fn a_verdict_is_worth_what_is_done_next_and_a_solution_what_its_verdict_makes_of_it() {
    // Where no proposal is scored, a solution is open until it is done or rejected.
    let mut team = Team::begin(&["moves"], &[]);
    assert_eq!(team.says("solver", "D").open(), [0, 1]);
    assert_eq!(team.says("verifier", "reject").open(), [1, 2]);
    assert_eq!(team.says("solver", "U").open(), [1, 2, 3]);
    team.says("verifier", "accept").becomes(&[(true, "")]);
    assert_eq!(team.open(), [4], "a new question begins");
    // Where it is scored, that is what it is worth.
    let mut team = Team::begin(&["moves", "plan"], &[]);
    team.says("solver", "D").becomes(&[(true, "")]);
    assert_eq!(team.open(), [1]);
}

#[test]
fn nobody_is_asked_for_a_verdict_of_which_nothing_depends() {
    let mut team = Team::begin(&["moves"], &[("rounds", 2.into())]);
    team.says("solver", "D").says("verifier", "reject").says("solver", "U");
    assert_eq!(team.acts()[0].action.text, "U");
}

#[test]
fn in_the_solvers_last_turn_nobody_is_asked_for_a_verdict() {
    let mut team = Team::begin(&["moves"], &[("rounds", 8.into())]);
    (0..7).for_each(|_| drop(team.says("solver", "D").says("verifier", "reject").open()));
    team.says("solver", "D").becomes(&[(true, "")]).says("solver", "U");
    assert_eq!(team.acts()[0].action.text, "U", "it is the ninth turn of nine");
}

#[test]
fn the_expert_accepts_its_own_solution_and_rejects_another() {
    for (said, verdict) in [("So:\nD D", "accept"), ("D  D", "accept"), ("U", "reject")] {
        let mut team = Team::begin(&["moves"], &[]);
        let shown = team.says("solver", said).demonstrates("verifier", "moves", "D D");
        assert_eq!(shown.as_deref(), Some(verdict), "{said}");
    }
}

#[test]
fn keeps_the_contract() {
    check_workflow::<SolverVerifier>().assert_passed();
}
