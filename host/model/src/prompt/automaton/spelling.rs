//! A policy's tokens as the bytes that they are in an answer.

use llguidance::toktrie::{TokRxInfo, TokTrie};

use super::grammar::Around;
use crate::constraint::Constraint;
use crate::error::PolicyError;
use crate::prompt::tokenizer::{TokenCodec, Tokenizer};

/// Bytes of a token that a trie holds.
const LONGEST: usize = 1000;
/// What stands between words.
const SPACE: &str = " ";
/// What a policy may say between its thought and its answer.
const BREAK: &str = "[ \\n]{1,3}";

/// How a text is put into tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// As it stands.
    Plain,
    /// Perhaps with a space before it, which is no part of the text.
    Led,
    /// As words, each with a space after it: without it, one would be the beginning of another.
    Words,
}

impl Form {
    pub(super) fn of(tokenizer: &Tokenizer) -> Result<Form, PolicyError> {
        if tokenizer.says_words() {
            return Ok(Form::Words);
        }
        let begins = |token: &u32| {
            let bytes = tokenizer.bytes(*token);
            bytes.len() > 1 && bytes[0] == b' ' && bytes[1].is_ascii_alphanumeric()
        };
        let Some(token) = (0..tokenizer.vocabulary_size() as u32).find(begins) else {
            return Ok(Form::Plain);
        };
        let keeps = tokenizer.decode(&[token])?.starts_with(' ');
        Ok(if keeps { Form::Plain } else { Form::Led })
    }

    /// What stands around an answer that comes first.
    pub(super) fn around_first(self) -> Around {
        let before = (self == Form::Led).then_some(SPACE);
        Around { before, ends_with_space: self == Form::Words }
    }

    /// What stands around an answer that comes after a thought.
    pub(super) fn around_later(self) -> Around {
        let before = (self != Form::Words).then_some(BREAK);
        Around { before, ends_with_space: self == Form::Words }
    }
}

/// The tokens as bytes. What is special, or ends an answer, or begins or ends a thought has none.
pub(super) fn trie(codec: &TokenCodec, vocabulary: usize) -> Result<TokTrie, PolicyError> {
    let tokenizer = &codec.tokenizer;
    let bytes = |token: u32| {
        let is_mark = codec.thoughts.is_some_and(|marks| marks.is_mark(token));
        let is_text = !is_mark && !codec.ends.contains(&token);
        let bytes = if is_text { tokenizer.bytes(token) } else { Vec::new() };
        match bytes.len() {
            1..=LONGEST if tokenizer.says_words() => [&bytes, SPACE.as_bytes()].concat(),
            0..=LONGEST => bytes,
            _ => Vec::new(),
        }
    };
    let words: Vec<Vec<u8>> = (0..vocabulary as u32).map(bytes).collect();
    let end = codec.ends.iter().find(|end| (**end as usize) < vocabulary);
    let end = *end.ok_or_else(|| {
        PolicyError::Allowed("the policy has no token that ends an answer".to_owned())
    })?;
    let ends: Vec<u32> =
        codec.ends.iter().copied().filter(|end| (*end as usize) < vocabulary).collect();
    Ok(TokTrie::from(&TokRxInfo::new(words.len() as u32, end), &words).with_eos_tokens(&ends))
}

/// Refuse texts that the tokenizer changes, or has no tokens for.
pub(super) fn check_spelling(
    constraint: &Constraint,
    tokenizer: &Tokenizer,
) -> Result<(), PolicyError> {
    let (Constraint::Words(texts) | Constraint::Choices(texts)) = constraint else {
        return Ok(());
    };
    if texts.is_empty() {
        let reason = "there are no words; the environment's language is open, so name `choices` or \
                      a `schema`";
        return Err(PolicyError::Allowed(reason.to_owned()));
    }
    for text in texts.iter() {
        let tokens = tokenizer.encode(text)?;
        let bytes: Vec<Vec<u8>> = tokens.iter().map(|token| tokenizer.bytes(*token)).collect();
        let spelled = bytes.join(if tokenizer.says_words() { SPACE } else { "" }.as_bytes());
        let plain = spelled.strip_prefix(SPACE.as_bytes()).unwrap_or(&spelled);
        if spelled != text.as_bytes() && plain != text.as_bytes() {
            return Err(PolicyError::Allowed(format!(
                "the policy's tokens for `{text}` come to be `{}`; leave it out, or take a policy \
                 that can say it",
                String::from_utf8_lossy(plain)
            )));
        }
    }
    Ok(())
}
