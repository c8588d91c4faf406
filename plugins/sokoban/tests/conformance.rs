//! Sokoban keeps the contract, whatever is seen of the board.

use plugin_sdk::testing::{Native, Scope};
use sokoban::Sokoban;

#[test]
fn keeps_the_contract_in_every_view() {
    for view in ["list", "map", "text"] {
        let scope = Scope { tasks: 6, ..Scope::default() }.with("observation", view);
        scope.check_environment(&Native::<Sokoban>::default()).assert_passed();
    }
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
