//! From messages to token ids and back: the files of a checkpoint that say
//! what its tokens mean, and whether they agree.

mod agreement;
mod automaton;
mod chat_template;
mod conversation;
mod generation_config;
mod speaker;
mod tokenizer;
mod wording;

pub(super) use agreement::check_tokenizer;
pub use automaton::{Automaton, Walk};
pub use chat_template::ChatOptions;
pub(super) use chat_template::ChatTemplate;
pub use conversation::Conversation;
pub(super) use generation_config::GenerationConfig;
pub use speaker::Speaker;
pub(super) use tokenizer::{END, PAD, ThoughtMarks, TokenCodec, Tokenizer};
pub use wording::Wording;
