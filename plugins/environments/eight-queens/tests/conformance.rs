//! Eight queens keep the contract, whatever is seen of the board.

use eight_queens::EightQueens;
use plugin_sdk::environment::{Split, Task};
use plugin_sdk::testing::{Scope, check_forms};

#[test]
fn keeps_the_contract_in_every_view() {
    Scope { tasks: 2, ..Scope::default() }.assert_every_view_passes::<EightQueens>();
}

#[test]
fn keeps_the_contract_whatever_is_paid() {
    Scope { tasks: 1, ..Scope::default() }.assert_every_choice_passes::<EightQueens>("rewards");
}

#[test]
fn only_the_form_that_is_asked_for_counts_and_no_example_is_the_answer() {
    let task = |seed| Task::of::<EightQueens>(Split::Train, seed).with("observation", "text");
    check_forms::<EightQueens>((0..100).map(task));
}
