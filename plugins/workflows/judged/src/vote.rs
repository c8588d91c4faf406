//! What a judge says of an act.

use plugin_sdk::Random;
use plugin_sdk::workflow::Reply;
use serde::{Deserialize, Serialize};

/// One judge's vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Vote {
    Good,
    Bad,
    /// Neither word was said.
    Unreadable,
}

impl Vote {
    /// Every word there is.
    pub const WORDS: [&str; 2] = ["good", "bad"];

    /// The last word that is one; without one, or of an answer that was cut, nothing.
    pub fn of(reply: &Reply) -> Vote {
        let words = reply.answer().split(|letter: char| !letter.is_alphanumeric());
        let vote = |word: &str| {
            let is = |vote: &Vote| vote.word().is_some_and(|own| own.eq_ignore_ascii_case(word));
            [Vote::Good, Vote::Bad].into_iter().find(is)
        };
        words.rev().find_map(vote).unwrap_or(Vote::Unreadable)
    }

    /// One that is drawn.
    pub fn drawn(random: &mut Random) -> Vote {
        if random.below(2) == 0 { Vote::Good } else { Vote::Bad }
    }

    /// The word for it.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Vote::Good => Some(Vote::WORDS[0]),
            Vote::Bad => Some(Vote::WORDS[1]),
            Vote::Unreadable => None,
        }
    }

    /// What it counts.
    pub fn value(self) -> f64 {
        match self {
            Vote::Good => 1.0,
            Vote::Bad => -1.0,
            Vote::Unreadable => 0.0,
        }
    }
}

/// What votes come to on average; those that count nothing are votes, too.
pub fn mean(votes: &[Vote]) -> f64 {
    votes.iter().map(|vote| vote.value()).sum::<f64>() / votes.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use plugin_sdk::Seat;

    #[test]
    fn the_last_word_that_is_a_vote_counts() {
        let read = |text: &str, complete: bool| {
            let (seat, thread, text) = (Seat::new("judge"), String::new(), text.to_owned());
            Vote::of(&Reply { seat, answer: 0, thread, text, complete })
        };
        for text in ["good", "bad or good", "Not bad.\n**Good.**", "<think>bad</think>good it is"] {
            assert_eq!(read(text, true), Vote::Good, "{text}");
        }
        for text in ["bad", "good? No, BAD", "Verdict: bad\n\nThat is all."] {
            assert_eq!(read(text, true), Vote::Bad, "{text}");
        }
        for text in ["", "goods and badly", "<think>good"] {
            assert_eq!(read(text, true), Vote::Unreadable, "{text}");
        }
        assert_eq!(read("good", false), Vote::Unreadable, "it was cut");
    }
}
