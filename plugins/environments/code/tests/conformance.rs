//! Code keeps the contract, whatever ends an episode.

mod stand_in;

use code::Code;
use code::recipe::Kind;
use plugin_sdk::testing::{Native, Scope};

#[test]
fn keeps_the_contract_however_it_ends() {
    for end in ["auto", "agreement", "first"] {
        stand_in::install(300, None, |task| task.with("end", end));
        let scope = Scope { tasks: 2, ..Scope::default() }.with("end", end);
        scope.check_environment(&Native::<Code>::default()).assert_passed();
    }
}

#[test]
fn keeps_the_contract_in_words() {
    stand_in::install(300, Some(Kind::Spoken), |task| task.with("observation", "words"));
    let scope = Scope { tasks: 2, ..Scope::default() }.with("observation", "words");
    scope.check_environment(&Native::<Code>::default()).assert_passed();
}
