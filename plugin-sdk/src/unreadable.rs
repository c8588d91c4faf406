//! Answers that cannot be read: what was wrong with them, and how near they came.

use crate::environment::{Award, Outcome, Recipient};

/// The name of the award of what could not be read, whatever was charged for it:
/// by it, metrics tell what is wrongly written from what is badly played.
pub const UNREADABLE: &str = "unreadable";
/// How much more of its charge an answer costs that is entirely unknown.
const GRADE: f64 = 0.25;
/// Words of an answer that are looked at.
const WORDS: usize = 64;

/// Why an answer cannot be read, and the share of it that the notation knows.
///
/// ```
/// use plugin_sdk::unreadable::Unreadable;
///
/// let read = |text: &str| {
///     let knows = |word: &str| ["up", "down"].contains(&word);
///     Unreadable::new("This is not a way.").among(text.split(' '), knows)
/// };
/// // What is nearly right costs least, and never less than what it is charged.
/// let charges = ["down up oops up", "go down", "I see"].map(|text| read(text).charge(-1.0));
/// assert_eq!(charges, [-1.0625, -1.125, -1.25]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Unreadable {
    why: String,
    known: f64,
}

impl Unreadable {
    /// The notation knows nothing of it.
    pub fn new(why: impl Into<String>) -> Self {
        Unreadable { why: why.into(), known: 0.0 }
    }

    /// All of it is known, but it cannot be an action: there is too much of it, say.
    pub fn well_written(why: impl Into<String>) -> Self {
        Unreadable { why: why.into(), known: 1.0 }
    }

    /// So many of so many words are known.
    #[must_use]
    pub fn knowing(self, known: usize, of: usize) -> Self {
        Unreadable { known: known.min(of) as f64 / of.max(1) as f64, ..self }
    }

    /// Those of its first words are known that `knows` says so of.
    #[must_use]
    pub fn among<'w>(
        self,
        words: impl Iterator<Item = &'w str>,
        knows: impl Fn(&str) -> bool,
    ) -> Self {
        let words = words.filter(|word| !word.is_empty()).take(WORDS);
        let (known, of) =
            words.fold((0, 0), |(known, of), word| (known + usize::from(knows(word)), of + 1));
        self.knowing(known, of)
    }

    /// The same, but this is what was wrong.
    #[must_use]
    pub fn saying(self, why: impl FnOnce(String) -> String) -> Self {
        Unreadable { why: why(self.why), ..self }
    }

    /// What was wrong.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// What it costs, where something that is written well would cost this much.
    /// So a policy that can write nothing yet finds out in which direction to go,
    /// and nothing is earned by form alone.
    pub fn charge(&self, least: f64) -> f64 {
        least * (1.0 + GRADE * (1.0 - self.known))
    }
}

impl From<String> for Unreadable {
    fn from(why: String) -> Self {
        Unreadable::new(why)
    }
}

impl From<&str> for Unreadable {
    fn from(why: &str) -> Self {
        Unreadable::new(why)
    }
}

impl Outcome {
    /// The action could not be read. The actor is charged this much, and more the
    /// less of it is known; an award `unreadable` says so even where the charge is 0.
    pub fn unreadable(what: impl Into<Unreadable>, charge: f64) -> Self {
        let what = what.into();
        // -0.0 would look odd in a log.
        let value = if charge == 0.0 { 0.0 } else { what.charge(charge) };
        let award = Award { to: Recipient::Mover(0), name: UNREADABLE.to_owned(), value };
        let mut outcome = Outcome::rejected(what.why);
        outcome.awards.push(award);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unreadable_is_named_also_where_it_costs_nothing() {
        for (charge, value) in [(0.0, 0.0), (-0.4, -0.5)] {
            let outcome = Outcome::unreadable("Why?", charge);
            assert_eq!((outcome.is_accepted(), outcome.told()), (false, "Why?"));
            let awards: Vec<(&str, f64)> =
                outcome.awards.iter().map(|award| (award.name.as_str(), award.value)).collect();
            assert_eq!(awards, [("unreadable", value)]);
        }
    }

    #[test]
    fn a_better_written_answer_costs_less_and_never_less_than_a_well_written_one() {
        let charges = (0..=4).map(|known| Unreadable::new("").knowing(known, 4).charge(-0.3));
        let charges: Vec<f64> = charges.collect();
        assert!(charges.is_sorted() && charges.iter().all(|&charge| charge <= -0.3));
        assert_eq!(charges[4], Unreadable::well_written("").charge(-0.3));
        assert_eq!(Unreadable::new("").knowing(0, 0), Unreadable::new(""));
    }
}
