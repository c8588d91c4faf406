//! Sokoban keeps the contract, whatever is seen of the board.

use plugin_sdk::environment::{Split, Task};
use plugin_sdk::testing::{Native, Scope, check_forms};
use sokoban::Sokoban;

#[test]
fn keeps_the_contract_in_every_view() {
    Scope { tasks: 6, ..Scope::default() }.assert_every_view_passes::<Sokoban>();
}

#[test]
fn keeps_the_contract_with_several_boxes() {
    let scope = Scope { tasks: 1, ..Scope::default() }
        .with("size", 8)
        .with("boxes", 3)
        .with("moves_per_turn", 10);
    scope.check_environment(&Native::<Sokoban>::default()).assert_passed();
}

#[test]
fn keeps_the_contract_on_levels_from_records() {
    let levels = [
        "#######\\n#@ $ .#\\n#     #\\n#######",
        "  ####\\n### @##\\n#   $ #\\n# # . #\\n#######",
        "##########\\n#  .$ @  #\\n#  #  #  #\\n# .$     #\\n##########",
    ];
    let entries = levels.map(|level| format!("{{\"level\": \"{level}\"}}")).to_vec();
    let scope = Scope { tasks: 3, entries, ..Scope::default() };
    scope.check_environment(&Native::<Sokoban>::default()).assert_passed();
}

#[test]
fn keeps_the_contract_whatever_is_paid() {
    Scope { tasks: 2, ..Scope::default() }.assert_every_choice_passes::<Sokoban>("rewards");
}

#[test]
fn only_the_form_that_is_asked_for_counts_and_no_example_is_the_answer() {
    let task = |seed| Task::of::<Sokoban>(Split::Train, seed).with("observation", "text");
    check_forms::<Sokoban>((0..100).map(task));
}
