//! Who plays in a workflow, and how a conversation goes.

use maud::{Markup, html};

use super::example;
use super::settings::settings;
use super::texts::{briefly, shown};
use crate::sheet::WorkflowSheet;

/// Everything about it.
pub fn told(sheet: &WorkflowSheet) -> Markup {
    let description = &sheet.description;
    let tools: Vec<&str> = description.tools().collect();
    html! {
        section class="card" {
            h2 { "Who plays" }
            @match &sheet.roles {
                Err(reason) => p class="note" { (shown(reason)) },
                Ok(roles) => div class="scroll" tabindex="0" role="region" aria-label="roles" {
                    table {
                        thead { tr { th { "role" } th { "seats" } th { "task" } } }
                        tbody {
                            @for role in roles {
                                tr { td { code { (role.name) } } td { (role.seats) } td { (shown(&role.summary)) } }
                            }
                        }
                    }
                },
            }
            dl class="facts" {
                dt { "actions" }
                dd {
                    @if description.actions.is_empty() { "the first kind that the environment has, or the one that is set" }
                    @else { (briefly(&description.actions.join(", "))) }
                }
                @if !tools.is_empty() {
                    dt { "tools" } dd { (briefly(&tools.join(", "))) }
                }
            }
        }
        (example::workflow(&sheet.example))
        (settings("workflow", &description.settings, &description.presets()))
    }
}
