//! `host check-answer`: whether answers are the ones that were asked for.

mod pair;
mod tally;

use std::path::Path;
use std::time::Instant;

use serde_json::json;
use troupe_answers::{Rules, check_answer, extract};

pub use pair::PairError;

use self::pair::Pair;
use self::tally::PairTally;
use super::args::CheckAnswerArgs;
use troupe_core::error::ExitCode;
use troupe_terminal as terminal;

/// Checks one answer, or a file of them.
///
/// # Errors
/// If the file of pairs cannot be read.
pub fn run(args: &CheckAnswerArgs) -> Result<ExitCode, PairError> {
    let rules = args.rules.clone().with_tolerances(args.tolerance.clone());
    match (&args.pairs, &args.gold, &args.answer) {
        (Some(file), _, _) => check_file(file, &rules, args)?,
        (None, Some(gold), Some(answer)) => check_one(gold, answer, &rules, args.json),
        // The parser of the command line sees to it that there are both or a file.
        _ => {}
    }
    Ok(ExitCode::Success)
}

fn check_one(gold: &str, answer: &str, rules: &Rules, json: bool) {
    let verdict = check_answer(gold, answer, rules);
    if !json {
        return terminal::line(&verdict.to_string());
    }
    let extracted = extract(answer);
    let line = json!({
        "verdict": verdict.word(),
        "reason": verdict.reason().map(|reason| reason.to_string()),
        "extracted": extracted.as_ref().map(|extracted| &extracted.answer),
        "found": extracted.as_ref().map(|extracted| extracted.found.word()),
    });
    terminal::line(&line.to_string());
}

fn check_file(file: &Path, rules: &Rules, args: &CheckAnswerArgs) -> Result<(), PairError> {
    let pairs = pair::read(file)?;
    let start = Instant::now();
    let verdicts: Vec<_> = pairs.iter().map(|pair| pair.verdict(rules)).collect();
    let elapsed = start.elapsed();
    let mut tally = PairTally::default();
    for (pair, verdict) in pairs.iter().zip(&verdicts) {
        tally.add(pair, *verdict);
        if args.list && pair.expect.counts() && pair.expect.word() != verdict.word() {
            terminal::line(&disagreement(pair, &verdict.to_string()));
        }
    }
    if args.list {
        terminal::line("");
    }
    tally.print(elapsed);
    if args.json {
        terminal::line(&tally.to_json(elapsed).to_string());
    }
    Ok(())
}

fn disagreement(pair: &Pair, verdict: &str) -> String {
    json!({
        "line": pair.line,
        "id": pair.id,
        "class": pair.class,
        "gold": pair.gold,
        "answer": pair.answer,
        "expect": pair.expect.word(),
        "verdict": verdict,
    })
    .to_string()
}
