//! Connect Four keeps the contract, against itself and in every view.

use connect_four::ConnectFour;
use plugin_sdk::environment::{Split, Task};
use plugin_sdk::testing::{Scope, check_forms};

/// Small boards: an expert that looks ahead is slow in a test.
fn scope() -> Scope {
    let scope = Scope { tasks: 1, steps: 20, ..Scope::default() };
    scope.with("rows", 4).with("columns", 4).with("opening", 4).with("connect", 3)
}

#[test]
fn keeps_the_contract_in_every_view() {
    scope().assert_every_view_passes::<ConnectFour>();
}

#[test]
fn only_the_form_that_is_asked_for_counts_and_no_example_is_the_answer() {
    let task = |seed| Task::of::<ConnectFour>(Split::Train, seed).with("observation", "text");
    check_forms::<ConnectFour>((0..100).map(task));
}
