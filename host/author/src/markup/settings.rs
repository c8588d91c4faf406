//! Settings and presets.

use maud::{Markup, html};
use plugin_sdk::Preset;
use troupe_guests::plugin::Setting;

use super::texts::{briefly, shown};

/// What may be set, and which presets there are.
pub fn settings(table: &str, settings: &[Setting], presets: &[Preset]) -> Markup {
    html! {
        section class="card" {
            h2 { "Settings" }
            @if settings.is_empty() { p class="hint" { "It has none." } }
            @else {
                div class="scroll" tabindex="0" role="region" aria-label="settings" {
                    table {
                        thead { tr { th { "setting" } th { "default" } th { "accepts" } th { "meaning" } } }
                        tbody { @for setting in settings { (row(table, setting)) } }
                    }
                }
            }
            @if !presets.is_empty() {
                h3 { "Presets" }
                div class="scroll" tabindex="0" role="region" aria-label="presets" {
                    table {
                        thead { tr { th { code { (table) ".preset" } } th { "sets" } th { "meaning" } } }
                        tbody {
                            @for preset in presets {
                                tr {
                                    td { code { (briefly(&preset.name)) } }
                                    td { code class="lines" { (briefly(&preset.settings)) } }
                                    td { (shown(&preset.summary)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn row(table: &str, setting: &Setting) -> Markup {
    html! {
        tr {
            td { code { (table) "." (setting.name) } }
            td { code { (briefly(&setting.default.to_string())) } }
            td { (briefly(&setting.domain.to_string())) }
            td { (shown(&setting.summary)) }
        }
    }
}
