//! Blocksworld keeps the contract, however much there is and is seen of it.

use blocksworld::Blocksworld;
use plugin_sdk::environment::{Split, Task};
use plugin_sdk::testing::{Native, Scope, check_forms};

#[test]
fn keeps_the_contract_in_every_view() {
    Scope { tasks: 6, ..Scope::default() }.assert_every_view_passes::<Blocksworld>();
}

#[test]
fn keeps_the_contract_with_many_blocks_and_moves() {
    let scope = Scope { tasks: 4, ..Scope::default() }.with("blocks", 8).with("moves_per_turn", 16);
    scope.check_environment(&Native::<Blocksworld>::default()).assert_passed();
}

#[test]
fn keeps_the_contract_whatever_is_paid() {
    Scope { tasks: 3, ..Scope::default() }.assert_every_choice_passes::<Blocksworld>("rewards");
}

#[test]
fn only_the_form_that_is_asked_for_counts_and_no_example_is_the_answer() {
    let task = |seed| Task::of::<Blocksworld>(Split::Train, seed).with("observation", "text");
    check_forms::<Blocksworld>((0..100).map(task));
}
