//! What was said, as messages: a role's prompts, and in the conversation of all what is new in
//! each.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use troupe_core::trajectory::{Author, Message};
use troupe_guests::plugin::Seat;

/// Who speaks: a seat, in which conversation, for the how manyth time.
#[derive(Clone, Copy)]
pub(super) struct Speaker<'e> {
    pub(super) role: &'e str,
    pub(super) instance: u32,
    pub(super) thread: &'e str,
    pub(super) turn: usize,
}

impl Speaker<'_> {
    /// The seat's name.
    pub(super) fn seat(self) -> String {
        Seat::numbered(self.role, self.instance).to_string()
    }

    /// What is known of a message beside its text.
    pub(super) fn metadata(self) -> Value {
        let mut known = json!({ "role": self.role, "turn": self.turn + 1 });
        if self.instance > 0 {
            known["seat"] = self.seat().into();
        }
        if !self.thread.is_empty() {
            known["conversation"] = self.thread.into();
        }
        known
    }
}

/// A prompt.
pub(super) fn prompt(messages: &[Message]) -> Vec<Value> {
    let message =
        |Message { author, text }: &Message| json!({ "role": author.name(), "content": text });
    messages.iter().map(message).collect()
}

/// What all seats were told and said, in order.
#[derive(Default)]
pub(super) struct Conversation {
    messages: Vec<Value>,
    /// What each seat has before it in each of its conversations.
    told: BTreeMap<(String, u32, String), Vec<Message>>,
}

impl Conversation {
    /// Take in what a seat was told, so far as it was not told before, and its answer.
    pub(super) fn reply(&mut self, speaker: Speaker, prompt: &[Message], answer: Value) {
        let Speaker { role, instance, thread, .. } = speaker;
        let told = self.told.entry((role.to_owned(), instance, thread.to_owned())).or_default();
        let known = told.iter().zip(prompt).take_while(|(then, now)| then == now).count();
        self.messages.extend(prompt[known..].iter().map(|message| new(speaker, message)));
        let text = answer["content"].as_str().unwrap_or_default().to_owned();
        *told = [prompt, &[Message { author: Author::Assistant, text }]].concat();
        self.messages.push(answer);
    }

    /// All of it.
    pub(super) fn into_messages(self) -> Vec<Value> {
        self.messages
    }
}

/// A message to a seat. Inspect shows the standing instructions of all as one text, without what
/// is known of them, so whom they are for stands in them.
fn new(speaker: Speaker, Message { author, text }: &Message) -> Value {
    let content = match author {
        Author::System => format!("[{}]\n{text}\n\n", speaker.seat()),
        Author::User | Author::Assistant | Author::Tool => text.clone(),
    };
    json!({ "role": author.name(), "content": content, "metadata": speaker.metadata() })
}
