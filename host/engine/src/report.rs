//! What people see of a run, beside what every command prints.

pub use troupe_terminal::*;

use std::collections::BTreeMap;

use troupe_training::metrics::{Success, Totals};

/// `93.4 % (91.0 to 95.2 %)`: with the 95 % interval.
pub fn success(success: &Success) -> String {
    share(success.success, (success.low, success.high))
}

/// `512`, or `512, 3 void`: void ones count as not solved.
pub fn tasks(success: &Success) -> String {
    match success.void {
        0 => success.tasks.to_string(),
        void => format!("{}, {void} void", success.tasks),
    }
}

/// `spent: 12 answers, 40 tokens drawn, 900 read, 12 acts`.
pub fn spent(totals: &Totals) -> String {
    let Totals { samples, completion_tokens, prompt_tokens, acts } = totals;
    format!(
        "spent: {samples} answers, {completion_tokens} tokens drawn, {prompt_tokens} read, {acts} \
         acts"
    )
}

/// ` (plan-path 93.4 %, sudoku 88.1 %)`; nothing where there is one family only.
pub fn by_family(families: &BTreeMap<String, Success>) -> String {
    let shown = families.iter().map(|(name, found)| format!("{name} {}", percent(found.success)));
    match families.len() {
        0 | 1 => String::new(),
        _ => format!(" ({})", shown.collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_success_is_shown_with_its_interval_and_its_void_tasks() {
        let found = Success::new(486, 512);
        assert_eq!(success(&found), "94.9 % (92.7 to 96.5 %)");
        assert_eq!(tasks(&found), "512");
        assert_eq!(tasks(&Success { void: 3, ..found }), "512, 3 void");
    }
}
