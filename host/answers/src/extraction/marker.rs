//! What stands behind `####`, which data sets end an answer with, and Markdown begins a heading with.

use super::markdown::plain;

/// The line behind the last `####` that is no heading.
pub(super) fn last(text: &str) -> Option<String> {
    let (before, behind) = text.rsplit_once("####")?;
    let mut lines = behind.trim().lines();
    let line = lines.next().unwrap_or_default().trim().trim_start_matches('#').trim();
    let more = lines.any(|line| !line.trim().is_empty());
    if is_heading(line, more) {
        // What a heading is above may answer, and so may what stands above it.
        return if more || before.is_empty() { None } else { last(before) };
    }
    let line = plain(line);
    Some(line.trim().to_owned())
}

/// Whether the line names what is below it, or leads to an answer in words.
fn is_heading(line: &str, more: bool) -> bool {
    let lower = line.to_lowercase();
    let first = lower.split(|c: char| !c.is_alphabetic()).find(|word| word.len() > 1);
    let letters = lower
        .trim_start_matches(|c: char| !c.is_alphanumeric())
        .starts_with(|c: char| c.is_alphabetic());
    let known =
        ["final", "answer", "the", "so", "therefore", "thus", "hence", "conclusion", "result"];
    first.is_some_and(|first| known.contains(&first))
        || (more && letters && first.is_some() && !line.contains('\\'))
}
