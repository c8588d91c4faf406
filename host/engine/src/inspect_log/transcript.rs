//! What happened in an episode, as events: a model's call in a span that names its role and turn,
//! an act or a tool as a call of a tool, and what acts earned as scores on the way.

use serde_json::{Map, Value, json};

use super::conversation::{Conversation, Speaker, prompt};
use super::entry::{Entry, Limit, shown};
use super::usage::{model, usage};
use super::{Log, spec};
use troupe_core::trajectory::{Action, Event, Sample};

/// What happened, what was said, and the last answer.
pub(super) struct Transcript {
    pub(super) events: Vec<Value>,
    pub(super) conversation: Conversation,
    pub(super) output: Value,
}

/// A transcript in the making.
struct Pen<'a> {
    log: &'a Log<'a>,
    entry: &'a Entry<'a>,
    uuid: &'a str,
    time: String,
    done: Transcript,
}

/// What happened in an episode, and what it is worth in the end.
pub(super) fn transcript(log: &Log, entry: &Entry, uuid: &str, scores: &Value) -> Transcript {
    let done = Transcript {
        events: Vec::new(),
        conversation: Conversation::default(),
        output: json!({ "model": "", "choices": [] }),
    };
    let mut pen = Pen { log, entry, uuid, time: spec::time(log.span.0), done };
    let is_act = |event: &Event| matches!(event, Event::Acted { .. });
    for run in entry.episode.events.chunk_by(|one, next| is_act(one) && is_act(next)) {
        run.iter().for_each(|event| pen.take(event));
        if run.first().is_some_and(is_act) {
            pen.earned(run);
        }
    }
    pen.end(scores);
    pen.done
}

impl<'a> Pen<'a> {
    fn add(&mut self, kind: &str, event: Value) {
        let number = self.done.events.len();
        let mut whole = json!({
            "uuid": format!("{}-{number}", self.uuid),
            "timestamp": self.time,
            "working_start": 0.0,
            "event": kind,
        });
        if let (Value::Object(whole), Value::Object(event)) = (&mut whole, event) {
            whole.extend(event);
        }
        self.done.events.push(whole);
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Observed { text } => {
                let source = self.environment().to_owned();
                self.add("info", json!({ "source": source, "data": text }));
            }
            Event::Replied { .. } => self.replied(event),
            Event::Acted { action, accepted, feedback, .. } => {
                self.acted(action, *accepted, feedback);
            }
            Event::Called { role, tool, arguments, succeeded, answer } => {
                let arguments: Map<String, Value> =
                    serde_json::from_str(arguments).unwrap_or_default();
                let metadata = json!({ "role": role, "succeeded": succeeded });
                self.call(tool, arguments.into(), answer, metadata);
            }
            Event::Credited { answer, name, value } => {
                let why = format!("answer {answer}, which the workflow credits with {name}");
                self.earning(json!(value), None, why);
            }
            Event::Logged { plugin, level, text } => self.add(
                "logger",
                json!({ "message": {
                    "name": plugin, "level": level, "message": text,
                    "created": self.log.span.0 * 1000.0,
                } }),
            ),
        }
    }

    /// What the environment of the episode is called.
    fn environment(&self) -> &str {
        let mut families = self.log.examined.families.iter();
        families
            .find(|played| played.family == self.entry.episode.family)
            .map_or("environment", |played| &played.environment)
    }

    fn replied(&mut self, event: &Event) {
        let Event::Replied { role, instance, thread, turn, prompt: told, tools, text, cut, .. } =
            event
        else {
            return;
        };
        let speaker = Speaker { role, instance: *instance, thread, turn: *turn };
        let answer = self.answer(speaker);
        let player = self.log.examined.player(role);
        let model = model(answer.map_or(player, |answer| &answer.policy));
        let message = json!({
            "id": format!("{}-a{}", self.uuid, self.done.events.len()),
            "content": text,
            "source": "generate",
            "metadata": speaker.metadata(),
            "role": "assistant",
            "model": model,
        });
        self.done.conversation.reply(speaker, told, message.clone());
        let stop = if *cut { "max_tokens" } else { "stop" };
        self.done.output = json!({
            "model": model,
            "choices": [{ "message": message, "stop_reason": stop }],
            "completion": text,
            "usage": usage(answer),
        });
        let span = format!("{}-s{}", self.uuid, self.done.events.len());
        let name = format!("{}, turn {}", speaker.seat(), turn + 1);
        self.add("span_begin", json!({ "id": span, "name": name, "span_id": span }));
        let call = json!({
            "span_id": span,
            "model": model,
            "role": role,
            "input": prompt(told),
            "tools": tools.iter().map(|tool| tool["function"].clone()).collect::<Vec<_>>(),
            "tool_choice": if tools.is_empty() { "none" } else { "auto" },
            "config": {},
            "output": self.done.output,
        });
        self.add("model", call);
        self.add("span_end", json!({ "id": span, "span_id": span }));
    }

    /// The row of an answer; nothing in a void episode.
    fn answer(&self, speaker: Speaker) -> Option<&'a Sample> {
        let Speaker { role, instance, thread, turn } = speaker;
        let is_it = |answer: &&&'a Sample| {
            (answer.role.as_str(), answer.instance, answer.thread.as_str(), answer.turn)
                == (role, instance, thread, turn)
        };
        self.entry.answers.iter().find(is_it).copied()
    }

    fn acted(&mut self, action: &Action, accepted: bool, feedback: &str) {
        let Action { role, kind, text, .. } = action;
        let verdict = if accepted { "accepted" } else { "not accepted in full" };
        let result = match feedback {
            "" => verdict.to_owned(),
            feedback => format!("{verdict}: {feedback}"),
        };
        let metadata = json!({ "role": role, "accepted": accepted });
        self.call(kind, json!({ "text": text }), &result, metadata);
    }

    fn call(&mut self, function: &str, arguments: Value, result: &str, metadata: Value) {
        let id = format!("{}-c{}", self.uuid, self.done.events.len());
        let call = json!({
            "metadata": metadata, "type": "function", "id": id, "function": function,
            "arguments": arguments, "result": result,
        });
        self.add("tool", call);
    }

    /// What acts that were carried out at once earned; each carries what all earned the team.
    fn earned(&mut self, acts: &[Event]) {
        let mut value = Map::new();
        let (mut texts, mut parts) = (Vec::new(), Vec::new());
        for act in acts {
            let Event::Acted { action, reward, .. } = act else { continue };
            value.entry("team").or_insert_with(|| reward.team.into());
            let own = value.get(&action.role).and_then(Value::as_f64).unwrap_or(0.0);
            value.insert(action.role.clone(), (own + reward.local).into());
            texts.push(action.text.as_str());
            parts.push(shown(reward));
        }
        self.earning(value.into(), Some(texts.join("\n")), parts.join("; "));
    }

    fn earning(&mut self, value: Value, answer: Option<String>, why: String) {
        let mut score = json!({ "value": value, "explanation": why });
        if let Some(answer) = answer {
            score["answer"] = answer.into();
        }
        self.add("score", json!({ "score": score, "intermediate": true, "scorer": "reward" }));
    }

    fn end(&mut self, scores: &Value) {
        if let Some(error) = self.entry.error() {
            self.add("error", json!({ "error": error }));
        }
        if let Some(Limit { kind, value, reason }) = self.entry.limit(self.log) {
            let limit = json!({ "type": kind, "message": reason, "limit": value });
            self.add("sample_limit", limit);
        }
        for (scorer, score) in scores.as_object().into_iter().flatten() {
            self.add("score", json!({ "score": score, "intermediate": false, "scorer": scorer }));
        }
    }
}
