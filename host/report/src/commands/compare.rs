//! `host compare`: what became solvable, and what was lost.

mod figures;
mod tables;

use std::path::Path;

use super::args::CompareArgs;
use crate::turnover::{Comparison, Crossing, Paired, Point, Task, change, curve};
use troupe_core::error::ExitCode;
use troupe_core::outcome::{Answers, Outcome, read_outcomes};
use troupe_terminal::{self as terminal, UsageError};

/// What one evaluator saw of both sides.
struct Seen {
    compared: Comparison,
    curve: Vec<Point>,
    crossing: Crossing,
}

impl Seen {
    fn of(paired: &Paired) -> Self {
        Seen {
            compared: Comparison::of(paired),
            curve: curve(paired),
            crossing: Crossing::of(paired),
        }
    }
}

/// Print which tasks were gained and lost.
///
/// # Errors
/// If a run cannot be read, or a second evaluator saw other tasks.
pub fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let mut first = pair(args, &args.before, args.after.as_deref())?;
    let mut second = match &args.also[..] {
        [before, after] => Some(pair(args, before, Some(after))?),
        _ => None,
    };
    if let Some(second) = &mut second {
        check(&first, second, args)?;
        first.cut(second.samples);
        second.cut(first.samples);
    }
    let seen = Seen::of(&first);
    let also = second.map(|second| (Seen::of(&second), change(&first, &second)));
    if args.json {
        terminal::line(&serde_json::to_string(&figures::json(&seen, also.as_ref()))?);
    } else {
        tables::show(&seen, also.as_ref());
    }
    Ok(ExitCode::Success)
}

/// The tasks of two runs or files, or of both ends of one.
fn pair(args: &CompareArgs, before: &Path, after: Option<&Path>) -> anyhow::Result<Paired> {
    let first = outcomes(before, &args.split)?;
    let (was, is) = match after {
        Some(after) => (last(first), last(outcomes(after, &args.split)?)),
        None => ends(first, before)?,
    };
    let samples = args.samples.map(|samples| samples as usize);
    let paired = Paired::of(&was, &is, samples).ok_or_else(|| {
        let sides = match after {
            Some(after) => format!("`{}` and `{}` have", before.display(), after.display()),
            None => format!("the first and the last step of `{}` have", before.display()),
        };
        UsageError(format!(
            "{sides} no task of the {} split in common, examined in the same way; measure both \
             with `host eval --split {} --samples K --outcomes FILE`",
            args.split, args.split
        ))
    })?;
    Ok(paired)
}

/// That a second evaluator saw the same tasks, answered in the same way.
fn check(first: &Paired, second: &Paired, args: &CompareArgs) -> Result<(), UsageError> {
    let also = format!("`--also {} {}`", args.also[0].display(), args.also[1].display());
    let measure = format!(
        "measure all four with the same `host eval --split {} --tasks N --samples K`",
        args.split
    );
    let refuse = |(family, task): &Task, has: &str, lacks: &str| {
        UsageError(format!(
            "task {task} of `{family}` is among those of {has} and not among those of {lacks}, \
             and what changes can only be seen task by task; {measure}"
        ))
    };
    if let Some(task) = first.without(second) {
        return Err(refuse(task, "the first comparison", &also));
    }
    if let Some(task) = second.without(first) {
        return Err(refuse(task, &also, "the first comparison"));
    }
    if first.answers != second.answers {
        let how = |answers: Answers| match answers {
            Answers::Greedy => "the likeliest answers",
            Answers::Sampled => "sampled episodes",
        };
        let [one, other] = [first, second].map(|paired| how(paired.answers));
        return Err(UsageError(format!(
            "{also} has {other} where the first comparison has {one}; {measure}"
        )));
    }
    Ok(())
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
