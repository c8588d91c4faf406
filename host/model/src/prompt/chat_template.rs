//! Messages to one text, by the checkpoint's own Jinja template.
//!
//! Rendered as `transformers` renders it: blocks are trimmed, `tojson` writes
//! what Python's `json.dumps` writes, and `raise_exception` refuses messages.
//! Only the clock is not there: `strftime_now` always tells the same day, as
//! a prompt that changes overnight would change a resumed run.

mod calendar;
mod files;
mod python_json;
mod python_string;

use std::sync::Arc;

use minijinja::{Environment, Error, ErrorKind, Template, Value, context};
use serde_json::Map;

use super::conversation::Conversation;
use super::tokenizer::ASSISTANT;
use crate::error::PolicyError;
use troupe_core::config::ChatConfig;
use troupe_core::trajectory::Message;

/// The template of ordinary prompts.
const DEFAULT: &str = "default";
/// The template of prompts with tools, where there is one.
const TOOL_USE: &str = "tool_use";

/// What a chat template is told beside the messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatOptions {
    /// Whether the policy thinks before it answers; none leaves it to the template.
    pub enable_thinking: Option<bool>,
    /// Functions it may call, as JSON schemas; none are mentioned if empty.
    pub tools: Vec<serde_json::Value>,
}

impl From<&ChatConfig> for ChatOptions {
    fn from(config: &ChatConfig) -> Self {
        // Every TOML value is a JSON value, too.
        let tool = |tool| serde_json::to_value(tool).unwrap_or_default();
        ChatOptions {
            enable_thinking: config.enable_thinking,
            tools: config.tools.iter().map(tool).collect(),
        }
    }
}

impl ChatOptions {
    /// The same with further functions to call, and told by the caller whether to think,
    /// if they say so.
    pub fn with(&self, more: &[serde_json::Value], thinking: Option<bool>) -> ChatOptions {
        let tools = self.tools.iter().chain(more).cloned().collect();
        ChatOptions { enable_thinking: thinking.or(self.enable_thinking), tools }
    }
}

/// Parsed templates: one for all prompts, or one by the name `default` and others.
#[derive(Clone, Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    /// `bos_token` and the like, which templates may write.
    tokens: Map<String, serde_json::Value>,
    /// Paths in the folder and content of the files it came in, but for the tokenizer's.
    files: Arc<Vec<(String, String)>>,
}

impl ChatTemplate {
    /// The contents of all messages but the system's, then the token that
    /// begins an answer: word-level policies learn the task, not instructions.
    pub fn plain() -> Result<Self, PolicyError> {
        let source = format!(
            "{{% for message in messages %}}{{% if message['role'] != 'system' %}}{{{{ message['content'] + ' ' }}}}{{% endif %}}{{% endfor %}}{{% if add_generation_prompt %}}{ASSISTANT}{{% endif %}}"
        );
        let files = vec![(files::MAIN.to_owned(), source.clone())];
        ChatTemplate::parse(vec![(DEFAULT.to_owned(), source)], Map::new(), files)
    }

    /// Parse `templates`, which are names and sources.
    fn parse(
        templates: Vec<(String, String)>,
        tokens: Map<String, serde_json::Value>,
        files: Vec<(String, String)>,
    ) -> Result<Self, PolicyError> {
        let mut environment = environment();
        let names: Vec<String> = templates.iter().map(|(name, _)| format!("`{name}`")).collect();
        if !templates.iter().any(|(name, _)| name == DEFAULT) {
            return Err(refuse(format!(
                "the checkpoint has templates named {}, but none is named `{DEFAULT}`",
                names.join(", ")
            )));
        }
        for (name, source) in templates {
            environment
                .add_template_owned(name.clone(), without_generation_marks(&source))
                .map_err(|error| refuse(format!("`{name}` cannot be parsed: {error}")))?;
        }
        Ok(ChatTemplate { environment, tokens, files: Arc::new(files) })
    }

    /// The prompt up to where the answer begins.
    pub fn render(
        &self,
        messages: &[Message],
        options: &ChatOptions,
    ) -> Result<String, PolicyError> {
        let message = |message: &Message| serde_json::json!({ "role": message.author.name(), "content": message.text });
        let conversation = Conversation {
            messages: messages.iter().map(message).collect(),
            tools: Vec::new(),
            documents: Vec::new(),
            variables: Map::new(),
            asks: true,
        };
        self.render_conversation(&conversation, options)
    }

    /// The prompt of what a client says; the tools are those of `options`.
    pub(super) fn render_conversation(
        &self,
        conversation: &Conversation,
        options: &ChatOptions,
    ) -> Result<String, PolicyError> {
        let mut variables = self.tokens.clone();
        if let Some(thinking) = options.enable_thinking {
            variables.insert("enable_thinking".to_owned(), thinking.into());
        }
        // As in `transformers`, what is said last counts.
        variables.extend(conversation.variables.clone());
        let documents = Some(&conversation.documents).filter(|documents| !documents.is_empty());
        self.template(options)?
            .render(context! {
                messages => Value::from_serialize(&conversation.messages),
                tools => tools_of(options),
                documents => documents,
                add_generation_prompt => conversation.asks,
                ..Value::from_serialize(&variables)
            })
            .map_err(|error| reason_of(&error))
    }

    /// The template that these options ask for.
    fn template(&self, options: &ChatOptions) -> Result<Template<'_, '_>, PolicyError> {
        let own = tools_of(options).and_then(|_| self.environment.get_template(TOOL_USE).ok());
        match own {
            Some(template) => Ok(template),
            None => self.environment.get_template(DEFAULT).map_err(|error| reason_of(&error)),
        }
    }

    /// Its text.
    pub(super) fn source(&self, options: &ChatOptions) -> Result<String, PolicyError> {
        Ok(self.template(options)?.source().to_owned())
    }

    /// A template of this text.
    #[cfg(test)]
    pub(super) fn of(source: &str) -> Result<Self, PolicyError> {
        ChatTemplate::parse(vec![(DEFAULT.to_owned(), source.to_owned())], Map::new(), Vec::new())
    }
}

fn tools_of(options: &ChatOptions) -> Option<&Vec<serde_json::Value>> {
    Some(&options.tools).filter(|tools| !tools.is_empty())
}

/// Jinja as `transformers` sets it up.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    // Published templates call methods of Python's strings, such as `.startswith`.
    environment.set_unknown_method_callback(python_string::call);
    environment.add_filter("tojson", python_json::filter);
    environment.add_function("strftime_now", calendar::format);
    environment.add_function("raise_exception", |reason: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, reason))
    });
    environment
}

/// Blocks that mark what the model said, for masks that we do not need,
/// become blocks without effect.
fn without_generation_marks(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        let Some(length) = rest[start..].find("%}") else { break };
        let (before, tag) = (&rest[..start], &rest[start..start + length]);
        text.push_str(before);
        match tag[2..].trim_matches(['-', '+']).trim() {
            "generation" => text.push_str(&tag.replacen("generation", "if true", 1)),
            "endgeneration" => text.push_str(&tag.replacen("endgeneration", "endif", 1)),
            _ => text.push_str(tag),
        }
        rest = &rest[start + length..];
    }
    text + rest
}

/// What a template said, or what is wrong with it.
fn reason_of(error: &Error) -> PolicyError {
    refuse(error.detail().map_or_else(|| error.to_string(), str::to_owned))
}

fn refuse(reason: String) -> PolicyError {
    PolicyError::Template(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::trajectory::Author;

    fn parse(source: &str) -> ChatTemplate {
        with_tokens(source, Map::new())
    }

    fn with_tokens(source: &str, tokens: Map<String, serde_json::Value>) -> ChatTemplate {
        let templates = vec![(DEFAULT.to_owned(), source.to_owned())];
        ChatTemplate::parse(templates, tokens, Vec::new()).unwrap()
    }

    fn render(template: &ChatTemplate, messages: &[Message]) -> Result<String, PolicyError> {
        template.render(messages, &ChatOptions::default())
    }

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
        let template = ChatTemplate::plain().unwrap();
        assert_eq!(render(&template, &messages).unwrap(), "a b c <|assistant|>");
    }

    #[test]
    fn blocks_are_trimmed_and_json_is_spaced_as_in_python() {
        let source = "{% for m in messages %}\n  {% if true %}\n{{ m | tojson }}{{ eos_token }}\n  {% endif %}\n{% endfor %}";
        let tokens = serde_json::json!({ "eos_token": "<e>" });
        let template = with_tokens(source, tokens.as_object().unwrap().clone());
        let text = render(&template, &[message(Author::User, "<é>")]).unwrap();
        assert_eq!(text, "{\"role\": \"user\", \"content\": \"<é>\"}<e>\n");
    }

    #[test]
    fn templates_may_call_the_methods_of_pythons_strings() {
        let source = "{% for m in messages[::-1] %}{{ m.content.strip().split(' ')[-1] }}{{ m.role.startswith('us') }};{% endfor %}";
        let messages = [message(Author::System, " be good "), message(Author::User, "a b")];
        assert_eq!(render(&parse(source), &messages).unwrap(), "bTrue;goodFalse;");
    }

    #[test]
    fn a_template_can_refuse() {
        let error = render(&parse("{{ raise_exception('no roles') }}"), &[]).unwrap_err();
        assert_eq!(error.to_string(), "cannot use the chat template: no roles");
    }

    #[test]
    fn a_template_that_does_not_parse_is_refused_by_name_and_line() {
        let templates = vec![(DEFAULT.to_owned(), "a\n{% if %}".to_owned())];
        let error = ChatTemplate::parse(templates, Map::new(), Vec::new()).unwrap_err().to_string();
        assert!(error.contains("`default` cannot be parsed") && error.contains(":2"), "{error}");
    }

    #[test]
    fn prompts_with_tools_have_a_template_of_their_own_where_there_is_one() {
        let templates = [(DEFAULT, "plain {{ tools is none }}"), (TOOL_USE, "{{ tools[0].name }}")]
            .map(|(name, source)| (name.to_owned(), source.to_owned()));
        let template = ChatTemplate::parse(templates.to_vec(), Map::new(), Vec::new()).unwrap();
        let tools = vec![serde_json::json!({ "name": "look" })];
        assert_eq!(render(&template, &[]).unwrap(), "plain True");
        let options = ChatOptions { tools, ..ChatOptions::default() };
        assert_eq!(template.render(&[], &options).unwrap(), "look");
        assert_eq!(parse("{{ tools | length }}").render(&[], &options).unwrap(), "1");
    }

    #[test]
    fn templates_without_a_default_are_refused_with_their_names() {
        let templates = vec![("rag".to_owned(), String::new())];
        let error = ChatTemplate::parse(templates, Map::new(), Vec::new()).unwrap_err().to_string();
        assert!(error.contains("named `rag`, but none is named `default`"), "{error}");
    }

    #[test]
    fn thinking_is_on_off_or_up_to_the_template() {
        let template = parse("{{ enable_thinking is defined }} {{ enable_thinking }}");
        let options = |enable_thinking| ChatOptions { enable_thinking, ..ChatOptions::default() };
        assert_eq!(template.render(&[], &options(None)).unwrap(), "False ");
        assert_eq!(template.render(&[], &options(Some(false))).unwrap(), "True False");
    }

    #[test]
    fn marks_of_what_the_model_said_change_nothing() {
        let source =
            "a\n  {%- generation -%}  b {% endgeneration %}\nc {% raw %}{% x %}{% endraw %}";
        assert_eq!(render(&parse(source), &[]).unwrap(), "ab c {% x %}");
    }

    /// Prompts that `transformers` made of the templates in `tests/parity/templates`.
    #[derive(serde::Deserialize)]
    struct Golden {
        tokens: Map<String, serde_json::Value>,
        cases: Vec<Case>,
    }

    #[derive(serde::Deserialize)]
    struct Case {
        template: String,
        messages: Vec<serde_json::Value>,
        options: serde_json::Value,
        #[serde(default)]
        text: String,
        error: Option<String>,
    }

    impl Case {
        fn messages(&self) -> Vec<Message> {
            let author = |role: &serde_json::Value| serde_json::from_value(role.clone()).unwrap();
            let text = |content: &serde_json::Value| content.as_str().unwrap().to_owned();
            self.messages
                .iter()
                .map(|m| Message { author: author(&m["role"]), text: text(&m["content"]) })
                .collect()
        }

        fn options(&self) -> ChatOptions {
            ChatOptions {
                enable_thinking: self.options["enable_thinking"].as_bool(),
                tools: self.options["tools"].as_array().cloned().unwrap_or_default(),
            }
        }
    }

    #[test]
    fn prompts_are_those_of_transformers() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/parity");
        let golden: Golden =
            troupe_core::storage::read_json(&folder.join("golden/templates.json")).unwrap();
        assert!(golden.cases.len() >= 200, "100 that somebody thought of and 100 drawn ones");
        for case in golden.cases {
            let source = std::fs::read_to_string(folder.join("templates").join(&case.template));
            let template = with_tokens(&source.unwrap(), golden.tokens.clone());
            let found = template.render(&case.messages(), &case.options());
            let found = found.map_err(|error| error.to_string());
            let expected = match &case.error {
                Some(reason) => Err(format!("cannot use the chat template: {reason}")),
                None => Ok(case.text.clone()),
            };
            assert_eq!(found, expected, "{} {:?} {}", case.template, case.messages, case.options);
        }
    }

    #[test]
    fn loops_can_be_left() {
        let source = "{% for n in [1, 2, 3, 4] %}{% if n == 2 %}{% continue %}{% endif %}{% if n == 4 %}{% break %}{% endif %}{{ n }}{% endfor %}";
        assert_eq!(render(&parse(source), &[]).unwrap(), "13");
    }
}
