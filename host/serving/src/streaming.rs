//! An answer piece by piece, as server-sent events: put together they are the answer in one piece.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::answer::{Form, add_tokens, finish_reason, usage};
use super::desk::{ENDED, Ticket};
use super::news::{Listener, News};
use super::question::Question;
use super::refused::Refused;
use troupe_core::trajectory::Completion;
use troupe_model::{SoFar, Wording};

/// Stands for bytes that are no whole character yet.
const HALF_A_CHARACTER: char = '\u{fffd}';

/// The events of a stream.
pub(super) struct Events {
    question: Question,
    model: String,
    id: String,
    created: u64,
    wording: Wording,
    heard: Listener,
    /// Dropped with the stream if the client leaves.
    _ticket: Option<Ticket>,
    /// What was sent of each answer.
    sent: Vec<Sent>,
    ready: VecDeque<String>,
    is_over: bool,
}

#[derive(Clone, Default)]
struct Sent {
    text: String,
    /// Tokens that were told of.
    tokens: usize,
    /// Whether anything was sent.
    has_begun: bool,
}

impl Events {
    pub(super) fn new(
        (question, model, (id, created)): (Question, String, (String, u64)),
        wording: Wording,
        heard: Listener,
        ticket: Option<Ticket>,
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
            sent: vec![Sent::default(); answers],
            ready: VecDeque::new(),
            is_over: false,
        };
        if events.question.form == Form::Chat {
            for index in 0..answers {
                let mut event = events.event(json!([{
                    "index": index, "delta": { "role": "assistant", "content": "" },
                    "logprobs": null, "finish_reason": null,
                }]));
                if events.question.wants_ids && index == 0 {
                    event["prompt_token_ids"] = json!(*events.question.prompts[0]);
                }
                events.ready.push_back(event.to_string());
            }
        }
        events
    }

    fn event(&self, choices: Value) -> Value {
        let object = match self.question.form {
            Form::Chat => "chat.completion.chunk",
            Form::Text => "text_completion",
        };
        let mut event = json!({
            "id": self.id, "object": object, "created": self.created, "model": self.model,
            "choices": choices,
        });
        if self.question.tells_usage {
            event["usage"] = Value::Null;
        }
        event
    }

    /// Send what an answer says beyond what was sent, and tell of its tokens up to this one.
    fn send(
        &mut self,
        index: usize,
        text: &str,
        (tokens, logprobs): (&[u32], &[f32]),
        ended: Option<&Completion>,
    ) -> Result<(), Refused> {
        let sent = &mut self.sent[index];
        let more = text.strip_prefix(sent.text.as_str()).map(str::to_owned).ok_or_else(|| {
            Refused::internal("what was sent of the answer is not how it begins".to_owned())
        })?;
        if more.is_empty() && ended.is_none() {
            return Ok(());
        }
        sent.text.push_str(&more);
        let told = sent.tokens..tokens.len().max(sent.tokens);
        sent.tokens = told.end;
        let is_first = !std::mem::replace(&mut sent.has_begun, true);
        let reason = ended.map(finish_reason);
        let mut choice = match self.question.form {
            Form::Chat => {
                json!({ "index": index, "delta": { "content": more }, "finish_reason": reason })
            }
            Form::Text => json!({ "index": index, "text": more, "finish_reason": reason }),
        };
        add_tokens(&mut choice, &self.question, &self.wording, (tokens, logprobs), told);
        if is_first && self.question.wants_ids && self.question.form == Form::Text {
            choice["prompt_token_ids"] = json!(**self.question.prompt_of(index));
        }
        let event = self.event(json!([choice]));
        self.ready.push_back(event.to_string());
        Ok(())
    }

    /// As much of an answer's text as will stand in it, whatever comes, and the tokens whose text
    /// this is: not half a character, no text that ends the answer, and nothing that one may begin
    /// with.
    fn settled(&self, tokens: &[u32]) -> Result<(String, usize), Refused> {
        let count = self.wording.settled(tokens);
        let mut text = self.wording.decode_text(&tokens[..count])?;
        let whole = text.len();
        text.truncate(text.trim_end_matches(HALF_A_CHARACTER).len());
        let stops = &self.question.sampling.stop;
        let first = stops.iter().filter_map(|stop| text.find(stop.as_str())).min();
        let held = stops.iter().map(|stop| overlap(&text, stop)).max().unwrap_or(0);
        text.truncate(first.unwrap_or(text.len() - held));
        let told = if text.len() == whole { count } else { 0 };
        Ok((text, told))
    }

    /// Make events of news.
    pub(super) fn take_in(&mut self, news: News) -> Result<(), Refused> {
        match news {
            News::Grown(answers) => {
                for (index, SoFar { tokens, logprobs }) in answers.iter().enumerate() {
                    let (text, told) = self.settled(tokens)?;
                    let told = told.max(self.sent[index].tokens);
                    self.send(index, &text, (&tokens[..told], &logprobs[..told]), None)?;
                }
            }
            News::Done(completions) => {
                for (index, completion) in completions.iter().enumerate() {
                    let Completion { text, tokens, logprobs, .. } = completion;
                    self.send(index, text, (tokens, logprobs), Some(completion))?;
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

/// How many bytes at the end of a text `stop` begins with, short of all of it.
fn overlap(text: &str, stop: &str) -> usize {
    let starts = stop.char_indices().map(|(start, _)| start).skip(1);
    starts.filter(|length| text.ends_with(&stop[..*length])).max().unwrap_or(0)
}

impl Iterator for Events {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        while self.ready.is_empty() && !self.is_over {
            // A stream that merely stopped would look like a whole answer.
            let news = self.heard.hear().unwrap_or_else(|| News::Failed(ENDED.to_owned()));
            if let Err(refused) = self.take_in(news) {
                self.ready.push_back(refused.to_json().to_string());
                self.end();
            }
        }
        self.ready.pop_front()
    }
}
