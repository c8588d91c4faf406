//! Eight queens keep the contract, whatever is seen of the board.

use eight_queens::EightQueens;
use plugin_sdk::testing::{Native, Scope};

#[test]
fn keeps_the_contract_in_every_view() {
    for view in ["list", "map", "text"] {
        let scope = Scope { tasks: 2, ..Scope::default() }.with("observation", view);
        scope.check_environment(&Native::<EightQueens>::default()).assert_passed();
    }
}
