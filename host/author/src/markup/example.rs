//! An episode, scene by scene: what could be seen, and what was said and done.

use maud::{Markup, PreEscaped, html};
use troupe_core::trajectory::{Author, Ending, Event, Message, Reward};
use troupe_guests::plugin::Rendering;
use troupe_page::image;

use super::texts::{briefly, counted, shown, sort, worth};
use crate::sheet::{Close, Example, Scene};

/// Bytes of images of one page; beyond them an episode is told in characters.
const DRAWN_BYTES: usize = 2 << 20;
/// Bytes of markup of an episode; what comes after them is left out.
const TOLD_BYTES: usize = 4 << 20;
/// Happenings of one scene, and named parts of a reward.
const EVENTS: usize = 64;
const PARTS: usize = 16;
/// Colors of the style that roles have.
const COLORS: usize = 8;

/// The episode of an environment: a strip of pictures.
pub fn environment(example: &Result<Example, String>) -> Markup {
    told("Played by its expert", example, |example| {
        html! {
            p class="hint" { "Training task " (example.seed) ", with the preset for language models if there is one." }
            ol class="film" {
                (within_bounds(example, |index, scene| html! {
                    li {
                        (sight(scene, is_affordable(example, index)))
                        (happened(scene, &[]))
                        @if index + 1 == example.scenes.len() { (end(&example.close)) }
                    }
                }))
            }
        }
    })
}

/// The episode of a team: a conversation.
pub fn workflow(example: &Result<Example, String>) -> Markup {
    told("An episode", example, |example| {
        let roles = roles(example);
        html! {
            p class="hint" {
                "In " code { (briefly(&example.beside)) } ", training task " (example.seed)
                "; what each role says is what the environment’s expert would do, in the workflow’s words."
            }
            div class="talk" {
                (within_bounds(example, |index, scene| html! {
                    div class={ "scene" (if scene.drawing.is_some() { " drawn" } else { "" }) } {
                        div class="seen" { (sight(scene, is_affordable(example, index))) }
                        div class="done" { (happened(scene, &roles)) }
                    }
                }))
            }
            (end(&example.close))
        }
    })
}

fn told(
    title: &str,
    example: &Result<Example, String>,
    tell: impl FnOnce(&Example) -> Markup,
) -> Markup {
    html! {
        section class="card" {
            h2 { (title) }
            @match example {
                Ok(example) => (tell(example)),
                Err(reason) => p class="note" { (shown(reason)) },
            }
        }
    }
}

/// Scene by scene, as long as there is room.
fn within_bounds(example: &Example, tell: impl Fn(usize, &Scene) -> Markup) -> Markup {
    let mut told = String::new();
    for (index, scene) in example.scenes.iter().enumerate() {
        let Markup { 0: scene } = tell(index, scene);
        if told.len() + scene.len() > TOLD_BYTES {
            told += &html! { p class="hint" { "More of it is not shown: there is too much." } }.0;
            break;
        }
        told += &scene;
    }
    PreEscaped(told)
}

/// Whether there is room for the drawings up to this one.
fn is_affordable(example: &Example, index: usize) -> bool {
    let drawn = example.scenes[..=index].iter().filter_map(|scene| scene.drawing.as_ref());
    drawn.map(|drawing| drawing.svg.len()).sum::<usize>() <= DRAWN_BYTES
}

/// The roles that speak, in the order in which they first do.
fn roles(example: &Example) -> Vec<&str> {
    let mut roles = Vec::new();
    for event in example.scenes.iter().flat_map(|scene| &scene.events) {
        if let Event::Replied { role, .. } = event
            && !roles.contains(&role.as_str())
        {
            roles.push(role);
        }
    }
    roles
}

fn sight(scene: &Scene, with_picture: bool) -> Markup {
    let seen = scene.events.iter().filter_map(|event| match event {
        Event::Observed { text } => Some(text),
        _ => None,
    });
    let told = html! { @for text in seen { div class="text" dir="auto" { (shown(text)) } } };
    match &scene.drawing {
        None => html! { div class="told" { (told) } },
        Some(drawing) => html! {
            (picture(drawing, with_picture))
            @if !told.0.is_empty() { details { summary { "as it is told" } (told) } }
        },
    }
}

fn picture(drawing: &Rendering, with_picture: bool) -> Markup {
    match with_picture {
        true => html! {
            img class="board" loading="lazy" src=(image(&drawing.svg)) alt=(shown(&drawing.text));
        },
        false => html! { div class="board text" { (shown(&drawing.text)) } },
    }
}

fn happened(scene: &Scene, roles: &[&str]) -> Markup {
    let others = scene.events.iter().filter(|event| !matches!(event, Event::Observed { .. }));
    html! { @for event in others.take(EVENTS) { (happening(event, roles)) } }
}

fn happening(event: &Event, roles: &[&str]) -> Markup {
    match event {
        Event::Observed { .. } => html! {},
        Event::Replied { role, instance, prompt, text, turn, .. } => {
            let place = roles.iter().position(|known| known == role).unwrap_or(0);
            html! {
                div class={ "said role" (place % COLORS + 1) } {
                    p class="head" {
                        strong { (briefly(role)) @if *instance > 0 { " " (instance + 1) } }
                        span class="hint" { "turn " (turn + 1) }
                    }
                    div class="text" dir="auto" { (shown(text)) }
                    details {
                        summary { "what it was told: " (counted(prompt.len(), "message")) }
                        @for message in prompt.iter().take(EVENTS) { (asked(message)) }
                    }
                }
            }
        }
        Event::Acted { action, accepted, feedback, reward, .. } => html! {
            div class={ "acted" (if *accepted { "" } else { " refused" }) } {
                p class="head" {
                    span class="mark" { (if *accepted { "✓" } else { "✗" }) }
                    bdi { (briefly(&action.role)) ": " (briefly(&action.kind)) }
                }
                div class="text" dir="auto" { (shown(&action.text)) }
                @if !feedback.is_empty() { div class="text feedback" dir="auto" { (shown(feedback)) } }
                (parts(reward))
            }
        },
        Event::Called { role, tool, arguments, succeeded, answer } => html! {
            div class={ "acted" (if *succeeded { "" } else { " refused" }) } {
                p class="head" { span class="mark" { (if *succeeded { "✓" } else { "✗" }) " tool" } bdi { (briefly(tool)) ", for " (briefly(role)) } }
                div class="text" dir="auto" { (shown(arguments)) }
                div class="text feedback" dir="auto" { (shown(answer)) }
            }
        },
        Event::Credited { value: 0.0, .. } => html! {},
        Event::Credited { answer, name, value } => html! {
            p class="hint" { "answer " (answer + 1) " was credited with " (briefly(name)) " " span class=(sort(*value)) { (worth(*value)) } }
        },
        Event::Logged { level, text, .. } => html! {
            p class="hint" { "logged (" (briefly(level)) "): " bdi { (briefly(text)) } }
        },
    }
}

fn asked(message: &Message) -> Markup {
    let author = match message.author {
        Author::System => "system",
        Author::User => "user",
        Author::Assistant => "assistant",
        Author::Tool => "tool",
    };
    html! {
        div class="message" {
            p class="hint" { (author) }
            div class="text" dir="auto" { (shown(&message.text)) }
        }
    }
}

fn parts(reward: &Reward) -> Markup {
    let paid = reward.parts.iter().filter(|(_, value)| **value != 0.0);
    html! {
        p class="parts" {
            @for (name, value) in paid.take(PARTS) {
                span class=(sort(*value)) { (briefly(name)) " " (worth(*value)) }
            }
        }
    }
}

fn end(close: &Close) -> Markup {
    match close {
        Close::Ended(ending) => {
            let message = match ending {
                Ending::Void { message, .. } => message.as_str(),
                _ => "",
            };
            html! { p { span class={ "badge " (ending.word()) } { (ending.word()) } " " (briefly(message)) } }
        }
        Close::Silent(seat) => html! {
            p class="hint" { "Here its expert has nothing to say as " code { (briefly(seat)) } "." }
        },
        Close::Long => html! { p class="hint" { "It goes on; more of it is not shown." } },
        Close::Failed(reason) => html! { p class="note" { (shown(reason)) } },
    }
}
