//! What the two are told.

use planner_executor::PlannerExecutor;
use plugin_sdk::testing::{Rehearsal, check_workflow};

const KINDS: [&str; 2] = ["moves", "plan"];
const REFUSED: &str = "It was not accepted in full: There is a wall.";

type Team = Rehearsal<PlannerExecutor>;

#[test]
fn the_planner_is_told_that_its_plan_was_refused_and_the_executor_is_not() {
    let mut team = Team::of_language_models(&KINDS, &[]);
    team.says("planner", "D").becomes(&[(false, "There is a wall.")]);
    assert!(!team.told("executor").contains("wall"), "{}", team.told("executor"));
    team.says("executor", "U").becomes(&[(true, "One up.")]);
    assert!(team.told("planner").contains(REFUSED), "{}", team.told("planner"));
    assert!(!team.told("planner").contains("One up."));
    team.says("planner", "R").becomes(&[(true, "")]);
    let told = team.told("executor");
    assert!(told.contains("last answer: One up.") && !told.contains("wall"), "{told}");
    team.says("executor", "R").becomes(&[(false, "There is a wall.")]);
    assert!(!team.told("planner").contains("wall"), "{}", team.told("planner"));
}

#[test]
fn each_remembers_its_own_turns() {
    let mut team = Team::begin(&KINDS, &[("history", 1.into())]);
    team.says("planner", "A").becomes(&[(true, "")]);
    assert_eq!(team.history("executor"), []);
    team.says("executor", "B").becomes(&[(true, "")]);
    let turn = |told: &str, said: &str| [(told.to_owned(), said.to_owned())];
    assert_eq!(team.history("planner"), turn("planner seen 1", "A"));
    team.says("planner", "C").becomes(&[(true, "")]);
    assert_eq!(team.history("executor"), turn("executor seen 2 plan A", "B"));
    assert_eq!(team.told("executor"), "executor seen 4 plan C");
}

#[test]
fn the_executor_is_shown_the_plan_however_it_is_written() {
    for plan in ["D D", "Down, I think.\n```\nD D\n```", "<answer>D D</answer> it is.", "**D D**"] {
        let mut team = Team::of_language_models(&KINDS, &[]);
        team.says("planner", plan).becomes(&[(true, "")]);
        let told = team.told("executor");
        assert!(told.starts_with("seen 2\n\nThe planner proposes this plan: D D\n\n"), "{told}");
    }
}

#[test]
fn a_long_plan_is_shown_as_a_whole() {
    let plan = ["D R"; 30].join(" ");
    let mut team = Team::begin(&KINDS, &[]);
    team.says("planner", &plan).becomes(&[(true, "")]);
    assert_eq!(team.told("executor"), format!("executor seen 2 plan {plan}"));
}

#[test]
fn each_is_in_the_situation_of_what_it_sees_itself() {
    let mut team = Team::begin(&KINDS, &[("situations", "first=1; second=2".into())]);
    assert_eq!(team.situation("planner").as_deref(), Some("first"));
    team.says("planner", "2").becomes(&[(true, "")]);
    assert_eq!(team.situation("executor").as_deref(), Some("second"));
    assert_eq!(team.told("executor"), "executor seen 2 plan 2");
    team.says("executor", "1").becomes(&[(true, "")]);
    assert_eq!(team.situation("planner"), None);
}

#[test]
fn keeps_the_contract() {
    check_workflow::<PlannerExecutor>().assert_passed();
}
