//! Tokens that were read and drawn, as Inspect counts them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use troupe_core::trajectory::Sample;

/// A policy's name among models.
pub(super) fn model(policy: &str) -> String {
    format!("troupe/{policy}")
}

/// What some answers took.
pub(super) fn usage<'s>(answers: impl IntoIterator<Item = &'s Sample>) -> Value {
    let (mut read, mut drawn) = (0, 0);
    for answer in answers {
        read += answer.prompt.len();
        drawn += answer.completion.length();
    }
    json!({ "input_tokens": read, "output_tokens": drawn, "total_tokens": read + drawn })
}

/// The same by model.
pub(super) fn by_policy<'s>(answers: impl Iterator<Item = &'s Sample>) -> Value {
    by(answers, |answer| model(&answer.policy))
}

/// The same by role.
pub(super) fn by_role<'s>(answers: impl Iterator<Item = &'s Sample>) -> Value {
    by(answers, |answer| answer.role.clone())
}

fn by<'s>(answers: impl Iterator<Item = &'s Sample>, key: fn(&Sample) -> String) -> Value {
    let mut parts: BTreeMap<String, Vec<&Sample>> = BTreeMap::new();
    for answer in answers {
        parts.entry(key(answer)).or_default().push(answer);
    }
    parts.into_iter().map(|(name, answers)| (name, usage(answers))).collect()
}
