//! Countdown keeps the contract, generated and from records.

use countdown::Countdown;
use plugin_sdk::environment::{Split, Task};
use plugin_sdk::testing::{Native, Scope, check_forms};

#[test]
fn keeps_the_contract_in_every_view() {
    Scope { tasks: 6, ..Scope::default() }.assert_every_view_passes::<Countdown>();
}

#[test]
fn keeps_the_contract_with_records() {
    let entries = [
        r#"{"numbers": [3, 7, 25], "target": 46}"#,
        r#"{"numbers": [75, 50, 2, 3, 8, 7], "target": 812}"#,
    ];
    let scope =
        Scope { tasks: 2, entries: entries.map(str::to_owned).to_vec(), ..Scope::default() };
    let scope = scope.with("observation", "text");
    scope.check_environment(&Native::<Countdown>::default()).assert_passed();
}

#[test]
fn keeps_the_contract_with_six_numbers_of_which_some_are_used() {
    let scope = Scope { tasks: 4, ..Scope::default() }.with("numbers", 6).with("use", "some");
    scope.check_environment(&Native::<Countdown>::default()).assert_passed();
}

#[test]
fn only_the_form_that_is_asked_for_counts_and_no_example_is_the_answer() {
    let task = |seed| Task::of::<Countdown>(Split::Train, seed).with("observation", "text");
    check_forms::<Countdown>((0..100).map(task));
}
