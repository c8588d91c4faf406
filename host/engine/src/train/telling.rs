//! What is said of a run, as it begins, with every step and when it is done.

use std::path::Path;

use crate::report;
use troupe_training::metrics::Success;
use troupe_training::run::{Change, RunFolder, Summary};
use troupe_training::training::Record;

/// Where a run is, and how to repeat it.
pub(super) fn announce(folder: &RunFolder) {
    report::note(&format!(
        "run {}; `host train {}` repeats it",
        folder.path().display(),
        folder.config_path().display()
    ));
}

/// A step beside its bar.
pub(super) fn describe(record: &Record) -> String {
    let rewards =
        record.roles.iter().map(|(role, metrics)| format!("{role} {:+.2}", metrics.reward.mean));
    let rewards: Vec<String> = rewards.collect();
    format!("reward {}", rewards.join(", "))
}

/// What stays above the bar of a step.
pub(super) fn milestones(bar: &report::Bar, record: &Record) {
    for warning in &record.warnings {
        bar.milestone(&format!("step {:4}: warning: {warning}", record.step));
    }
    if let Some(validation) = &record.validation {
        let sampled = validation.sampled.as_ref().map_or(String::new(), |sampled| {
            format!(", sampled {}", report::percent(sampled.success))
        });
        bar.milestone(&format!(
            "step {:4}: held-out success {}{sampled}{}",
            record.step,
            report::success(&validation.greedy),
            report::by_family(&validation.families)
        ));
    }
    if let Some(difference) = record.largest_logprob_difference {
        bar.milestone(&format!(
            "step {:4}: largest |sampler − trainer| log-probability {difference:.2e}",
            record.step
        ));
    }
    let void: usize = record.void.values().sum();
    if void > 0 {
        let causes: Vec<String> =
            record.void.iter().map(|(cause, count)| format!("{count} {cause}")).collect();
        bar.milestone(&format!(
            "step {:4}: {void} of {} episodes void: {}",
            record.step,
            record.episodes,
            causes.join(", ")
        ));
    }
}

/// What came of a run.
pub(super) fn conclude(summary: &Summary, folder: &Path) {
    report::line("");
    let row = |what: &str, success: &Success| {
        vec![what.to_owned(), report::success(success), report::tasks(success)]
    };
    let mut rows = vec![row("before", &summary.before), row("after", &summary.after)];
    if let Some(best) = &summary.best {
        rows.push(row(&format!("best (step {})", best.step), &best.test));
    }
    if summary.families.len() > 1 {
        for (name, Change { before, after }) in &summary.families {
            rows.push(row(&format!("{name}, before"), before));
            rows.push(row(&format!("{name}, after"), after));
        }
    }
    report::table(&["test split", "solved (95 % interval)", "tasks"], &rows);
    report::line("");
    let taken_back = match summary.taken_back {
        0 => String::new(),
        count => format!(", {} made again more slowly", counted(count, "update")),
    };
    report::line(&format!(
        "  {} in {}, {}{taken_back}",
        counted(summary.steps, "step"),
        report::duration(summary.seconds),
        counted(summary.void_episodes, "void episode")
    ));
    report::line(&format!("  run folder: {}", folder.display()));
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
