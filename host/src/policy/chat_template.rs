//! Messages to one text, by the checkpoint's own Jinja template.
//!
//! Rendered as `transformers` renders it: blocks are trimmed, `tojson` writes
//! what Python's `json.dumps` writes, and `raise_exception` refuses messages.

use std::path::Path;

use minijinja::{Environment, Error, ErrorKind, Value, context};
use minijinja_contrib::pycompat::unknown_method_callback;

use super::PolicyError;
use super::tokenizer::ASSISTANT;
use crate::storage::{StorageError, read_json};
use crate::trajectory::Message;

/// A parsed template.
#[derive(Clone, Debug)]
pub(super) struct ChatTemplate {
    source: String,
    environment: Environment<'static>,
    /// `bos_token` and the like, which templates may write.
    tokens: serde_json::Map<String, serde_json::Value>,
}

impl ChatTemplate {
    /// `chat_template.jinja`, or `chat_template` in `tokenizer_config.json`.
    pub(super) fn load(folder: &Path) -> Result<Self, PolicyError> {
        let (file, settings) =
            (folder.join("chat_template.jinja"), folder.join("tokenizer_config.json"));
        let settings: serde_json::Value =
            if settings.exists() { read_json(&settings)? } else { serde_json::Value::Null };
        let tokens = special_tokens(&settings);
        if file.exists() {
            let source = std::fs::read_to_string(&file).map_err(StorageError::io("read", &file))?;
            return ChatTemplate::parse(source, tokens);
        }
        let source = settings["chat_template"].as_str().ok_or_else(|| {
            refuse(format!(
                "`{}` has neither `chat_template.jinja` nor a `chat_template` in `tokenizer_config.json`",
                folder.display()
            ))
        })?;
        ChatTemplate::parse(source.to_owned(), tokens)
    }

    /// The contents of all messages but the system's, then the token that
    /// begins an answer: word-level policies learn the task, not instructions.
    pub(super) fn plain() -> Result<Self, PolicyError> {
        let source = format!(
            "{{% for message in messages %}}{{% if message['role'] != 'system' %}}{{{{ message['content'] + ' ' }}}}{{% endif %}}{{% endfor %}}{{% if add_generation_prompt %}}{ASSISTANT}{{% endif %}}"
        );
        ChatTemplate::parse(source, serde_json::Map::new())
    }

    fn parse(
        source: String,
        tokens: serde_json::Map<String, serde_json::Value>,
    ) -> Result<Self, PolicyError> {
        let mut environment = Environment::new();
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_keep_trailing_newline(true);
        // Published templates call methods of Python's strings, such as `.startswith`.
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_filter("tojson", python_json);
        environment.add_function("raise_exception", |reason: String| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, reason))
        });
        environment
            .add_template_owned("chat", source.clone())
            .map_err(|error| refuse(error.to_string()))?;
        Ok(ChatTemplate { source, environment, tokens })
    }

    /// The template as it was read.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// The prompt up to where the answer begins.
    pub(super) fn render(&self, messages: &[Message]) -> Result<String, PolicyError> {
        let messages: Vec<Value> = messages
            .iter()
            .map(|message| context! { role => message.author.name(), content => message.text })
            .collect();
        let template =
            self.environment.get_template("chat").map_err(|error| refuse(error.to_string()))?;
        template
            .render(context! {
                messages => messages,
                add_generation_prompt => true,
                ..Value::from_serialize(&self.tokens)
            })
            .map_err(|error| {
                refuse(error.detail().map_or_else(|| error.to_string(), str::to_owned))
            })
    }
}

/// Entries of `tokenizer_config.json` whose names end in `_token`, as text.
fn special_tokens(settings: &serde_json::Value) -> serde_json::Map<String, serde_json::Value> {
    let entries = settings.as_object().into_iter().flatten();
    entries
        .filter(|(name, _)| name.ends_with("_token"))
        .filter_map(|(name, token)| {
            let text = token.as_str().or_else(|| token.get("content")?.as_str())?;
            Some((name.clone(), text.into()))
        })
        .collect()
}

/// `json.dumps(value, ensure_ascii=False)`: a space after commas and colons.
fn python_json(value: Value) -> Result<String, Error> {
    struct Spaced;
    impl serde_json::ser::Formatter for Spaced {
        fn begin_array_value<W: ?Sized + std::io::Write>(
            &mut self,
            out: &mut W,
            first: bool,
        ) -> std::io::Result<()> {
            out.write_all(if first { b"" } else { b", " })
        }
        fn begin_object_key<W: ?Sized + std::io::Write>(
            &mut self,
            out: &mut W,
            first: bool,
        ) -> std::io::Result<()> {
            out.write_all(if first { b"" } else { b", " })
        }
        fn begin_object_value<W: ?Sized + std::io::Write>(
            &mut self,
            out: &mut W,
        ) -> std::io::Result<()> {
            out.write_all(b": ")
        }
    }
    let refuse = |reason: String| Error::new(ErrorKind::BadSerialization, reason);
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Spaced);
    serde::Serialize::serialize(&value, &mut serializer)
        .map_err(|error| refuse(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| refuse(error.to_string()))
}

fn refuse(reason: String) -> PolicyError {
    PolicyError::Template(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trajectory::Author;

    fn message(author: Author, text: &str) -> Message {
        Message { author, text: text.to_owned() }
    }

    #[test]
    fn the_plain_template_leaves_the_system_out() {
        let messages = [
            message(Author::System, "be good"),
            message(Author::User, "a b"),
            message(Author::User, "c"),
        ];
        assert_eq!(
            ChatTemplate::plain().unwrap().render(&messages).unwrap(),
            "a b c <|assistant|>"
        );
    }

    #[test]
    fn blocks_are_trimmed_and_json_is_spaced_as_in_python() {
        let source = "{% for m in messages %}\n  {% if true %}\n{{ m | tojson }}{{ eos_token }}\n  {% endif %}\n{% endfor %}";
        let tokens = special_tokens(&serde_json::json!({ "eos_token": { "content": "<e>" } }));
        let template = ChatTemplate::parse(source.to_owned(), tokens).unwrap();
        let text = template.render(&[message(Author::User, "<é>")]).unwrap();
        assert_eq!(text, "{\"role\": \"user\", \"content\": \"<é>\"}<e>\n");
    }

    #[test]
    fn templates_may_call_the_methods_of_pythons_strings() {
        let source = "{% for m in messages[::-1] %}{{ m.content.strip().split(' ')[-1] }}{{ m.role.startswith('us') }};{% endfor %}";
        let template = ChatTemplate::parse(source.to_owned(), Default::default()).unwrap();
        let messages = [message(Author::System, " be good "), message(Author::User, "a b")];
        assert_eq!(template.render(&messages).unwrap(), "bTrue;goodFalse;");
    }

    #[test]
    fn a_template_can_refuse() {
        let template =
            ChatTemplate::parse("{{ raise_exception('no roles') }}".to_owned(), Default::default())
                .unwrap();
        let error = template.render(&[]).unwrap_err().to_string();
        assert_eq!(error, "cannot use the chat template: no roles");
    }
}
