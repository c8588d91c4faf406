//! Plan-Path keeps the contract, whatever is seen of the board.

use plan_path::PlanPath;
use plugin_sdk::environment::{Split, Task};
use plugin_sdk::testing::{Native, Scope, check_forms};

#[test]
fn keeps_the_contract_in_every_view() {
    Scope { tasks: 12, ..Scope::default() }.assert_every_view_passes::<PlanPath>();
}

#[test]
fn keeps_the_contract_on_small_crowded_boards() {
    let scope = Scope { tasks: 12, steps: 200, ..Scope::default() }
        .with("size", 5)
        .with("walls", 8)
        .with("moves_per_turn", 1);
    scope.check_environment(&Native::<PlanPath>::default()).assert_passed();
}

#[test]
fn keeps_the_contract_when_the_executor_sees_only_what_is_near() {
    for view in ["list", "map"] {
        let scope = Scope { tasks: 6, ..Scope::default() }
            .with("observation", view)
            .with("executor_view", "near");
        scope.check_environment(&Native::<PlanPath>::default()).assert_passed();
    }
}

#[test]
fn keeps_the_contract_whatever_is_paid() {
    Scope { tasks: 4, ..Scope::default() }.assert_every_choice_passes::<PlanPath>("rewards");
}

#[test]
fn only_the_form_that_is_asked_for_counts_and_no_example_is_the_answer() {
    let task = |seed| Task::of::<PlanPath>(Split::Train, seed).with("observation", "text");
    check_forms::<PlanPath>((0..100).map(task));
}
