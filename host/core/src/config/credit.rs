//! `advantage.then`: what becomes of advantages before the update, step by step.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::table::Kind;

/// The steps as they are written, with what each does.
const STEPS: &str = "`\"inherit\"`: An answer that was called for takes the advantage of the \
                     one that called (MATPO, arXiv 2510.04678). `\"align\"`: So many called \
                     conversations of an episode count as `threads` says: surplus ones are left \
                     out, missing ones made up for by counting others twice (M-GRPO, arXiv \
                     2511.13288, section 4.3). `\"task-normalize\"`: The advantages of every \
                     family get mean 0 and spread 1 over its tokens (AgentRL, arXiv 2510.04206, \
                     equation 1). `\"whiten\"`: The same over the answers of every policy. \
                     `\"episode-mean\"`: All that a seat said in an episode counts as much, \
                     however many tokens that are. \
                     `\"state-mean\"`: All answers to a state count as much, however many there \
                     are; comes by itself with `branches = \"adaptive\"`. \
                     `\"mask:truncated\"`: Answers that the limit cut off count for nothing \
                     (DAPO, arXiv 2503.14476, section 3.4). `\"mask:role=<role>\"`: Those of a \
                     role do so. `\"judge:<policy>\"`: What a critic finds of the answers, \
                     in the place of what they were worth.";

/// One step from advantages to what the update takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreditStep {
    /// What was called for takes the advantage of what called.
    Inherit,
    /// As many conversations of every episode count.
    Align,
    /// Every family's advantages have mean 0 and spread 1.
    TaskNormalize,
    /// Every policy's advantages do.
    Whiten,
    /// Every seat of every episode counts as much.
    EpisodeMean,
    /// Every state counts as much, however many answers it was given.
    StateMean,
    /// Truncated answers count for nothing.
    MaskTruncated,
    /// A role's answers count for nothing.
    MaskRole(String),
    /// A critic's verdicts take the place of advantages.
    Judge(String),
}

impl CreditStep {
    /// Whether a critic is asked for it.
    pub fn is_judged(&self) -> bool {
        matches!(self, CreditStep::Judge(_))
    }
}

impl fmt::Display for CreditStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CreditStep::Inherit => f.write_str("inherit"),
            CreditStep::Align => f.write_str("align"),
            CreditStep::TaskNormalize => f.write_str("task-normalize"),
            CreditStep::Whiten => f.write_str("whiten"),
            CreditStep::EpisodeMean => f.write_str("episode-mean"),
            CreditStep::StateMean => f.write_str("state-mean"),
            CreditStep::MaskTruncated => f.write_str("mask:truncated"),
            CreditStep::MaskRole(role) => write!(f, "mask:role={role}"),
            CreditStep::Judge(policy) => write!(f, "judge:{policy}"),
        }
    }
}

impl FromStr for CreditStep {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let plain = [
            CreditStep::Inherit,
            CreditStep::Align,
            CreditStep::TaskNormalize,
            CreditStep::Whiten,
            CreditStep::EpisodeMean,
            CreditStep::StateMean,
            CreditStep::MaskTruncated,
        ];
        let behind = |prefix| word.strip_prefix(prefix).filter(|name: &&str| !name.is_empty());
        let role = behind("mask:role=").map(|role| CreditStep::MaskRole(role.to_owned()));
        let judge = behind("judge:").map(|policy| CreditStep::Judge(policy.to_owned()));
        let step = plain.into_iter().find(|step| step.to_string() == word).or(role).or(judge);
        step.ok_or_else(|| format!("`{word}` is no step"))
    }
}

impl Serialize for CreditStep {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CreditStep {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Kind for CreditStep {
    fn accepts() -> String {
        "\"inherit\", \"align\", \"task-normalize\", \"whiten\", \"episode-mean\", \
         \"state-mean\", \"mask:truncated\", \"mask:role=<role>\" or \"judge:<policy>\""
            .to_owned()
    }

    fn choices() -> String {
        format!(" {STEPS}")
    }
}
