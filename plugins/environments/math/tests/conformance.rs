//! Math keeps the contract, whatever is asked and however it is said.

use math::Math;
use plugin_sdk::testing::{Native, Scope};

#[test]
fn keeps_the_contract_in_every_form_and_kind() {
    for form in ["words", "text"] {
        for kind in ["arithmetic", "algebra", "number-theory", "mixed"] {
            let scope = Scope::default().with("observation", form).with("kind", kind);
            scope.check_environment(&Native::<Math>::default()).assert_passed();
        }
    }
}
