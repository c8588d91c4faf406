//! What an environment says that it pays, and what it pays.
//!
//! It says so by [`Configuration::awards`], or in words that can be read: "the
//! reward is between 0 and 1", "pays at most 2", "solving it is worth 1".

use super::{Examination, ROUNDING};
use crate::environment::{Configuration, Description};
use crate::testing::report::{Checked, Objection, Seen, fail, skip};
use crate::testing::walk::Walk;
use crate::types::Seat;

/// Words for what is paid, and for a solution.
const PAY: [&str; 10] =
    ["reward", "award", "worth", "earn", "pays", "paid", "score", "scoring", "points", "payoff"];
const SOLUTION: [&str; 5] = ["solv", "solution", "success", "goal", "win"];
/// What stands before the one number of what a solution pays.
const IS_PAID: [&str; 7] =
    ["worth ", "earns ", "pays ", "reward of ", "award of ", "gives ", "reward is "];

/// What is said to be paid.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Claim {
    /// To a seat, at every moment, all in all.
    low: Option<f64>,
    high: Option<f64>,
    /// As a single award.
    largest: Option<f64>,
}

/// No seat earns more or less than is claimed.
pub fn check(examination: &Examination) -> Checked {
    let claim = claim_of(examination)?;
    if claim == Claim::default() {
        return Ok("it claims no bounds of what it pays".to_owned());
    }
    let mut walks = 0;
    for walk in examination.pace.of(examination.all_walks()) {
        keeps(examination, claim, walk)?;
        walks += 1;
    }
    let Claim { low, high, largest } = claim;
    let bound = |bound: Option<f64>| bound.map_or("any".to_owned(), |value| value.to_string());
    Ok(match largest {
        Some(largest) => {
            format!("no award in {walks} episodes is more than {largest}, as it claims")
        }
        None => format!("{walks} episodes pay what it claims, {} to {}", bound(low), bound(high)),
    })
}

/// The walk pays nothing beyond what is claimed.
pub fn is_claimed(examination: &Examination, walk: &Walk) -> Result<(), Objection> {
    keeps(examination, claim_of(examination)?, walk)
}

fn claim_of(examination: &Examination) -> Result<Claim, Objection> {
    if let Some((low, high)) = examination.configuration.claimed_awards() {
        return Ok(Claim { low: Some(low), high: Some(high), largest: None });
    }
    let Description { summary, actions, .. } = &examination.description;
    let Some(task) = examination.tasks.first() else { return skip("there is no task") };
    let mut episode = examination.team.environment.start(task)?;
    let rules = episode.rules(&examination.team.seats[0])?;
    let texts = actions.iter().map(|kind| kind.summary.as_str()).chain([summary, rules.as_str()]);
    Ok(texts.map(read).fold(Claim::default(), |one, other| Claim {
        low: one.low.or(other.low),
        high: one.high.or(other.high),
        largest: one.largest.or(other.largest),
    }))
}

fn keeps(examination: &Examination, claim: Claim, walk: &Walk) -> Result<(), Objection> {
    let Claim { low, high, largest } = claim;
    let awards = |index: usize| walk.steps[index].outcome.awards.iter().map(|award| award.value);
    let too_large = |index: &usize| {
        largest.is_some_and(|largest| awards(*index).any(|value| value > largest + ROUNDING))
    };
    if let Some(index) = (0..walk.steps.len()).find(too_large) {
        let value = awards(index).fold(f64::NEG_INFINITY, f64::max);
        let claimed = largest.unwrap_or_default();
        return fail(format!("an award is {value}, in {}; it claims {claimed}", walk.place()))
            .seen(|| walk.reproducer_to(index + 1));
    }
    for seat in walk.seats() {
        let earned = walk.earnings(&seat, &examination.contests);
        let outside = |index: &usize| {
            let value = earned[*index];
            low.is_some_and(|low| value < low - ROUNDING)
                || high.is_some_and(|high| value > high + ROUNDING)
        };
        let turns = (1..earned.len()).filter(|index| {
            turns_of(walk, &seat, *index) <= examination.configuration.max_turns as usize
        });
        if let Some(index) = turns.into_iter().find(outside) {
            let (value, place) = (earned[index], walk.place());
            let bound = |bound: Option<f64>| bound.map_or("any".to_owned(), |b| b.to_string());
            return fail(format!(
                "{seat} has earned {value:.3} in {place}; it claims {} to {}",
                bound(low),
                bound(high)
            ))
            .seen(|| walk.reproducer_to(index));
        }
    }
    Ok(())
}

/// Turns of the seat that has most of them, or of this one.
fn turns_of(walk: &Walk, seat: &Seat, steps: usize) -> usize {
    let taken = walk.steps.iter().take(steps);
    let own = taken.clone().filter(|step| step.deed.by(seat).is_some()).count();
    if own > 0 { own } else { steps }
}

impl Configuration {
    /// The bounds that are claimed by [`Configuration::awards`].
    fn claimed_awards(&self) -> Option<(f64, f64)> {
        let said = self.extras.iter().find(|extra| extra.key == crate::environment::AWARDS)?;
        let mut numbers = said.value.split_whitespace().map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    }
}

/// What a text claims, as far as it can be read.
fn read(text: &str) -> Claim {
    let text = text.to_lowercase().replace('\u{2212}', "-");
    let sentences = text.split(". ").flat_map(|sentence| sentence.split(['\n', ';']));
    let of_pay = sentences.filter(|sentence| PAY.iter().any(|word| sentence.contains(word)));
    of_pay.map(read_sentence).find(|claim| *claim != Claim::default()).unwrap_or_default()
}

fn read_sentence(sentence: &str) -> Claim {
    let after = |words: &str| sentence.split_once(words).map(|(_, rest)| rest);
    let between = |start: &str, middle: &str| {
        let (low, rest) = number(after(start)?)?;
        let (high, _) = number(rest.trim_start().strip_prefix(middle)?)?;
        (low < high).then_some(Claim { low: Some(low), high: Some(high), largest: None })
    };
    let at_most = || {
        let words = ["at most ", "no more than ", "never more than ", "up to "];
        let (high, _) = words.iter().find_map(|words| number(after(words)?))?;
        Some(Claim { high: Some(high), ..Claim::default() })
    };
    let solution = || {
        SOLUTION.iter().find(|word| sentence.contains(**word))?;
        let (largest, _) = IS_PAID.iter().find_map(|words| number(after(words)?))?;
        Some(Claim { largest: Some(largest), ..Claim::default() })
    };
    // "+1 for solving it"
    let for_solution = || {
        let (before, after) = sentence.split_once(" for ")?;
        let after = ["a ", "the ", "every ", "each "]
            .iter()
            .find_map(|article| after.strip_prefix(article))
            .unwrap_or(after);
        SOLUTION.iter().find(|word| after.starts_with(**word))?;
        let (largest, rest) = number(before.split_whitespace().last()?)?;
        rest.is_empty().then_some(Claim { largest: Some(largest), ..Claim::default() })
    };
    let never_negative = || {
        let words = ["never negative", "never below 0", "non-negative", "nonnegative"];
        let said = words.iter().any(|words| sentence.contains(words));
        said.then_some(Claim { low: Some(0.0), ..Claim::default() })
    };
    between("between ", "and ")
        .or_else(|| between("from ", "to "))
        .or_else(|| between("[", ","))
        .or_else(at_most)
        .or_else(never_negative)
        .or_else(solution)
        .or_else(for_solution)
        .unwrap_or_default()
}

/// The number that a text begins with, and the rest.
fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start().trim_start_matches(['`', '+']);
    let end = text
        .char_indices()
        .find(|&(at, letter)| {
            let belongs = letter.is_ascii_digit()
                || (letter == '-' && at == 0)
                || (letter == '.'
                    && text[at + 1..].starts_with(|next: char| next.is_ascii_digit()));
            !belongs
        })
        .map_or(text.len(), |(at, _)| at);
    let rest = text[end..].trim_start_matches('`');
    // A share is no bound.
    let whole = !rest.trim_start().starts_with(['%', '/']);
    text[..end].parse().ok().filter(|_| whole).map(|value| (value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_read_from_plain_sentences_and_nothing_from_others() {
        let bounds = |text: &str| {
            let Claim { low, high, largest } = read(text);
            (low, high, largest)
        };
        for text in [
            "Push boxes. Rewards lie between 0 and 1.5.",
            "Rewards range from 0 to 1.5",
            "The score is in [0, 1.5].",
        ] {
            assert_eq!(bounds(text), (Some(0.0), Some(1.5), None), "{text}");
        }
        assert_eq!(bounds("An episode pays at most `2`."), (None, Some(2.0), None));
        assert_eq!(bounds("Solving it is worth 1; a wall costs 0.1."), (None, None, Some(1.0)));
        assert_eq!(bounds("Rewards: +1 for solving it."), (None, None, Some(1.0)));
        assert_eq!(bounds("Numbers are between 1 and 9."), (None, None, None));
        assert_eq!(bounds("The reward is never negative."), (Some(0.0), None, None));
        assert_eq!(bounds("Fill in the numbers from 1 to 9."), (None, None, None));
    }
}
