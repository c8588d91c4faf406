//! What was found, in words and for programs.

use plugin_sdk::testing::{Finding, Report, Reproducer, SUITE, Verdict};
use plugin_sdk::types::{Configured, Move, Seat, Value};
use serde_json::{Map, json};

use super::Effort;

/// What is told of a component.
pub(super) struct Told<'t> {
    pub reports: &'t [Report],
    /// Of the files that were looked at.
    pub digests: Vec<String>,
    pub effort: &'t Effort,
}

impl Told<'_> {
    /// Whether nothing failed and, where that matters, nothing was skipped.
    pub fn passed(&self) -> bool {
        let strict = self.effort.strict;
        self.reports.iter().all(|it| if strict { it.passed_strictly() } else { it.passed() })
    }
}

/// What others can rely on, in a word.
fn mark(report: &Report) -> &'static str {
    match (report.passed_strictly(), report.passed()) {
        (true, _) => "strict: pass",
        (false, true) => "pass",
        (false, false) => "fail",
    }
}

/// What others can rely on: the result, for which bytes, by which suite, and what
/// was tried.
pub(super) fn grade(report: &Report, digests: &[String]) -> String {
    let tried = &report.tried;
    let of = |verdict| report.findings.iter().filter(|it| it.verdict == verdict).count();
    let skipped = match of(Verdict::Skipped) {
        0 => String::new(),
        count => format!(" with {count} checks skipped"),
    };
    let tasks = match tried.of > tried.tasks {
        true => format!("{} of {} tasks", tried.tasks, tried.of),
        false => format!("{} tasks", tried.tasks),
    };
    format!(
        "{}{skipped}; suite {SUITE}; sha256 {}; {tasks}, {} settings, {} episodes, {} steps",
        mark(report),
        digests.join(" "),
        tried.settings,
        tried.walks,
        tried.steps
    )
}

/// The command that shows a finding again, if an episode shows it.
pub(super) fn command(finding: &Finding, effort: &Effort) -> Option<String> {
    let seen = finding.reproducer.as_ref().filter(|_| finding.verdict == Verdict::Failed)?;
    let quoted = reproducer(finding.check, seen).to_string().replace('\'', "'\\''");
    Some(format!("{} --tasks {} --replay '{quoted}'", effort.command, effort.tasks))
}

/// All reports of a check.
pub(super) fn json(told: &Told<'_>) -> serde_json::Value {
    let reports: Vec<_> = told.reports.iter().map(|it| report(it, told)).collect();
    json!({
        "suite": SUITE,
        "passed": told.passed(),
        "strict": told.effort.strict,
        "sha256": told.digests,
        "reports": reports,
    })
}

fn report(report: &Report, told: &Told<'_>) -> serde_json::Value {
    let findings: Vec<_> = report.findings.iter().map(|it| finding(it, told.effort)).collect();
    let tried = &report.tried;
    json!({
        "subject": report.subject,
        "grade": mark(report),
        "tried": {
            "tasks": tried.tasks,
            "tasks_wanted": tried.of,
            "settings": tried.settings,
            "episodes": tried.walks,
            "steps": tried.steps,
        },
        "findings": findings,
    })
}

fn finding(finding: &Finding, effort: &Effort) -> serde_json::Value {
    let verdict = match finding.verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::Skipped => "skipped",
    };
    json!({
        "check": finding.check,
        "verdict": verdict,
        "sentence": finding.sentence,
        "broken_off_after": finding.broken_off,
        "reproducer": finding.reproducer.as_ref().map(|it| reproducer(finding.check, it)),
        "command": command(finding, effort),
    })
}

/// What `--replay` reads.
pub(super) fn reproducer(check: &str, reproducer: &Reproducer) -> serde_json::Value {
    let moves = |(act, moves): (usize, &Vec<Move>)| {
        let told = |Move { seat, action }: &Move| {
            let Seat { role, instance } = seat;
            // Moves of one act are made at the same time.
            json!({ "act": act, "role": role, "instance": instance, "kind": action.kind, "text": action.text })
        };
        moves.iter().map(told).collect::<Vec<_>>()
    };
    let actions: Vec<_> = reproducer.acts.iter().enumerate().flat_map(moves).collect();
    json!({
        "check": check,
        "split": reproducer.split.name(),
        "seed": reproducer.seed,
        "from": reproducer.from,
        "step": reproducer.acts.len(),
        "entry": reproducer.entry,
        "settings": settings(&reproducer.settings),
        "actions": actions,
    })
}

fn settings(settings: &[Configured]) -> Map<String, serde_json::Value> {
    let value = |value: &Value| match value {
        Value::Integer(value) => json!(value),
        Value::Number(value) => json!(value),
        Value::Flag(value) => json!(value),
        Value::Text(value) => json!(value),
    };
    settings.iter().map(|one| (one.name.clone(), value(&one.value))).collect()
}
