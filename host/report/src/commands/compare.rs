//! `host compare`: what became solvable, and what was lost.

use std::path::Path;

use super::args::CompareArgs;
use crate::turnover::{Comparison, Difficulty, Turnover};
use troupe_core::error::ExitCode;
use troupe_core::outcome::{Answers, Outcome, read_outcomes};
use troupe_terminal::{self as terminal, UsageError};

/// Print which tasks were gained and lost.
///
/// # Errors
/// If a run cannot be read.
pub fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let first = outcomes(&args.before, &args.split)?;
    let (before, after) = match &args.after {
        Some(after) => (last(first), last(outcomes(after, &args.split)?)),
        None => ends(first, &args.before)?,
    };
    let samples = args.samples.map(|samples| samples as usize);
    let compared = Comparison::of(&before, &after, samples).ok_or_else(|| {
        UsageError(format!(
            "the two have no task of the {} split in common, examined in the same way; measure \
             both with `host eval --split {} --samples K --outcomes FILE`",
            args.split, args.split
        ))
    })?;
    if args.json {
        terminal::line(&serde_json::to_string(&json(&compared))?);
    } else {
        show(&compared);
    }
    Ok(ExitCode::Success)
}

/// The outcomes of a split in a run's folder or in a file.
fn outcomes(path: &Path, split: &str) -> anyhow::Result<Vec<Outcome>> {
    let file = if path.is_dir() { path.join("outcomes.jsonl") } else { path.to_owned() };
    let mut outcomes = read_outcomes(&file)?;
    outcomes.retain(|outcome| outcome.split == split);
    if outcomes.is_empty() {
        let reason = format!("`{}` has no outcome of the {split} split", file.display());
        return Err(UsageError(reason).into());
    }
    Ok(outcomes)
}

/// Those of the last step that has some.
fn last(mut outcomes: Vec<Outcome>) -> Vec<Outcome> {
    let step = outcomes.iter().map(|outcome| outcome.step).max().flatten();
    outcomes.retain(|outcome| outcome.step == step);
    outcomes
}

/// Those of the first and of the last step.
fn ends(outcomes: Vec<Outcome>, path: &Path) -> anyhow::Result<(Vec<Outcome>, Vec<Outcome>)> {
    let first = outcomes.iter().map(|outcome| outcome.step).min().flatten();
    let after = last(outcomes.clone());
    if after.first().is_none_or(|outcome| outcome.step == first) {
        let path = path.display();
        let reason = format!("`{path}` has outcomes of one step only; name a second run or file");
        return Err(UsageError(reason).into());
    }
    Ok((outcomes.into_iter().filter(|outcome| outcome.step == first).collect(), after))
}

fn json(compared: &Comparison) -> serde_json::Value {
    let with_ratio = |turnover: &Turnover| {
        let mut value = serde_json::json!(turnover);
        value["expansion_to_shrinkage"] = turnover.expansion_to_shrinkage().into();
        value
    };
    let families = compared.families.iter().map(|(name, own)| (name.clone(), with_ratio(own)));
    let by_name = |(difficulty, own): (&Difficulty, &Turnover)| {
        (name(*difficulty).to_owned(), with_ratio(own))
    };
    let difficulties = compared.difficulties.iter().map(by_name);
    serde_json::json!({
        "answers": compared.answers,
        "k": compared.k,
        "all": with_ratio(&compared.all),
        "families": families.collect::<serde_json::Map<_, _>>(),
        "difficulties": difficulties.collect::<serde_json::Map<_, _>>(),
    })
}

fn name(difficulty: Difficulty) -> &'static str {
    match difficulty {
        Difficulty::Easy => "easy",
        Difficulty::Medium => "medium",
        Difficulty::Hard => "hard",
    }
}

fn show(compared: &Comparison) {
    let cells = |name: &str, own: &Turnover| {
        let of = |count: usize| {
            format!("{count} ({})", terminal::percent(count as f64 / own.tasks.max(1) as f64))
        };
        let ratio = match own.expansion_to_shrinkage() {
            Some(ratio) => format!("{ratio:.2}"),
            None if own.gained > 0 => "none lost".to_owned(),
            None => "–".to_owned(),
        };
        let counts = [own.preserved, own.gained, own.lost, own.never].map(of);
        [name.to_owned(), own.tasks.to_string()].into_iter().chain(counts).chain([ratio]).collect()
    };
    let mut rows: Vec<Vec<String>> = vec![cells("all", &compared.all)];
    if compared.families.len() > 1 {
        rows.extend(compared.families.iter().map(|(name, own)| cells(name, own)));
    }
    rows.extend(
        compared.difficulties.iter().map(|(difficulty, own)| cells(name(*difficulty), own)),
    );
    let header =
        ["family or difficulty", "tasks", "preserved", "gained", "lost", "never", "gained / lost"];
    terminal::table(&header, &rows);
    if !compared.difficulties.is_empty() {
        terminal::line("  difficulty: by how many episodes before and after solved it, in thirds");
    }
    terminal::line(&match compared.answers {
        Answers::Greedy => "  solved: by the likeliest answers".to_owned(),
        Answers::Sampled => {
            format!("  solved: by one of {} sampled episodes of a task", compared.k)
        }
    });
}
