//! A request that is due, as policies are asked it.

use std::sync::Arc;

use serde_json::Value;

use crate::plugin::{self, Part, Request, Seat, text_of};
use troupe_core::trajectory::{Author, Message};

/// A request that is due.
#[derive(Clone, Debug)]
pub struct Due {
    /// The workflow's request.
    pub request: Arc<Request>,
    /// The prompt as text.
    pub messages: Arc<[Message]>,
    /// The tools that the prompt names, as JSON schemas.
    pub tools: Arc<[Value]>,
    /// How often the seat was asked before in this conversation.
    pub turn: usize,
    /// The number that the answer will have in the episode.
    pub number: u32,
    /// What only critics may see, where it is kept. No prompt holds it.
    pub hint: Option<Arc<str>>,
}

impl Due {
    pub(super) fn new(request: Request, tools: Arc<[Value]>, turn: usize, number: u32) -> Self {
        let messages = request.messages.iter().map(message).collect();
        Due { request: Arc::new(request), messages, tools, turn, number, hint: None }
    }

    /// The role that is asked.
    pub fn role(&self) -> &str {
        &self.request.seat.role
    }

    /// Whether there is a picture in the prompt.
    pub fn has_images(&self) -> bool {
        let parts = self.request.messages.iter().flat_map(|message| &message.parts);
        parts.into_iter().any(|part| matches!(part, Part::Image(_)))
    }
}

/// By what a seat's turns in a conversation are counted.
pub(super) fn conversation(seat: &Seat, thread: &str) -> String {
    format!("{} {} {thread}", seat.role, seat.instance)
}

fn message(from: &plugin::Message) -> Message {
    let author = match from.author {
        plugin::Author::System => Author::System,
        plugin::Author::User => Author::User,
        plugin::Author::Assistant => Author::Assistant,
        plugin::Author::Tool => Author::Tool,
    };
    Message { author, text: text_of(&from.parts) }
}
