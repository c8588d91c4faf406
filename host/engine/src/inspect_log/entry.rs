//! An episode as a sample.

use serde_json::{Map, Value, json};

use super::results::{ROLES, SOLVED, TEAM};
use super::transcript::transcript;
use super::usage::{by_policy, by_role};
use super::{Log, spec};
use troupe_core::trajectory::{Ending, Episode, Event, Reward, Sample};
use troupe_training::metrics::Outcome;

/// Letters of what a task is shown as in a list.
const SHOWN: usize = 1000;

/// What a list of samples is made of.
const LISTED: [&str; 14] = [
    "id",
    "epoch",
    "input",
    "target",
    "metadata",
    "scores",
    "model_usage",
    "role_usage",
    "uuid",
    "error",
    "limit",
    "turn_count",
    "message_count",
    "completed",
];

/// An episode, what became of it, and its answers.
pub(super) struct Entry<'a> {
    pub(super) episode: &'a Episode,
    pub(super) outcome: &'a Outcome,
    /// None of a void episode.
    pub(super) answers: Vec<&'a Sample>,
}

/// A limit that ended an episode.
pub(super) struct Limit {
    pub(super) kind: &'static str,
    pub(super) value: usize,
    pub(super) reason: String,
}

impl Entry<'_> {
    /// What a role earned on its own, rounded as it is shown.
    pub(super) fn reward_of(&self, role: &str) -> f64 {
        rounded(self.earned_by(role).local)
    }

    /// Whether a role has a part in it.
    pub(super) fn has(&self, log: &Log, role: &str) -> bool {
        let own = log.examined.families.iter().find(|it| it.family == self.episode.family);
        own.is_some_and(|played| played.max_turns.contains_key(role))
    }

    /// What the team earned, rounded as it is shown.
    pub(super) fn team_reward(&self) -> f64 {
        rounded(self.outcome.reward)
    }

    fn earned_by(&self, role: &str) -> Reward {
        let mut earned = Reward::default();
        let own = self.answers.iter().filter(|answer| answer.role == role);
        own.for_each(|answer| earned.add(&answer.reward));
        earned
    }

    /// The sample.
    pub(super) fn sample(&self, log: &Log) -> Value {
        let Entry { episode, outcome, answers } = self;
        let id = log.id(episode);
        let uuid = spec::name(log, &format!("{id} {}", episode.episode));
        let scores = self.scores(log);
        let transcript = transcript(log, self, &uuid, &scores);
        let messages = transcript.conversation.into_messages();
        let mut sample = json!({
            "id": id,
            "epoch": episode.episode + 1,
            "input": first_sight(episode),
            "target": "",
            "messages": messages,
            "output": transcript.output,
            "scores": scores,
            "metadata": self.metadata(),
            "events": transcript.events,
            "model_usage": by_policy(answers.iter().copied()),
            "role_usage": by_role(answers.iter().copied()),
            "uuid": uuid,
            "turn_count": outcome.turns,
        });
        if let Some(error) = self.error() {
            sample["error"] = error;
        }
        if let Some(Limit { kind, value, reason }) = self.limit(log) {
            sample["limit"] = json!({ "type": kind, "limit": value, "reason": reason });
        }
        sample
    }

    /// What a void episode failed by.
    pub(super) fn error(&self) -> Option<Value> {
        let Ending::Void { cause, message } = &self.episode.ending else { return None };
        let message = format!("{cause}: {message}");
        Some(json!({ "message": message, "traceback": message, "traceback_ansi": message }))
    }

    /// What a truncated episode was ended by.
    pub(super) fn limit(&self, log: &Log) -> Option<Limit> {
        let Entry { episode, outcome, .. } = self;
        if episode.ending != Ending::Truncated {
            return None;
        }
        let played = log.examined.families.iter().find(|it| it.family == episode.family)?;
        let last_turn = |event: &Event| match event {
            Event::Replied { role, turn, .. } => {
                let most = *played.max_turns.get(role)?;
                (turn + 1 >= most).then_some((role.clone(), most))
            }
            _ => None,
        };
        Some(match episode.events.iter().find_map(last_turn) {
            Some((role, value)) => Limit {
                kind: "turn",
                value,
                reason: format!("`{role}` has had its {value} turns (rollout.max_turns)"),
            },
            None => Limit {
                kind: "custom",
                value: outcome.turns,
                reason: "a prompt outgrew its policy, or the environment's server cut the episode \
                         off"
                .to_owned(),
            },
        })
    }

    /// Whether the task was solved, and what was earned; a void episode has earned nothing, and
    /// its task counts as not solved.
    fn scores(&self, log: &Log) -> Value {
        let Entry { episode, outcome, .. } = self;
        let solved = if outcome.solved { "C" } else { "I" };
        let why = match (&episode.ending, self.limit(log)) {
            (Ending::Void { .. }, _) => "void, which counts as not solved".to_owned(),
            (ending, Some(limit)) => format!("{}: {}", ending.word(), limit.reason),
            (ending, None) => ending.word().to_owned(),
        };
        let mut scores = json!({ SOLVED: { "value": solved, "explanation": why } });
        if let Some(last) = &outcome.last {
            scores[SOLVED]["answer"] = last.as_str().into();
        }
        if !episode.is_void() {
            let why = "what acts earned all roles";
            scores[TEAM] = json!({ "value": self.team_reward(), "explanation": why });
            scores[ROLES] = self.role_rewards(log);
        }
        scores
    }

    /// What each role earned on its own, and what it was told of its rewards and the team's.
    fn role_rewards(&self, log: &Log) -> Value {
        let (mut own, mut parts) = (Map::new(), Vec::new());
        for (role, _) in log.examined.players.iter().filter(|(role, _)| self.has(log, role)) {
            own.insert(role.clone(), self.reward_of(role).into());
            parts.push(format!("{role}: {}", shown(&self.earned_by(role))));
        }
        json!({ "value": own, "explanation": parts.join("\n") })
    }

    fn metadata(&self) -> Value {
        let Entry { episode, outcome, .. } = self;
        json!({
            "family": episode.family,
            "split": episode.split,
            "task": episode.seed,
            "ending": episode.ending.word(),
            "acts": outcome.acts,
        })
    }
}

/// Without what sums of binary fractions leave behind.
fn rounded(reward: f64) -> f64 {
    (reward * 1e6).round() / 1e6
}

/// `illegal -0.10, plan +0.67`.
pub(super) fn shown(reward: &Reward) -> String {
    let parts = reward.parts.iter().map(|(name, value)| format!("{name} {value:+.2}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// What the environment showed first.
fn first_sight(episode: &Episode) -> &str {
    let seen = |event: &Event| matches!(event, Event::Observed { .. });
    match episode.events.iter().find(|event| seen(event)) {
        Some(Event::Observed { text }) => text,
        _ => "",
    }
}

/// A sample's line in a list.
pub(super) fn summary(sample: &Value) -> Value {
    let value = |name: &str| match (name, &sample[name]) {
        ("input", Value::String(text)) => text.chars().take(SHOWN).collect::<String>().into(),
        ("error", Value::Object(error)) => error["message"].clone(),
        ("limit", Value::Object(limit)) => limit["type"].clone(),
        ("message_count", _) => sample["messages"].as_array().map_or(0, Vec::len).into(),
        ("completed", _) => true.into(),
        (_, value) => value.clone(),
    };
    let mut line: Map<String, Value> =
        LISTED.iter().map(|name| ((*name).to_owned(), value(name))).collect();
    if let Some(limit) = sample.get("limit") {
        line.insert("limit_reason".to_owned(), limit["reason"].clone());
    }
    line.retain(|_, value| !value.is_null());
    line.into()
}
