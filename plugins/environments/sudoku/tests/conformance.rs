//! Sudoku keeps the contract, on both boards and in both views.

use plugin_sdk::environment::{Split, Task};
use plugin_sdk::testing::{Native, Scope, check_forms};
use sudoku::Sudoku;

#[test]
fn keeps_the_contract_in_every_view() {
    Scope { tasks: 12, ..Scope::default() }.assert_every_view_passes::<Sudoku>();
}

#[test]
fn keeps_the_contract_on_a_large_board() {
    let scope = Scope { tasks: 1, ..Scope::default() }.with("size", 9).with("edits_per_turn", 3);
    scope.check_environment(&Native::<Sudoku>::default()).assert_passed();
}

#[test]
fn keeps_the_contract_when_roles_see_different_things() {
    let scope = Scope { tasks: 4, ..Scope::default() }.with("sight", "split");
    scope.check_environment(&Native::<Sudoku>::default()).assert_passed();
}

#[test]
fn keeps_the_contract_whatever_is_paid() {
    Scope { tasks: 4, ..Scope::default() }.assert_every_choice_passes::<Sudoku>("rewards");
}

#[test]
fn only_the_form_that_is_asked_for_counts_and_no_example_is_the_answer() {
    let task = |seed| Task::of::<Sudoku>(Split::Train, seed).with("observation", "text");
    check_forms::<Sudoku>((0..100).map(task));
}
