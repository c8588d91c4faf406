//! What the verdicts of a file of pairs add up to.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use troupe_answers::Verdict;

use super::pair::{Expectation, Pair};
use troupe_terminal as terminal;

/// Counts over pairs, by class.
#[derive(Default)]
pub struct PairTally {
    classes: BTreeMap<String, Counts>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    pairs: usize,
    correct: usize,
    wrong: usize,
    either: usize,
    false_correct: usize,
    false_wrong: usize,
    undecided: usize,
}

impl PairTally {
    /// Count a pair.
    pub fn add(&mut self, pair: &Pair, verdict: Verdict) {
        let counts = self.classes.entry(pair.class.clone()).or_default();
        counts.pairs += 1;
        match pair.expect {
            Expectation::Correct => counts.correct += 1,
            Expectation::Wrong => counts.wrong += 1,
            Expectation::Either => {
                counts.either += 1;
                return;
            }
        }
        match (pair.expect, verdict) {
            (_, Verdict::Undecided(_)) => counts.undecided += 1,
            (Expectation::Wrong, Verdict::Correct) => counts.false_correct += 1,
            (Expectation::Correct, Verdict::Wrong) => counts.false_wrong += 1,
            _ => {}
        }
    }

    fn total(&self) -> Counts {
        self.classes.values().fold(Counts::default(), |sum, counts| Counts {
            pairs: sum.pairs + counts.pairs,
            correct: sum.correct + counts.correct,
            wrong: sum.wrong + counts.wrong,
            either: sum.either + counts.either,
            false_correct: sum.false_correct + counts.false_correct,
            false_wrong: sum.false_wrong + counts.false_wrong,
            undecided: sum.undecided + counts.undecided,
        })
    }

    /// As a table on standard output.
    pub fn print(&self, elapsed: Duration) {
        let total = self.total();
        let row = |name: &str, counts: &Counts| {
            let numbers = [
                counts.correct,
                counts.wrong,
                counts.either,
                counts.false_correct,
                counts.false_wrong,
                counts.undecided,
            ];
            let numbers = numbers.map(|number| number.to_string());
            [vec![name.to_owned()], numbers.to_vec()].concat()
        };
        let mut rows: Vec<_> =
            self.classes.iter().map(|(name, counts)| row(name, counts)).collect();
        rows.push(row("all", &total));
        terminal::table(
            &["class", "correct", "wrong", "either", "false correct", "false wrong", "undecided"],
            &rows,
        );
        terminal::line("");
        terminal::line(&format!(
            "  {} pairs: false correct {} of {}, false wrong {} of {}, undecided {}; \
             {:.0} pairs/s on one core",
            total.pairs,
            total.false_correct,
            total.wrong,
            total.false_wrong,
            total.correct,
            terminal::percent(share(total.undecided, total.correct + total.wrong)),
            rate(total.pairs, elapsed),
        ));
    }

    /// As one JSON object.
    pub fn to_json(&self, elapsed: Duration) -> Value {
        let total = self.total();
        json!({
            "pairs": total.pairs,
            "correct": total.correct,
            "wrong": total.wrong,
            "either": total.either,
            "false_correct": total.false_correct,
            "false_wrong": total.false_wrong,
            "undecided": total.undecided,
            "pairs_per_second": rate(total.pairs, elapsed).round(),
        })
    }
}

fn share(part: usize, of: usize) -> f64 {
    part as f64 / of.max(1) as f64
}

fn rate(pairs: usize, elapsed: Duration) -> f64 {
    pairs as f64 / elapsed.as_secs_f64().max(1e-9)
}
