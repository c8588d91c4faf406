//! What the verdicts add up to.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::{PassAtK, Tally, VerdictLine, pass_at_k};
use troupe_terminal as terminal;

/// Counts over verdicts; the verdicts themselves are not kept.
pub struct GradeSummary {
    tallies: BTreeMap<String, Tally>,
    causes: BTreeMap<String, usize>,
    /// Fuel of each program that has a verdict.
    fuel: Vec<u64>,
    /// Milliseconds of each program that has a verdict.
    wall: Vec<u64>,
    void_reason: Option<String>,
}

/// What was done in this run of the command, and how fast.
pub struct Pace {
    /// Programs graded.
    pub graded: usize,
    /// How long it took.
    pub elapsed: Duration,
}

impl Pace {
    /// Programs a second.
    pub fn rate(&self) -> f64 {
        self.graded as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

impl GradeSummary {
    /// Nothing yet, of these problems.
    pub fn of(problems: impl Iterator<Item = String>) -> Self {
        GradeSummary {
            tallies: problems.map(|problem| (problem, Tally::default())).collect(),
            causes: BTreeMap::new(),
            fuel: Vec::new(),
            wall: Vec::new(),
            void_reason: None,
        }
    }

    /// Counts a verdict.
    pub fn add(&mut self, line: VerdictLine) {
        let tally = self.tallies.entry(line.problem).or_default();
        match line.verdict.as_str() {
            "passed" => tally.passed += 1,
            "failed" => {
                tally.failed += 1;
                *self.causes.entry(line.cause.unwrap_or_default()).or_default() += 1;
            }
            _ => {
                tally.void += 1;
                self.void_reason = self.void_reason.take().or(line.detail);
                return;
            }
        }
        self.fuel.push(line.fuel);
        self.wall.push(line.wall_ms);
    }

    /// All samples, by what became of them.
    pub fn total(&self) -> Tally {
        self.tallies.values().fold(Tally::default(), |sum, tally| Tally {
            passed: sum.passed + tally.passed,
            failed: sum.failed + tally.failed,
            void: sum.void + tally.void,
        })
    }

    /// Why the first of the void samples has no verdict.
    pub fn void_reason(&self) -> &str {
        self.void_reason.as_deref().unwrap_or_default()
    }

    /// pass@k for the k that are asked for; by default for the powers of two that
    /// no graded problem has too few samples for.
    fn pass_at_k(&self, asked: &[u32]) -> Vec<PassAtK> {
        let samples = |tally: &Tally| tally.passed + tally.failed + tally.void;
        let fewest =
            self.tallies.values().map(samples).filter(|count| *count > 0).min().unwrap_or(1);
        let powers = std::iter::successors(Some(1), |k| Some(k * 2)).take_while(|k| *k <= fewest);
        let all: Vec<usize> = match asked {
            [] => powers.collect(),
            asked => asked.iter().map(|k| *k as usize).collect(),
        };
        all.into_iter().map(|k| pass_at_k(&self.tallies, k)).collect()
    }

    /// Causes of failure, the most frequent first.
    fn causes(&self) -> Vec<(&str, usize)> {
        let mut causes: Vec<_> =
            self.causes.iter().map(|(cause, count)| (cause.as_str(), *count)).collect();
        causes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        causes
    }

    /// As tables on standard output.
    pub fn print(mut self, k: &[u32], pace: &Pace) {
        let total = self.total();
        let problems = self.tallies.len();
        terminal::line(&format!(
            "  {} samples of {problems} problems: {} passed, {} failed, {} void",
            total.passed + total.failed + total.void,
            total.passed,
            total.failed,
            total.void
        ));
        if total.void > 0 {
            terminal::line(&format!("  void, for example: {}", self.void_reason()));
        }
        terminal::line("");
        let row = |pass: &PassAtK| {
            let (k, problems) = (format!("pass@{}", pass.k), pass.problems.to_string());
            vec![k, interval(pass), problems, pass.left_out.to_string()]
        };
        let rows: Vec<_> = self.pass_at_k(k).iter().map(row).collect();
        terminal::table(&["", "estimate (95 % interval)", "problems", "left out"], &rows);
        terminal::line("");
        self.print_causes(total.failed);
        let row = |name: &str, show: fn(u64) -> String, values: &mut Vec<u64>| {
            [vec![name.to_owned()], percentiles(values).map(show).to_vec()].concat()
        };
        let rows = [
            row("fuel", millions, &mut self.fuel),
            row("time", |ms| format!("{ms} ms"), &mut self.wall),
        ];
        terminal::table(&["of a program", "p50", "p90", "p99"], &rows);
        terminal::line("");
        let seconds = terminal::duration(pace.elapsed.as_secs_f64());
        let rate = pace.rate();
        terminal::line(&format!("  graded {} in {seconds}: {rate:.1} programs/s", pace.graded));
    }

    fn print_causes(&self, failed: usize) {
        if failed == 0 {
            return;
        }
        let share = |count: usize| terminal::percent(count as f64 / failed as f64);
        let row =
            |(cause, count): (&str, usize)| vec![cause.to_owned(), count.to_string(), share(count)];
        let rows: Vec<_> = self.causes().into_iter().map(row).collect();
        terminal::table(&["failed by", "samples", "share"], &rows);
        terminal::line("");
    }

    /// As one JSON object.
    pub fn into_json(mut self, k: &[u32], pace: &Pace) -> Value {
        let total = self.total();
        let causes: serde_json::Map<String, Value> = self
            .causes()
            .into_iter()
            .map(|(cause, count)| (cause.to_owned(), count.into()))
            .collect();
        let spread = |values: &mut Vec<u64>| {
            let [p50, p90, p99] = percentiles(values);
            json!({"p50": p50, "p90": p90, "p99": p99})
        };
        json!({
            "problems": self.tallies.len(),
            "samples": total.passed + total.failed + total.void,
            "passed": total.passed,
            "failed": total.failed,
            "void": total.void,
            "pass_at_k": self.pass_at_k(k),
            "causes": causes,
            "fuel": spread(&mut self.fuel),
            "wall_ms": spread(&mut self.wall),
            "timing": {
                "graded": pace.graded,
                "seconds": pace.elapsed.as_secs_f64(),
                "programs_per_second": pace.rate(),
            },
        })
    }
}

fn interval(pass: &PassAtK) -> String {
    terminal::share(pass.value, (pass.low, pass.high))
}

fn millions(fuel: u64) -> String {
    format!("{:.1} M", fuel as f64 / 1e6)
}

/// The 50th, 90th and 99th, by nearest rank; zeros if there are no values.
fn percentiles(values: &mut [u64]) -> [u64; 3] {
    values.sort_unstable();
    let rank = |percent: usize| (values.len() * percent).div_ceil(100).saturating_sub(1);
    [50, 90, 99].map(|percent| values.get(rank(percent)).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occur() {
        assert_eq!(percentiles(&mut []), [0, 0, 0]);
        assert_eq!(percentiles(&mut [7]), [7, 7, 7]);
        let mut hundred: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(percentiles(&mut hundred), [50, 90, 99]);
    }

    #[test]
    fn k_grows_in_powers_of_two_as_far_as_all_graded_problems_have_samples() {
        let mut summary =
            GradeSummary::of(["a", "b", "never graded"].map(str::to_owned).into_iter());
        for (problem, count) in [("a", 5), ("b", 9)] {
            let tally = Tally { passed: 1, failed: count - 2, void: 1 };
            summary.tallies.insert(problem.to_owned(), tally);
        }
        let of = |asked: &[u32]| -> Vec<_> {
            summary.pass_at_k(asked).iter().map(|pass| (pass.k, pass.left_out)).collect()
        };
        assert_eq!(of(&[]), [(1, 1), (2, 1), (4, 1)]);
        assert_eq!(of(&[8, 100]), [(8, 2), (100, 3)]);
    }
}
