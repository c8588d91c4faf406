//! The page of all components: a tile for each, to be chosen by kind.

use maud::{Markup, html};

use super::{document, facts, picture};
use crate::markup::texts::{briefly, counted, shown};
use crate::sheet::Sheet;

/// The kinds, and the word for several.
const KINDS: [(&str, &str); 3] =
    [("environment", "Environments"), ("workflow", "Workflows"), ("interpreter", "Interpreters")];

/// A component on the page of all.
pub struct Tile {
    kind: &'static str,
    markup: Markup,
}

impl Tile {
    /// Of a component whose page lies at this address.
    pub fn of(sheet: &Sheet, address: &str) -> Self {
        let said = &sheet.said;
        let markup = html! {
            li class={ "tile " (said.kind) } {
                a href=(address) {
                    @match picture(sheet) {
                        Some(picture) => span class="window" { (picture) },
                        None => span class="window bare" aria-hidden="true" { (said.name.chars().next().unwrap_or('?')) },
                    }
                    strong { bdi { (briefly(&said.name)) } }
                }
                p { (shown(&said.summary)) }
                p class="chips" { (facts::badge(sheet)) span { (said.kind) } span { (facts::needed(sheet)) } }
            }
        };
        Tile { kind: said.kind, markup }
    }
}

/// The page of all.
pub fn contents(tiles: &[Tile]) -> String {
    let of = |kind: &str| tiles.iter().filter(|tile| tile.kind == kind).count();
    let body = html! {
        header { h1 { "Components" } }
        main {
            p class="hint" {
                (counted(tiles.len(), "component")) ", each one file. A grade is what "
                code { "host plugin check" } " found when this page was made; what is wanted has to be granted by who uses it."
            }
            // What is chosen is a matter of style: nothing runs on this page.
            fieldset class="choice" {
                legend class="hint" { "Show" }
                label { input type="radio" name="kind" id="all" checked; span { "All" } }
                @for (kind, name) in KINDS {
                    @if of(kind) > 0 {
                        label { input type="radio" name="kind" id={ "only-" (kind) }; span { (name) " (" (of(kind)) ")" } }
                    }
                }
            }
            ul class="tiles" { @for tile in tiles { (tile.markup) } }
        }
    };
    document("Components", &body)
}
