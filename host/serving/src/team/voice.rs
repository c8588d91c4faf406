//! What a team says, as `OpenAI`'s API has it: its conversation as `reasoning_content`, its answer as
//! `content`.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use super::question::TeamRequest;
use super::{Told, Wish};
use crate::answer::Form;
use crate::identity;
use crate::refused::Refused;
use troupe_core::totals::Totals;

/// Between what two of a team say.
const BETWEEN: &str = "\n\n";

/// One episode as far as it was told.
#[derive(Clone, Default)]
struct Voice {
    said: String,
    /// The answer, and whether a limit ended the episode.
    answered: Option<(String, bool)>,
}

/// All episodes of a question as far as they were told.
pub(super) struct Voices {
    all: Vec<Voice>,
    spent: Totals,
}

/// What is new of one of them.
enum New {
    /// Somebody has spoken: more of the conversation.
    Said(String),
    /// It is over, with this answer.
    Over(String, &'static str),
}

impl Voices {
    pub(super) fn new(samples: usize) -> Self {
        Voices { all: vec![Voice::default(); samples], spent: Totals::default() }
    }

    pub(super) fn are_over(&self) -> bool {
        self.all.iter().all(|voice| voice.answered.is_some())
    }

    /// Take what is told; says what is new of which episode.
    pub(super) fn take_in(&mut self, told: Told) -> Result<(), Refused> {
        self.hear(told).map(drop)
    }

    fn hear(&mut self, told: Told) -> Result<(usize, New), Refused> {
        match told {
            Told::Said { sample, seat, text } => {
                let voice = &mut self.all[sample];
                let between = if voice.said.is_empty() { "" } else { BETWEEN };
                let more = format!("{between}{seat}: {text}");
                voice.said.push_str(&more);
                Ok((sample, New::Said(more)))
            }
            Told::Answered { sample, answer, was_cut, spent } => {
                self.spent += spent;
                let answer = answer.unwrap_or_default();
                self.all[sample].answered = Some((answer.clone(), was_cut));
                Ok((sample, New::Over(answer, finish_reason(was_cut))))
            }
            Told::Refused(reason) => Err(Refused::request(reason)),
            Told::Failed(reason) => Err(Refused::internal(reason)),
        }
    }

    fn usage(&self) -> Value {
        let Totals { prompt_tokens, completion_tokens, .. } = self.spent;
        json!({
            "prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        })
    }

    /// The answer in one piece.
    pub(super) fn whole(&self, model: &str) -> Value {
        let choice = |(index, voice): (usize, &Voice)| {
            let (answer, was_cut) = voice.answered.clone().unwrap_or_default();
            json!({
                "index": index,
                "message": {
                    "role": "assistant", "content": answer, "reasoning_content": voice.said,
                },
                "logprobs": null, "finish_reason": finish_reason(was_cut),
            })
        };
        let choices: Vec<Value> = self.all.iter().enumerate().map(choice).collect();
        let (id, created) = identity(Form::Chat);
        json!({
            "id": id, "object": "chat.completion", "created": created, "model": model,
            "choices": choices, "usage": self.usage(),
        })
    }
}

fn finish_reason(was_cut: bool) -> &'static str {
    if was_cut { "length" } else { "stop" }
}

/// The answer piece by piece: put together the pieces are the answer in one piece.
pub(super) struct TeamEvents {
    request: TeamRequest,
    model: String,
    id: String,
    created: u64,
    heard: Receiver<Told>,
    _wish: Wish,
    voices: Voices,
    ready: VecDeque<String>,
    is_over: bool,
}

impl TeamEvents {
    pub(super) fn new(
        request: TeamRequest,
        model: String,
        heard: Receiver<Told>,
        wish: Wish,
    ) -> Self {
        let (id, created) = identity(Form::Chat);
        let voices = Voices::new(request.samples);
        let (ready, is_over) = (VecDeque::new(), false);
        let mut events =
            TeamEvents { request, model, id, created, heard, _wish: wish, voices, ready, is_over };
        for index in 0..events.request.samples {
            events.send(index, json!({ "role": "assistant", "content": "" }), None);
        }
        events
    }

    fn send(&mut self, index: usize, delta: Value, reason: Option<&str>) {
        let choice = json!({
            "index": index, "delta": delta, "logprobs": null, "finish_reason": reason,
        });
        let event = self.event(json!([choice]), Value::Null);
        self.ready.push_back(event);
    }

    fn event(&self, choices: Value, usage: Value) -> String {
        let mut event = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created,
            "model": self.model, "choices": choices,
        });
        if self.request.tells_usage {
            event["usage"] = usage;
        }
        event.to_string()
    }

    /// Make events of what is told.
    pub(super) fn take_in(&mut self, told: Told) -> Result<(), Refused> {
        match self.voices.hear(told)? {
            (index, New::Said(more)) => {
                self.send(index, json!({ "reasoning_content": more }), None);
            }
            (index, New::Over(answer, reason)) => {
                self.send(index, json!({ "content": answer }), Some(reason));
            }
        }
        if self.voices.are_over() {
            if self.request.tells_usage {
                let event = self.event(json!([]), self.voices.usage());
                self.ready.push_back(event);
            }
            self.end();
        }
        Ok(())
    }

    fn end(&mut self) {
        self.ready.push_back("[DONE]".to_owned());
        self.is_over = true;
    }
}

impl Iterator for TeamEvents {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        while self.ready.is_empty() && !self.is_over {
            let told = self
                .heard
                .recv()
                .unwrap_or_else(|_| Told::Failed("the team plays no more".to_owned()));
            if let Err(refused) = self.take_in(told) {
                self.ready.push_back(refused.to_json().to_string());
                self.end();
            }
        }
        self.ready.pop_front()
    }
}
