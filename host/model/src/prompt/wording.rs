//! A policy's way with words: from messages to token ids, and back.

use std::sync::Arc;

use serde_json::Value;

use super::chat_template::{ChatOptions, ChatTemplate};
use super::conversation::Conversation;
use super::tokenizer::Tokenizer;
use crate::error::PolicyError;
use troupe_core::trajectory::Message;

/// Tokenizer, chat template and what that is told. Clones share the tokenizer; they have no
/// weights, so threads can share them.
#[derive(Clone, Debug)]
pub struct Wording {
    /// Text to token ids and back.
    pub tokenizer: Arc<Tokenizer>,
    /// Messages to text.
    pub template: ChatTemplate,
    /// What of the template is switched on.
    pub chat: ChatOptions,
}

impl Wording {
    /// Token ids of a prompt: the messages in the chat template, which is told of
    /// these tools beside those of the policy's own table and, unless `thinking` is
    /// none, whether to think in place of what that table says, up to where the
    /// answer begins. Words the tokenizer does not know become its unknown token.
    ///
    /// # Errors
    /// If the template refuses the messages.
    pub fn encode_prompt(
        &self,
        messages: &[Message],
        tools: &[Value],
        thinking: Option<bool>,
    ) -> Result<Arc<[u32]>, PolicyError> {
        Ok(self.tokenizer.encode(&self.render_prompt(messages, tools, thinking)?)?.into())
    }

    /// The text of such a prompt.
    ///
    /// # Errors
    /// If the template refuses the messages.
    pub fn render_prompt(
        &self,
        messages: &[Message],
        tools: &[Value],
        thinking: Option<bool>,
    ) -> Result<String, PolicyError> {
        self.template.render(messages, &self.chat.with(tools, thinking))
    }

    /// The prompt of what a client says, who may say more than messages.
    ///
    /// # Errors
    /// If the template refuses the messages, or has no place for something that is said.
    pub fn render_conversation(&self, said: &Conversation) -> Result<String, PolicyError> {
        said.render(&self.template, &self.chat)
    }

    /// Token ids of a text as it stands, without a template.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn encode_text(&self, text: &str) -> Result<Vec<u32>, PolicyError> {
        self.tokenizer.encode(text)
    }

    /// Token ids of a text as `transformers` makes them by itself: with what the tokenizer's
    /// post-processor puts before it, which for many models is the token that begins a text.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn encode_begun(&self, text: &str) -> Result<Vec<u32>, PolicyError> {
        self.tokenizer.encode_begun(text)
    }

    /// The bytes that each token of an answer adds to its text; none if it is special.
    pub fn bytes_of(&self, tokens: &[u32]) -> Vec<Vec<u8>> {
        self.tokenizer.bytes_in_text(tokens)
    }

    /// How many of an answer's tokens so far have a text that no further token changes, but for
    /// bytes at its end that are no whole character.
    pub fn settled(&self, tokens: &[u32]) -> usize {
        self.tokenizer.settled(tokens)
    }

    /// The text of token ids, special tokens left out.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn decode_text(&self, tokens: &[u32]) -> Result<String, PolicyError> {
        self.tokenizer.decode(tokens)
    }
}
