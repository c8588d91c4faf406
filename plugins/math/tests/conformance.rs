//! Math keeps the contract, whatever is asked and however it is said.

use math::Math;
use plugin_sdk::environment::{Split, Task};
use plugin_sdk::testing::{Native, Scope, check_forms};

#[test]
fn keeps_the_contract_in_every_form_and_kind() {
    for form in ["words", "text"] {
        for kind in ["arithmetic", "algebra", "number-theory", "mixed"] {
            let scope = Scope::default().with("observation", form).with("kind", kind);
            scope.check_environment(&Native::<Math>::default()).assert_passed();
        }
    }
}

#[test]
fn only_the_form_that_is_asked_for_counts_and_no_example_is_the_answer() {
    let task = |seed| Task::of::<Math>(Split::Train, seed).with("observation", "text");
    check_forms::<Math>((0..100).map(task));
}
