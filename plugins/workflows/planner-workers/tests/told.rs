//! What the planner and the workers are told.

use planner_workers::PlannerWorkers;
use plugin_sdk::testing::{Rehearsal, check_workflow};

type Team = Rehearsal<PlannerWorkers>;

#[test]
fn a_worker_knows_its_own_conversation_and_of_none_before() {
    let mut team = Team::of_language_models(&["moves"], &[("history", 4.into())]);
    team.says("planner", "Go up.\nGo down.");
    let told = team.told("worker");
    assert!(told.contains("The instruction: Go up.") && told.ends_with("included: 2"), "{told}");
    team.says("worker", "U").becomes(&[(false, "There is a wall.")]);
    let told = team.told("worker");
    assert!(told.contains("There is a wall.") && told.ends_with("included: 1"), "{told}");
    assert_eq!(team.history("worker").len(), 1);
    team.says("worker", "**Done.**");
    let told = team.told("worker");
    assert!(told.contains("The instruction: Go down.") && told.ends_with("included: 2"), "{told}");
    assert!(!told.contains("wall") && team.history("worker").is_empty(), "{told}");
    team.says("worker", "D").becomes(&[(true, "")]).says("worker", "done");
    assert!(!team.told("planner").contains("wall"), "{}", team.told("planner"));
    assert_eq!(team.history("planner")[0].1, "Go up.\nGo down.");
    assert!(team.told("planner").ends_with("included: 8"));
}

#[test]
fn a_plan_is_worth_all_that_its_workers_do_and_being_done_what_is_done_next() {
    let mut team = Team::begin(&["moves"], &[]);
    assert_eq!(team.says("planner", "down; right").open(), [0, 1]);
    team.says("worker", "D").becomes(&[(true, "")]);
    assert_eq!(team.open(), [0, 2], "what the worker did is paid");
    assert_eq!(team.says("worker", "done").open(), [0, 2, 3], "another worker is asked");
    team.says("worker", "R").becomes(&[(true, "")]);
    assert_eq!(team.open(), [0, 4]);
    assert_eq!(team.says("worker", "done").open(), [4, 5], "the plan is carried out");
}

#[test]
fn the_planner_is_told_how_much_of_its_plan_is_carried_out() {
    let chosen = [("workers", 3.into()), ("turns", 4.into())];
    let told = Team::of_language_models(&["moves"], &chosen).prompt("planner")[0].text();
    for limit in ["carried out: 3 at most", "its worker sees: 500", "Turns that it has: 4"] {
        assert!(told.contains(limit), "{told}");
    }
}

#[test]
fn keeps_the_contract() {
    check_workflow::<PlannerWorkers>().assert_passed();
}
