//! Findings for programs: one JSON object.

use plugin_sdk::testing::{Finding, Report, Reproducer, Verdict};
use plugin_sdk::types::{Configured, Move, Seat, Value};
use serde_json::{Map, json};

/// All reports of a check.
pub(super) fn json(reports: &[Report], strict: bool, passed: bool) -> serde_json::Value {
    let reports: Vec<_> = reports.iter().map(report).collect();
    json!({ "passed": passed, "strict": strict, "reports": reports })
}

fn report(report: &Report) -> serde_json::Value {
    let findings: Vec<_> = report.findings.iter().map(finding).collect();
    json!({ "subject": report.subject, "findings": findings })
}

fn finding(finding: &Finding) -> serde_json::Value {
    let verdict = match finding.verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::Skipped => "skipped",
    };
    json!({
        "check": finding.check,
        "verdict": verdict,
        "sentence": finding.sentence,
        "reproducer": finding.reproducer.as_ref().map(reproducer),
    })
}

fn reproducer(reproducer: &Reproducer) -> serde_json::Value {
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
        "split": reproducer.split.name(),
        "seed": reproducer.seed,
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
