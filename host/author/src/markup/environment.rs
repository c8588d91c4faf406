//! What an environment asks, pays and allows.

use maud::{Markup, html};
use troupe_guests::plugin::ActionKind;

use super::example;
use super::settings::settings;
use super::texts::{briefly, counted, range, shown, sort, worth};
use crate::sheet::{Earnings, EnvironmentSheet, Look};

/// Words of a vocabulary that are listed.
const WORDS: usize = 300;
/// Awards that are listed.
const AWARDS: usize = 64;

/// Everything about it.
pub fn told(sheet: &EnvironmentSheet) -> Markup {
    let description = &sheet.description;
    html! {
        (example::environment(&sheet.example))
        (asked(sheet))
        (paid(&sheet.earnings))
        (allowed(sheet))
        (settings("environment", &description.settings, &description.presets()))
    }
}

fn asked(sheet: &EnvironmentSheet) -> Markup {
    html! {
        section class="card" {
            h2 { "What it asks" }
            @if let Err(reason) = &sheet.configuration { p class="note" { (shown(reason)) } }
            @if let Some((first, others)) = sheet.looks.split_first() {
                (look(first))
                @for other in others {
                    details { summary { "What " (other.audience) " are told" } (look(other)) }
                }
            }
            dl class="facts" {
                @if let Ok(configuration) = &sheet.configuration {
                    dt { "turns" } dd { (configuration.max_turns) " per seat at most" }
                    dt { "seats" }
                    dd {
                        @let seats = configuration.expected_seats();
                        @if seats.is_empty() { "whoever the workflow brings" }
                        @else { (briefly(&seats.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))) }
                        @if configuration.is_private { "; each is told something of its own" }
                    }
                    dt { "tasks" }
                    dd {
                        @if configuration.needs_records { "built from records that one has to give" }
                        @else if configuration.may_have_records() { "drawn without end, or built from records" }
                        @else { "drawn without end" }
                    }
                }
                dt { "workflows" }
                dd { (briefly(&sheet.description.workflows.join(", "))) }
            }
        }
    }
}

fn look(look: &Look) -> Markup {
    html! {
        div class="told" {
            p class="hint" { "the rules, for " (look.audience) }
            div class="text" dir="auto" { (shown(&look.rules)) }
            p class="hint" { "what is seen first" }
            div class="text" dir="auto" { (shown(&look.view)) }
        }
    }
}

fn paid(earnings: &Earnings) -> Markup {
    html! {
        section class="card" {
            h2 { "What it pays" }
            @if earnings.episodes == 0 { p class="hint" { "Nothing was tried." } }
            @else {
                p {
                    "Its expert played " (counted(earnings.episodes, "task")) " as language models do, and solved "
                    (earnings.solved) "."
                    @if let Some((least, most)) = earnings.of_solved {
                        " A solved one paid " strong class=(sort(least)) { (range(least, most)) } " in all."
                    }
                }
                @if !earnings.awards.is_empty() { (awards(earnings)) }
                @if let Some((told, value)) = &earnings.unreadable {
                    p {
                        "Words that say nothing are worth " strong class=(sort(*value)) { (worth(*value)) }
                        @if !told.is_empty() { ": “" bdi { (briefly(told)) } "”" }
                    }
                }
            }
        }
    }
}

fn awards(earnings: &Earnings) -> Markup {
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="awards" {
            table {
                thead { tr { th { "award" } th { "to" } th { "worth" } th { "paid" } } }
                tbody {
                    @for ((name, to), award) in earnings.awards.iter().take(AWARDS) {
                        tr {
                            td { code { (briefly(name)) } }
                            td { (to) }
                            td class=(sort(award.most)) { (range(award.least, award.most)) }
                            td {
                                @if award.for_solution { "for the solution" }
                                @else { (counted(award.times, "time")) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn allowed(sheet: &EnvironmentSheet) -> Markup {
    let words = &sheet.vocabulary;
    html! {
        section class="card" {
            h2 { "What it allows" }
            (actions(&sheet.description.actions))
            @if words.is_empty() {
                p { "Its language is open: nothing says which words may occur." }
            } @else {
                p { "For tiny policies its language is closed: " (counted(words.len(), "word")) "." }
                details {
                    summary { "The words" }
                    p class="words" {
                        @for word in words.iter().take(WORDS) { code { (briefly(word)) } " " }
                        @if words.len() > WORDS { "and " (words.len() - WORDS) " more" }
                    }
                }
            }
        }
    }
}

fn actions(kinds: &[ActionKind]) -> Markup {
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="actions" {
            table {
                thead { tr { th { "action" } th { "text" } } }
                tbody {
                    @for kind in kinds {
                        tr { td { code { (kind.name) } } td { (briefly(&kind.summary)) } }
                    }
                }
            }
        }
    }
}
