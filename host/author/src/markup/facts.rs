//! What a component's file is, what it wants, and what a check found.

use maud::{Markup, html};
use plugin_sdk::testing::{Finding, Report, SUITE, Verdict};
use troupe_guests::plugin::{Needs, grant_flag};
use troupe_terminal::quoted;

use super::texts::{briefly, bytes, counted, shown};
use crate::sheet::Sheet;

/// Findings that are listed.
const FINDINGS: usize = 64;

/// What others can rely on, in a word.
pub fn mark(sheet: &Sheet) -> &'static str {
    match &sheet.checked {
        Ok(reports) if reports.iter().all(Report::passed_strictly) => "strict: pass",
        Ok(reports) if reports.iter().all(Report::passed) => "pass",
        Ok(_) => "fail",
        Err(_) => "not checked",
    }
}

/// The same as a badge.
pub fn badge(sheet: &Sheet) -> Markup {
    let sort = match mark(sheet) {
        "fail" => "failed",
        "not checked" => "truncated",
        _ => "solved",
    };
    html! { span class={ "badge " (sort) } { (mark(sheet)) } }
}

/// What has to be granted, in a few words.
pub fn needed(sheet: &Sheet) -> Markup {
    let wanted = sheet.facts.to_grant();
    match wanted.is_empty() {
        true => html! { "needs nothing" },
        false => html! { "needs " strong { (wanted.join(", ")) } },
    }
}

/// What matters first.
pub fn in_short(sheet: &Sheet) -> Markup {
    let speed = sheet.environment.as_ref().and_then(|environment| environment.speed);
    html! {
        p class="chips" {
            (badge(sheet))
            span { "version " (briefly(&sheet.said.version)) }
            span { (needed(sheet)) }
            span { (bytes(sheet.facts.size)) }
            @if let Some(speed) = speed {
                span title="on one thread of the machine that made this page" { (format!("{speed:.0}")) " acts per second" }
            }
        }
    }
}

/// The lines that one types.
pub fn take_it(sheet: &Sheet) -> Markup {
    let named = quoted(&sheet.origin.named);
    let pulled = sheet.origin.reference().map(|_| format!("host plugin pull {named}"));
    let (place, key) = match sheet.interpreter {
        None => ("[plugins]", "files"),
        Some(_) => ("[sandbox]", "interpreters"),
    };
    html! {
        div class="take" {
            p class="hint" { "Take it: on a command line, or in a configuration" }
            @for line in pulled.into_iter().chain([used(sheet, &named)]) {
                pre class="text" { code { (shown(&line)) } }
            }
            pre class="text" { code { (place) "\n" (key) " = [" (shown(&format!("{:?}", sheet.origin.named))) "]" } }
        }
    }
}

/// A command that uses it.
fn used(sheet: &Sheet, named: &str) -> String {
    let mut words = sheet.facts.to_grant();
    let mut grants = match words.is_empty() {
        true => String::new(),
        false => format!(" --grant {}={}", file_name(sheet), words.join(",")),
    };
    let plugins = match (&sheet.environment, &sheet.workflow) {
        (Some(_), _) => named.to_owned(),
        (None, None) => return format!("host plugin check {named}"),
        (None, Some(workflow)) => {
            let beside = workflow.example.as_ref().map_or("ENVIRONMENT", |it| &it.beside);
            if !workflow.granted.is_empty() {
                grants += &format!(" {}", grant_flag(beside, &workflow.granted));
                words.extend(workflow.granted.iter().map(|right| right.word()));
            }
            format!("{},{named}", quoted(beside))
        }
    };
    let corpus =
        if words.contains(&"search") { " --set retrieval.corpus='[\"FILE\"]'" } else { "" };
    format!("host train --plugins {plugins}{grants}{corpus}")
}

/// The name under which it is granted something: its file's.
fn file_name(sheet: &Sheet) -> String {
    let reference = sheet.origin.reference();
    let named = reference.as_ref().map_or(&*sheet.origin.named, |reference| reference.name());
    let last = named.rsplit('/').next().unwrap_or(named);
    last.trim_end_matches(".wasm").to_owned()
}

/// What is trusted by whoever uses it.
pub fn trusted(sheet: &Sheet) -> Markup {
    let facts = &sheet.facts;
    html! {
        section class="card" id="trust" {
            h2 { "What is trusted" }
            dl class="facts" {
                dt { "imports" }
                dd {
                    @if facts.wants.is_empty() { "nothing that reaches beyond the log" }
                    @for want in &facts.wants {
                        p { strong { (want.word()) } ": " (want.meaning()) }
                    }
                }
                (needs(&facts.needs))
                dt { "contract" } dd { (briefly(&facts.contract)) }
                dt { "licence" }
                dd { (briefly(sheet.origin.licence.as_deref().unwrap_or("whoever offers it names none"))) }
                dt { "size" } dd { (facts.size) " bytes" }
                dt { "digest" } dd { code { (facts.sha256()) } }
                dt { "check" }
                dd { (badge(sheet)) " " (checked(sheet)) }
            }
        }
    }
}

fn needs(needs: &Needs) -> Markup {
    html! {
        @if let Some(memory) = needs.memory_mib {
            dt { "memory" } dd { (memory) " MiB (" code { "plugins.limits.memory_mib" } ")" }
        }
        @if let Some(fuel) = needs.fuel {
            dt { "work" } dd { (fuel) " of fuel for a call (" code { "plugins.limits.fuel" } ")" }
        }
    }
}

fn checked(sheet: &Sheet) -> Markup {
    let reports = match &sheet.checked {
        Ok(reports) => reports,
        Err(reason) => return html! { (shown(reason)) },
    };
    let findings = || reports.iter().flat_map(|report| &report.findings);
    let of = |verdict| findings().filter(|finding| finding.verdict == verdict).count();
    let tasks: usize = reports.iter().map(|report| report.tried.of).sum();
    html! {
        (counted(of(Verdict::Passed), "check")) " passed, " (of(Verdict::Failed)) " failed, "
        (of(Verdict::Skipped)) " did not apply; suite " (SUITE)
        @if tasks > 0 { ", " (counted(tasks, "task")) }
        ", found when this page was made"
        details {
            summary { "What was checked" }
            ul class="findings" {
                @for finding in findings().take(FINDINGS) { (found(finding)) }
            }
        }
    }
}

fn found(finding: &Finding) -> Markup {
    let (sign, sort) = match finding.verdict {
        Verdict::Passed => ("✓", "good"),
        Verdict::Failed => ("✗", "bad"),
        Verdict::Skipped => ("–", "even"),
    };
    html! {
        li { span class=(sort) { (sign) " " (finding.check) } ": " (briefly(&finding.sentence)) }
    }
}
