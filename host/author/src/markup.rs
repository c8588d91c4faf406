//! How components are shown: a page of each, and a page of all. Whatever a component wrote is a
//! text on it, of a length that has a bound.

mod contents;
mod environment;
mod example;
mod facts;
mod settings;
mod team;
mod texts;
mod workflow;

use maud::{Markup, html};
use troupe_page::{Document, image};

pub use self::contents::{Tile, contents};
use self::texts::shown;
use crate::sheet::{Sheet, WorkflowSheet};

const STYLE: &str = include_str!("markup/sheet.css");

/// The page of a component. With an address, it leads back to the page of all.
pub fn page(sheet: &Sheet, back: Option<&str>) -> String {
    let said = &sheet.said;
    let body = html! {
        header {
            h1 { bdi { (shown(&said.name)) } }
            span class="badge kind" { (said.kind) }
            @if let Some(address) = back { nav { a href=(address) { "All components" } } }
        }
        main {
            section class="card lead" {
                @if let Some(picture) = picture(sheet) { (picture) }
                div {
                    p class="sentence" { (shown(&said.summary)) }
                    (facts::in_short(sheet))
                    (facts::take_it(sheet))
                }
            }
            @if let Some(environment) = &sheet.environment {
                (environment::told(environment))
            }
            @if let Some(workflow) = &sheet.workflow {
                (workflow::told(workflow))
            }
            @if let Some(interpreter) = &sheet.interpreter {
                section class="card" {
                    h2 { "What it is" }
                    p { "Runs programs in " (shown(&interpreter.language)) ": " (shown(&interpreter.version)) "." }
                }
            }
            (facts::trusted(sheet))
        }
    };
    document(&said.name, &body)
}

fn document(title: &str, body: &Markup) -> String {
    let title = plugin_sdk::printing::visible(title);
    Document { title: &title, style: STYLE, body: &body.0, script: None }.to_html()
}

/// What it looks like: the beginning of a task, if it draws, or the team.
fn picture(sheet: &Sheet) -> Option<Markup> {
    if let Some(WorkflowSheet { roles: Ok(roles), .. }) = &sheet.workflow {
        let names: Vec<&str> = roles.iter().map(|role| &*role.name).collect();
        let drawing = image(&team::drawing(roles));
        return Some(
            html! { img class="board team" src=(drawing) alt=(shown(&names.join(", "))); },
        );
    }
    let drawing = sheet.environment.as_ref()?.example.as_ref().ok()?.picture()?;
    Some(html! { img class="board" src=(image(&drawing.svg)) alt=(shown(&drawing.text)); })
}
