//! What an act changed in truth, as far as the environment reveals it to critics.

use serde::{Deserialize, Serialize};

use crate::vote::Vote;

/// Whether less or more is left to be done than before: what is revealed, such as the
/// moves of a shortest way, has fewer or more words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    Nearer,
    Farther,
    Same,
}

impl Change {
    /// Nothing where nothing is revealed. Of a task that is solved nothing is left, whatever
    /// is revealed of it.
    pub fn between(before: Option<&str>, after: Option<&str>, solved: bool) -> Option<Change> {
        let words = |text: &str| text.split_whitespace().count();
        let before = words(before?);
        let after = if solved { 0 } else { words(after?) };
        Some(match after.cmp(&before) {
            std::cmp::Ordering::Less => Change::Nearer,
            std::cmp::Ordering::Greater => Change::Farther,
            std::cmp::Ordering::Equal => Change::Same,
        })
    }

    /// Its name as a situation.
    pub fn word(self) -> &'static str {
        match self {
            Change::Nearer => "nearer",
            Change::Farther => "farther",
            Change::Same => "same",
        }
    }

    /// What a vote that knows it counts.
    pub fn value(self) -> f64 {
        match self {
            Change::Nearer => Vote::Good.value(),
            Change::Farther => Vote::Bad.value(),
            Change::Same => 0.0,
        }
    }

    /// What a judge that knows it says. An act that changed nothing has cost a turn.
    pub fn vote(self) -> Vote {
        match self {
            Change::Nearer => Vote::Good,
            Change::Farther | Change::Same => Vote::Bad,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_words_are_nearer_and_what_is_solved_is_nearest() {
        let ongoing = |before, after| Change::between(before, after, false);
        assert_eq!(ongoing(Some("D D R"), Some("D R")), Some(Change::Nearer));
        assert_eq!(ongoing(Some("D D"), Some("D  R D")), Some(Change::Farther));
        assert_eq!(ongoing(Some("D D"), Some("R D")), Some(Change::Same));
        assert_eq!(ongoing(Some("D"), None), None, "a dead end, perhaps");
        assert_eq!(ongoing(None, Some("D")), None);
        assert_eq!(Change::between(Some("D"), None, true), Some(Change::Nearer));
        assert_eq!(Change::between(Some("7"), Some("7"), true), Some(Change::Nearer));
        assert_eq!(Change::between(None, None, true), None);
    }
}
