//! Tower of Hanoi keeps the contract, generated and from records.

use plugin_sdk::environment::{Split, Task};
use plugin_sdk::testing::{Native, Scope, check_forms};
use tower_of_hanoi::TowerOfHanoi;

#[test]
fn keeps_the_contract_in_every_view() {
    Scope { tasks: 3, ..Scope::default() }.assert_every_view_passes::<TowerOfHanoi>();
}

#[test]
fn keeps_the_contract_on_four_pegs_with_many_moves() {
    let scope = Scope { tasks: 1, steps: 20, ..Scope::default() };
    let scope = scope.with("disks", 3).with("pegs", 4).with("moves_per_turn", 5);
    scope.check_environment(&Native::<TowerOfHanoi>::default()).assert_passed();
}

#[test]
fn keeps_the_contract_with_records() {
    let entry = r#"{"num_disks": 4, "num_pegs": 3, "start_peg": 2, "target_peg": 1}"#;
    let scope = Scope { tasks: 1, entries: vec![entry.to_owned()], ..Scope::default() };
    scope.check_environment(&Native::<TowerOfHanoi>::default()).assert_passed();
}

#[test]
fn keeps_the_contract_whatever_is_paid() {
    Scope { tasks: 2, ..Scope::default() }.assert_every_choice_passes::<TowerOfHanoi>("rewards");
}

#[test]
fn only_the_form_that_is_asked_for_counts_and_no_example_is_the_answer() {
    let task = |seed| Task::of::<TowerOfHanoi>(Split::Train, seed).with("observation", "text");
    check_forms::<TowerOfHanoi>((0..100).map(task));
}
