//! What happened: plain data, one struct per noun, without tensors and
//! without plugin types. Everything after the rollout is a function of this.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The author of a message of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// Standing instructions.
    System,
    /// The message to the role.
    User,
    /// An earlier answer of the role.
    Assistant,
    /// A tool's answer.
    Tool,
}

impl Author {
    /// The word chat templates use for the author.
    pub fn name(self) -> &'static str {
        match self {
            Author::System => "system",
            Author::User => "user",
            Author::Assistant => "assistant",
            Author::Tool => "tool",
        }
    }
}

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its author.
    pub author: Author,
    /// Its text.
    pub text: String,
}

/// A role's action on the environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// The role that acts.
    pub role: String,
    /// Which of the role's seats.
    #[serde(default, skip_serializing_if = "is_first")]
    pub instance: u32,
    /// A kind of action that the environment declares.
    pub kind: String,
    /// The action itself.
    pub text: String,
}

/// Whether an episode goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It goes on.
    Ongoing,
    /// The rules ended it and the task is solved.
    Solved,
    /// The rules ended it and the task can no longer be solved.
    Failed,
}

/// Why a completion ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The policy sampled an end-of-text token, which is the last of `tokens`;
    /// of a remote policy, the server says that the answer is finished.
    EndOfText,
    /// The answer reached one of the configured stop texts.
    Sequence,
    /// The limit on tokens was reached.
    Length,
}

/// One sampled answer.
///
/// Our own engine fills in everything. A remote policy's server always gives
/// the text and why it ended; the rest only if it can.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// Token ids as sampled, the end-of-text token included; never re-tokenized.
    /// From a remote policy: as the server gave them, or empty if it gave none.
    pub tokens: Vec<u32>,
    /// Natural log-probability of each token under the very distribution it
    /// was drawn from (after repetition penalty, temperature, top-k, top-p
    /// and min-p). From a remote policy: what the server calls the token's
    /// log-probability, often that before all of these; one for each token, or
    /// none.
    pub logprobs: Vec<f32>,
    /// The tokens as text, without special tokens. A remote server may leave
    /// out more, such as the reasoning before the answer.
    pub text: String,
    /// Why it ended.
    pub stop: StopReason,
    /// Positions of tokens that were inserted, not drawn: a thought's end, where the thought had
    /// used up its budget. The policy did not choose them, so nothing is learned from them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forced: Vec<usize>,
    /// Tokens that a server says it drew (`usage.completion_tokens`), where it does not give them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<usize>,
}

impl Completion {
    /// Tokens that were drawn for it, whether or not they are known.
    pub fn length(&self) -> usize {
        match self.tokens.len() {
            0 => self.usage.unwrap_or(0),
            known => known,
        }
    }

    /// Whether the token at this position was drawn, and so can be learned from.
    pub fn is_drawn(&self, place: usize) -> bool {
        !self.forced.contains(&place)
    }

    /// The number of its tokens that were drawn, not inserted.
    pub fn drawn(&self) -> usize {
        self.tokens.len() - self.forced.len()
    }
}

/// The reward of an answer, summed over the actions it led to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reward {
    /// The share of every role.
    pub team: f64,
    /// The share of the answering role alone.
    pub local: f64,
    /// Named shares of `team` and `local`, summed by name.
    pub parts: BTreeMap<String, f64>,
}

impl Reward {
    /// r = α·team + local (arXiv 2510.11062, section 3).
    pub fn total(&self, alpha: f64) -> f64 {
        alpha * self.team + self.local
    }

    /// Adds a named share to the answering role's local reward.
    pub fn credit(&mut self, name: &str, value: f64) {
        self.local += value;
        *self.parts.entry(name.to_owned()).or_default() += value;
    }

    /// The reward times a factor.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Reward {
        let parts = self.parts.iter().map(|(name, value)| (name.clone(), value * factor));
        Reward { team: self.team * factor, local: self.local * factor, parts: parts.collect() }
    }

    /// Adds the reward of another action.
    pub fn add(&mut self, other: &Reward) {
        self.team += other.team;
        self.local += other.local;
        for (name, value) in &other.parts {
            *self.parts.entry(name.clone()).or_default() += value;
        }
    }
}

/// One row of the sample table: a completion, where it was drawn and what it
/// was worth. Estimators are functions of a slice of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Index of the task within the step.
    pub task: usize,
    /// The kind of task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub family: String,
    /// Number of the task's episode that it belongs to: the first one, if several have it in
    /// common.
    pub episode: usize,
    /// How often the seat was asked before in the conversation.
    pub turn: usize,
    /// The role that answered.
    pub role: String,
    /// Which of the role's seats.
    #[serde(default, skip_serializing_if = "is_first")]
    pub instance: u32,
    /// The conversation it belongs to; empty for the main one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread: String,
    /// A word for situations that are alike, if the workflow gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub situation: Option<String>,
    /// What only a critic may see of the state, where a critic reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Index of the answer that the episode continued from before this round: after a fork,
    /// perhaps one of another episode. None in the first round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// Index of the answer that called for this one, if the workflow named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<usize>,
    /// Number of the episode's round. The answers of a round were asked for together and share
    /// its team reward.
    #[serde(default)]
    pub round: usize,
    /// The policy that played the seat.
    pub policy: String,
    /// Number among the state's completions, `0..K`.
    pub branch: usize,
    /// Whether the episode continued from this completion.
    pub kept: bool,
    /// Digest of (environment state, session state) the prompt was made from.
    pub state: u64,
    /// The prompt's token ids, shared by the completions of one state.
    #[serde(with = "shared_tokens")]
    pub prompt: Arc<[u32]>,
    /// The answer.
    pub completion: Completion,
    /// Its reward.
    pub reward: Reward,
    /// Whether all actions of its seat that it led to were carried out in full.
    pub accepted: bool,
}

/// How an episode ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The rules ended it: the task is solved.
    Solved,
    /// The rules ended it: the task can no longer be solved.
    Failed,
    /// The workflow finished while the rules would have let it go on.
    Finished,
    /// A limit ended it.
    Truncated,
    /// A plugin failed, or an answer is missing; the episode counts for
    /// nothing. The cause is a short word such as `out_of_fuel`, the message
    /// says whose fault it was.
    Void {
        /// The kind of failure, for counting.
        cause: String,
        /// The failure in a sentence.
        message: String,
    },
}

impl Ending {
    /// Its name in metrics.
    pub fn word(&self) -> &'static str {
        match self {
            Ending::Solved => "solved",
            Ending::Failed => "failed",
            Ending::Finished => "finished",
            Ending::Truncated => "truncated",
            Ending::Void { .. } => "void",
        }
    }
}

/// One thing that happened in an episode, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// An observation, at the start or after an action.
    Observed {
        /// The observation.
        text: String,
    },
    /// A role answered. Of a group's completions, the kept one.
    Replied {
        /// The role.
        role: String,
        /// Which of its seats.
        #[serde(default, skip_serializing_if = "is_first")]
        instance: u32,
        /// The conversation; empty for the main one.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        thread: String,
        /// Its turn in it.
        turn: usize,
        /// Its prompt.
        prompt: Vec<Message>,
        /// The tools that the prompt named, as JSON schemas.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tools: Vec<serde_json::Value>,
        /// Its answer.
        text: String,
        /// Whether the limit of tokens cut it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
        /// Whether some of it was put there and not drawn: a thought's end.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        forced: bool,
    },
    /// The environment carried out an action.
    Acted {
        /// The action.
        action: Action,
        /// Whether it was carried out in full.
        accepted: bool,
        /// The environment's feedback.
        feedback: String,
        /// Its reward.
        reward: Reward,
        /// The episode's status afterwards.
        status: Status,
    },
    /// A tool was called for a role.
    Called {
        /// The role it was called for.
        role: String,
        /// The tool.
        tool: String,
        /// Its arguments: a JSON object.
        arguments: String,
        /// Whether it did what was asked.
        succeeded: bool,
        /// Its answer: a JSON object.
        answer: String,
    },
    /// The workflow said what an answer had been worth.
    Credited {
        /// The answer's number in the episode.
        answer: u32,
        /// The name of the award.
        name: String,
        /// Its value.
        value: f64,
    },
    /// A plugin wrote to its log, for debugging.
    Logged {
        /// The plugin.
        plugin: String,
        /// Its level: `debug`, `info` or `warning`.
        level: String,
        /// The line, perhaps cut.
        text: String,
    },
}

impl Event {
    /// Bytes of all its texts.
    pub fn text_bytes(&self) -> usize {
        match self {
            Event::Observed { text } => text.len(),
            Event::Replied { prompt, tools, text, .. } => {
                let messages = prompt.iter().map(|message| message.text.len()).sum::<usize>();
                let schemas = tools.iter().map(|tool| tool.to_string().len()).sum::<usize>();
                text.len() + messages + schemas
            }
            Event::Acted { action, feedback, .. } => action.text.len() + feedback.len(),
            Event::Called { arguments, answer, .. } => arguments.len() + answer.len(),
            Event::Credited { name, .. } => name.len(),
            Event::Logged { text, .. } => text.len(),
        }
    }
}

/// A run of a task with all roles. In a tree, the kept branches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Index of the task within the step.
    pub task: usize,
    /// The kind of task.
    #[serde(default)]
    pub family: String,
    /// The split the task is from: `train`, `validation` or `test`.
    pub split: String,
    /// The task's seed.
    pub seed: u32,
    /// Number of the episode among the task's.
    pub episode: usize,
    /// Its events, in order.
    pub events: Vec<Event>,
    /// How it ended.
    pub ending: Ending,
}

impl Episode {
    /// Whether the task was solved.
    pub fn solved(&self) -> bool {
        self.ending == Ending::Solved
    }

    /// Its acts: actions that nothing happened between were carried out at once, and each of them
    /// carries what all of them earned the team.
    pub fn acts(&self) -> impl Iterator<Item = &[Event]> {
        let is_act = |event: &Event| matches!(event, Event::Acted { .. });
        let runs = self.events.chunk_by(move |before, after| is_act(before) && is_act(after));
        runs.filter(move |run| run.first().is_some_and(is_act))
    }

    /// Whether a plugin failed in it.
    pub fn is_void(&self) -> bool {
        matches!(self.ending, Ending::Void { .. })
    }
}

/// Whether it is a role's first seat, which most roles have no other beside.
pub fn is_first(instance: &u32) -> bool {
    *instance == 0
}

mod shared_tokens {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(tokens: &Arc<[u32]>, to: S) -> Result<S::Ok, S::Error> {
        tokens.as_ref().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<[u32]>, D::Error> {
        Ok(Vec::<u32>::deserialize(from)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_weighs_the_team_reward_only() {
        let reward = Reward { team: 2.0, local: -0.5, parts: BTreeMap::new() };
        assert_eq!(reward.total(1.0), 1.5);
        assert_eq!(reward.total(0.0), -0.5);
    }

    #[test]
    fn rewards_of_several_actions_add_up_by_part() {
        let part = |value| BTreeMap::from([("progress".to_owned(), value)]);
        let mut sum = Reward { team: 1.0, local: 0.0, parts: part(1.0) };
        sum.add(&Reward { team: 0.5, local: -0.1, parts: part(0.5) });
        assert_eq!(sum, Reward { team: 1.5, local: -0.1, parts: part(1.5) });
    }
}
