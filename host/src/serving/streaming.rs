//! An answer piece by piece, as server-sent events.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use super::answer::{Form, finish_reason, usage};
use super::desk::{News, Ticket};
use super::question::{Question, Refused};
use crate::policy::Wording;
use crate::trajectory::Completion;

/// Stands for bytes that are no whole character yet.
const HALF_A_CHARACTER: char = '\u{fffd}';

/// The events of a stream.
pub(super) struct Events {
    question: Question,
    model: String,
    id: String,
    created: u64,
    wording: Wording,
    heard: Receiver<News>,
    /// Dropped with the stream if the client leaves.
    _ticket: Ticket,
    /// Text of each answer that was sent.
    sent: Vec<String>,
    ready: VecDeque<String>,
    is_over: bool,
}

impl Events {
    pub(super) fn new(
        (question, model, (id, created)): (Question, String, (String, u64)),
        wording: Wording,
        heard: Receiver<News>,
        ticket: Ticket,
    ) -> Self {
        let answers = question.prompts.len() * question.seeds.len();
        let mut events = Events {
            question,
            model,
            id,
            created,
            wording,
            heard,
            _ticket: ticket,
            sent: vec![String::new(); answers],
            ready: VecDeque::new(),
            is_over: false,
        };
        if events.question.form == Form::Chat {
            for index in 0..answers {
                events.push(&json!({
                    "index": index, "delta": { "role": "assistant", "content": "" },
                    "finish_reason": null,
                }));
            }
        }
        events
    }

    fn push(&mut self, choice: &Value) {
        let event = self.event(json!([choice]));
        self.ready.push_back(event.to_string());
    }

    fn event(&self, choices: Value) -> Value {
        let object = match self.question.form {
            Form::Chat => "chat.completion.chunk",
            Form::Text => "text_completion",
        };
        json!({
            "id": self.id, "object": object, "created": self.created, "model": self.model,
            "choices": choices,
        })
    }

    /// Send what an answer says beyond what was sent.
    fn send(&mut self, index: usize, text: &str, ended: Option<&Completion>) {
        let more = text.strip_prefix(self.sent[index].as_str()).unwrap_or_default().to_owned();
        if more.is_empty() && ended.is_none() {
            return;
        }
        self.sent[index].push_str(&more);
        let reason = ended.map(finish_reason);
        let mut choice = match self.question.form {
            Form::Chat => {
                json!({ "index": index, "delta": { "content": more }, "finish_reason": reason })
            }
            Form::Text => json!({ "index": index, "text": more, "finish_reason": reason }),
        };
        if let Some(ended) = ended.filter(|_| self.question.wants_ids) {
            choice["token_ids"] = json!(ended.tokens);
        }
        self.push(&choice);
    }

    /// As much of a text as will stand in the answer, whatever comes: not half a character, and
    /// nothing that a text which ends the answer may begin with.
    fn settled<'t>(&self, text: &'t str) -> &'t str {
        let text = text.trim_end_matches(HALF_A_CHARACTER);
        let longest = self.question.sampling.stop.iter().map(String::len).max().unwrap_or(0);
        let mut end = text.len().saturating_sub(longest.saturating_sub(1));
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        &text[..end]
    }

    /// Make events of news.
    pub(super) fn take_in(&mut self, news: News) -> Result<(), Refused> {
        match news {
            News::Grown(answers) => {
                for (index, tokens) in answers.iter().enumerate() {
                    let text = self.wording.decode_text(tokens)?;
                    let settled = self.settled(&text).to_owned();
                    self.send(index, &settled, None);
                }
            }
            News::Done(completions) => {
                for (index, completion) in completions.iter().enumerate() {
                    self.send(index, &completion.text, Some(completion));
                }
                if self.question.tells_usage {
                    let mut event = self.event(json!([]));
                    event["usage"] = usage(&self.question, &completions);
                    self.ready.push_back(event.to_string());
                }
                self.end();
            }
            News::Refused(reason) => return Err(Refused::request(reason)),
            News::Failed(reason) => return Err(Refused::internal(reason)),
        }
        Ok(())
    }

    fn end(&mut self) {
        self.ready.push_back("[DONE]".to_owned());
        self.is_over = true;
    }
}

impl Iterator for Events {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        while self.ready.is_empty() && !self.is_over {
            let news = self.heard.recv().ok()?;
            if let Err(refused) = self.take_in(news) {
                self.ready.push_back(refused.to_json().to_string());
                self.end();
            }
        }
        self.ready.pop_front()
    }
}
