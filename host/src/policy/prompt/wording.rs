//! A policy's way with words: from messages to token ids, and back.

use std::sync::Arc;

use serde_json::Value;

use super::chat_template::{ChatOptions, ChatTemplate};
use super::tokenizer::Tokenizer;
use crate::policy::error::PolicyError;
use crate::trajectory::Message;

/// Tokenizer, chat template and what that is told. Clones share the tokenizer; they have no
/// weights, so threads can share them.
#[derive(Clone, Debug)]
pub struct Wording {
    pub(in crate::policy) tokenizer: Arc<Tokenizer>,
    pub(in crate::policy) template: ChatTemplate,
    pub(in crate::policy) chat: ChatOptions,
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

    /// Token ids of a text as it stands, without a template.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn encode_text(&self, text: &str) -> Result<Vec<u32>, PolicyError> {
        self.tokenizer.encode(text)
    }

    /// The text of token ids, special tokens left out.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn decode_text(&self, tokens: &[u32]) -> Result<String, PolicyError> {
        self.tokenizer.decode(tokens)
    }
}
