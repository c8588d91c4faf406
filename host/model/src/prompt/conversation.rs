//! What a client says: messages with all that its interface lets them have.

use serde_json::{Map, Value, json};

use super::chat_template::{ChatOptions, ChatTemplate};
use crate::error::PolicyError;

/// Variables that are said in another way.
const TAKEN: [&str; 4] = ["add_generation_prompt", "documents", "messages", "tools"];
/// Variables that, being false, ask a template that does not think for what it does anyway.
const THINKING: [&str; 2] = ["enable_thinking", "thinking"];
/// Fields of messages that a template decides for itself when to show.
const THOUGHTS: [&str; 2] = ["reasoning", "reasoning_content"];

/// What a client says. Messages go to the chat template as they are, as in `transformers`; what
/// the template has no place for is refused, and not left out.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Objects with `role` and `content`, and what else a template may read.
    pub messages: Vec<Value>,
    /// Functions that the policy is told of, beside those of its own table.
    pub tools: Vec<Value>,
    /// Texts that it may answer from.
    pub documents: Vec<Value>,
    /// Further variables of the template.
    pub variables: Map<String, Value>,
    /// Whether the prompt goes on to where an answer begins.
    pub asks: bool,
}

impl Conversation {
    /// The prompt, if all that is said has a place in it.
    pub(super) fn render(
        &self,
        template: &ChatTemplate,
        options: &ChatOptions,
    ) -> Result<String, PolicyError> {
        let options = options.with(&self.tools, None);
        let source = template.source(&options)?;
        self.check_variables(&source).map_err(PolicyError::Template)?;
        self.check_fields(&source).map_err(PolicyError::Template)?;
        let text = template.render_conversation(self, &options)?;
        self.check_shown(&text, |other| template.render_conversation(other, &options).ok())?;
        Ok(text)
    }

    fn check_variables(&self, source: &str) -> Result<(), String> {
        for (name, value) in &self.variables {
            if TAKEN.contains(&name.as_str()) {
                return Err(format!(
                    "`{name}` in `chat_template_kwargs` is a field of the request; say it there"
                ));
            }
            let asks_for_nothing = THINKING.contains(&name.as_str()) && *value == false;
            if !(asks_for_nothing || mentions(source, name)) {
                return Err(format!(
                    "`{name}` in `chat_template_kwargs` is no variable that it reads; leave it out"
                ));
            }
        }
        Ok(())
    }

    fn check_fields(&self, source: &str) -> Result<(), String> {
        let unread = |field: &str| format!("it shows no `{field}`; leave them out");
        let knows_calls = mentions(source, "tool_calls");
        if !self.tools.is_empty() && !mentions(source, "tools") && !knows_calls {
            return Err(unread("tools"));
        }
        if !self.documents.is_empty() && !mentions(source, "documents") {
            return Err(unread("documents"));
        }
        let unheard = |field: &&str| {
            !mentions(source, field) && self.messages.iter().any(|one| one.get(field).is_some())
        };
        match THOUGHTS.into_iter().find(unheard) {
            Some(field) => Err(unread(field)),
            None => Ok(()),
        }
    }

    /// A prompt that is the same without something is one that does not say it.
    fn check_shown(
        &self,
        text: &str,
        render: impl Fn(&Conversation) -> Option<String>,
    ) -> Result<(), PolicyError> {
        for (field, what, change) in [
            ("tool_calls", "names of `tool_calls`", rename as fn(&mut Value)),
            ("tool_calls", "arguments of `tool_calls`", change_arguments),
            ("name", "`name` of a message", unname),
        ] {
            let mut other = self.clone();
            other.messages.iter_mut().filter(|one| one.get(field).is_some()).for_each(change);
            if other.messages != self.messages && render(&other).as_deref() == Some(text) {
                let reason = format!("it does not show the {what}; leave it out");
                return Err(PolicyError::Template(reason));
            }
        }
        Ok(())
    }
}

fn functions(message: &mut Value) -> impl Iterator<Item = &mut Value> {
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    calls.into_iter().flatten().filter_map(|call| call.get_mut("function"))
}

fn rename(message: &mut Value) {
    functions(message).for_each(|function| {
        let name = function["name"].as_str().unwrap_or_default();
        function["name"] = format!("{name}_").into();
    });
}

fn change_arguments(message: &mut Value) {
    functions(message).filter(|function| function["arguments"] != json!({})).for_each(|function| {
        function["arguments"] = json!({});
    });
}

/// A tool's answer is known by its call, so its name need not be shown.
fn unname(message: &mut Value) {
    if message["role"] != "tool"
        && let Some(message) = message.as_object_mut()
    {
        message.remove("name");
    }
}

/// Whether a template has this word.
fn mentions(source: &str, word: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(|c| c.is_alphanumeric() || c == '_');
    source.match_indices(word).any(|(start, _)| {
        let (before, after) = (&source[..start], &source[start + word.len()..]);
        !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "{% for m in messages %}{{ m.role }}: {{ m.content }};{% endfor %}{% if add_generation_prompt %}?{% endif %}";
    const TOOLS: &str = "{% if tools %}{{ tools | length }} tools {% endif %}{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }}({% for k, v in c.function.arguments | items %}{{ k }}={{ v }}{% endfor %}){% endfor %};{% endfor %}";

    fn said(messages: Value) -> Conversation {
        Conversation {
            messages: messages.as_array().unwrap().clone(),
            tools: Vec::new(),
            documents: Vec::new(),
            variables: Map::new(),
            asks: true,
        }
    }

    fn render(source: &str, said: &Conversation) -> Result<String, String> {
        let template = ChatTemplate::of(source).unwrap();
        said.render(&template, &ChatOptions::default()).map_err(|error| error.to_string())
    }

    fn called(arguments: Value) -> Value {
        let function = json!({ "name": "look", "arguments": arguments });
        json!([
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": "",
              "tool_calls": [{ "id": "c", "type": "function", "function": function }] },
            { "role": "tool", "content": "sunny", "tool_call_id": "c", "name": "look" },
        ])
    }

    #[test]
    fn calls_of_tools_are_shown_with_their_arguments_or_refused() {
        let conversation = said(called(json!({ "city": "Rome" })));
        assert_eq!(render(TOOLS, &conversation).unwrap(), "go;look(city=Rome);sunny;");
        assert_eq!(render(TOOLS, &said(called(json!({})))).unwrap(), "go;look();sunny;");
        let error = render(PLAIN, &conversation).unwrap_err();
        assert!(error.contains("does not show the names of `tool_calls`"), "{error}");
        let nameless = TOOLS.replace("c.function.name", "'f'");
        assert!(render(&nameless, &conversation).unwrap_err().contains("names of `tool_calls`"));
        let names = "{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.name }}{% endfor %}{% endfor %}";
        let error = render(names, &conversation).unwrap_err();
        assert!(error.contains("arguments of `tool_calls`"), "{error}");
    }

    #[test]
    fn what_a_template_has_no_place_for_is_refused() {
        let plain = || said(json!([{ "role": "user", "content": "hi" }]));
        assert_eq!(render(PLAIN, &plain()).unwrap(), "user: hi;?");
        let unasked = Conversation { asks: false, ..plain() };
        assert_eq!(render(PLAIN, &unasked).unwrap(), "user: hi;");
        let tools = Conversation { tools: vec![json!({ "name": "look" })], ..plain() };
        assert_eq!(render(TOOLS, &tools).unwrap(), "1 tools hi;");
        assert!(render(PLAIN, &tools).unwrap_err().contains("no `tools`"));
        let documents = Conversation { documents: vec![json!({ "text": "x" })], ..plain() };
        assert!(render(PLAIN, &documents).unwrap_err().contains("no `documents`"));
        let shows = "{{ documents[0].text }}";
        assert_eq!(render(shows, &documents).unwrap(), "x");
        let named = said(json!([{ "role": "user", "content": "hi", "name": "Ann" }]));
        assert!(render(PLAIN, &named).unwrap_err().contains("`name` of a message"));
        assert_eq!(render("{{ messages[0].name }}", &named).unwrap(), "Ann");
        let thought = said(json!([{ "role": "user", "content": "", "reasoning_content": "so" }]));
        assert!(render(PLAIN, &thought).unwrap_err().contains("no `reasoning_content`"));
        assert_eq!(render("{{ messages[0].reasoning_content }}", &thought).unwrap(), "so");
    }

    #[test]
    fn variables_are_those_that_the_template_reads() {
        let with = |name: &str, value: Value| {
            let mut conversation = said(json!([{ "role": "user", "content": "hi" }]));
            conversation.variables.insert(name.to_owned(), value);
            conversation
        };
        let thinks = "{{ enable_thinking is defined and enable_thinking }} {{ effort }}";
        assert_eq!(render(thinks, &with("enable_thinking", json!(true))).unwrap(), "True ");
        assert_eq!(render(thinks, &with("effort", json!("low"))).unwrap(), "False low");
        for name in ["effor", "thinking_budget", "messages", "tools"] {
            let error = render(thinks, &with(name, json!(1))).unwrap_err();
            assert!(error.contains(&format!("`{name}` in `chat_template_kwargs`")), "{error}");
        }
        assert_eq!(render(PLAIN, &with("enable_thinking", json!(false))).unwrap(), "user: hi;?");
        assert!(render(PLAIN, &with("enable_thinking", json!(true))).is_err());
    }
}
