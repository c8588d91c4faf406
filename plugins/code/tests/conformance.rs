//! Code keeps the contract, whatever ends an episode.

mod stand_in;

use code::Code;
use plugin_sdk::testing::{Native, Scope};

#[test]
fn keeps_the_contract_however_it_ends() {
    for end in ["auto", "agreement", "first"] {
        stand_in::install(300, |task| task.with("end", end));
        let scope = Scope { tasks: 2, ..Scope::default() }.with("end", end);
        scope.check_environment(&Native::<Code>::default()).assert_passed();
    }
}
