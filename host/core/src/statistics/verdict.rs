//! Verdicts on claims, corrected for testing several at a time.

use serde::{Deserialize, Serialize};

use super::Estimate;

/// What is said of a claim is wrong in at most so many of the families of claims that have none
/// which holds.
const LEVEL: f64 = 0.05;

/// The verdict on the claim that a difference is above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The difference is above 0.
    Shown,
    /// The difference may be 0, or is unknown.
    NotShown,
    /// The difference is below 0.
    Opposite,
    /// The difference is smaller than the margin, and may be 0.
    Equivalent,
    /// No verdict yet: a seed failed or has not finished.
    Withheld,
}

impl Verdict {
    /// For a difference, by the corrected chances that there is none and that it exceeds the
    /// margin.
    pub fn of(difference: &Estimate, none: Option<f64>, outside: Option<f64>) -> Self {
        let is_low = |chance: Option<f64>| chance.is_some_and(|chance| chance < LEVEL);
        match (is_low(none), difference.mean > 0.0) {
            (true, true) => Verdict::Shown,
            (true, false) => Verdict::Opposite,
            (false, _) if is_low(outside) => Verdict::Equivalent,
            (false, _) => Verdict::NotShown,
        }
    }

    /// The printed words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Shown => "shown",
            Verdict::NotShown => "not shown",
            Verdict::Opposite => "the opposite",
            Verdict::Equivalent => "equivalent",
            Verdict::Withheld => "no verdict",
        }
    }
}

/// The p-values of several claims, each corrected for the number of claims (Holm, Scand. J. Stat.
/// 6, 1979). A claim without data counts among them too: it was made.
pub fn holm(chances: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<usize> = (0..chances.len()).filter(|&at| chances[at].is_some()).collect();
    order.sort_by(|&left, &right| {
        chances[left].partial_cmp(&chances[right]).unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut corrected = vec![None; chances.len()];
    let mut highest: f64 = 0.0;
    for (rank, place) in order.into_iter().enumerate() {
        let chance = chances[place].unwrap_or(1.0);
        highest = highest.max((chances.len() - rank) as f64 * chance).min(1.0);
        corrected[place] = Some(highest);
    }
    corrected
}
