//! Every field that a request may have: done, without effect, or refused by its name. The page
//! `docs/serve-policies.md` is written from these lists.

#[cfg(test)]
mod page;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use super::answer::Form;
use super::refused::Refused;
use troupe_core::error::suggestion;
use troupe_model::{says, shown};

/// A field, of a request or of what lies in one.
pub(super) struct Field {
    pub(super) name: &'static str,
    /// The requests, or the roles of messages, that may have it; all, if empty.
    pub(super) of: &'static [&'static str],
    pub(super) does: Does,
    /// For the page.
    pub(super) note: &'static str,
}

/// What a field does.
#[derive(Clone, Copy)]
pub(super) enum Does {
    /// What it says.
    Heeded,
    /// Nothing that an answer would show.
    Nothing,
    /// What it asks for is not done, but for these values, as JSON, that ask for nothing.
    Only(&'static [&'static str]),
    /// The same, where it depends on the other fields.
    If(fn(&Value, &Map<String, Value>) -> bool),
}

use Does::{Heeded, If, Nothing, Only};

const CHAT: &[&str] = &["chat"];
const TEXT: &[&str] = &["completion"];
const BOTH: &[&str] = &[];

const fn field(
    name: &'static str,
    of: &'static [&'static str],
    does: Does,
    note: &'static str,
) -> Field {
    Field { name, of, does, note }
}

/// The fields of a request.
pub(super) const REQUEST: &[Field] = &[
    field("model", BOTH, Heeded, "the policy or an adapter; the policy if left out"),
    field("messages", CHAT, Heeded, "see below"),
    field("prompt", TEXT, Heeded, "a text, token ids, or a list of either"),
    field(
        "max_completion_tokens",
        BOTH,
        Heeded,
        "tokens of an answer at most; if left out 1024, or as many as there is room for",
    ),
    field("max_tokens", BOTH, Heeded, "its older name"),
    field("temperature", BOTH, Heeded, "1 if left out; 0 takes the likeliest token"),
    field("top_p", BOTH, Heeded, ""),
    field("top_k", BOTH, Heeded, "-1 and 0 keep all"),
    field("min_p", BOTH, Heeded, ""),
    field("repetition_penalty", BOTH, Heeded, ""),
    field(
        "seed",
        BOTH,
        Heeded,
        "the same request gets the same answer, whatever else is in the batch",
    ),
    field("n", BOTH, Heeded, "answers to each prompt"),
    field("stop", BOTH, Heeded, "texts that end an answer and are no part of it"),
    field("stream", BOTH, Heeded, ""),
    field("stream_options", BOTH, Heeded, "see below"),
    field("logprobs", BOTH, If(asks_for_drawn), "in a chat `true`, else `0`: of the drawn tokens"),
    field("top_logprobs", CHAT, Only(&["0"]), ""),
    field(
        "tools",
        CHAT,
        If(are_functions),
        "functions, told to the template; what the policy calls stands in its text",
    ),
    field(
        "tool_choice",
        CHAT,
        Only(&["\"auto\"", "\"none\""]),
        "it is not made to call, nor kept from it",
    ),
    field(
        "parallel_tool_calls",
        CHAT,
        If(or_no_tools),
        "`false` is only for requests without tools",
    ),
    field("documents", CHAT, Heeded, "told to the template"),
    field(
        "chat_template_kwargs",
        CHAT,
        Heeded,
        "variables of the template, such as `enable_thinking`",
    ),
    field("add_generation_prompt", CHAT, Heeded, ""),
    field(
        "add_special_tokens",
        BOTH,
        Heeded,
        "what the tokenizer begins a text with; `false` in a chat, whose template says it, else `true`",
    ),
    field("return_token_ids", BOTH, Heeded, "vLLM's: ids of prompt and answer"),
    field(
        "return_tokens_as_token_ids",
        BOTH,
        Heeded,
        "vLLM's: tokens of log-probabilities as `token_id:7`",
    ),
    // Of OpenAI.
    field("audio", CHAT, Only(&[]), ""),
    field("best_of", TEXT, If(is_n), "as many as `n`"),
    field("echo", BOTH, Only(&["false"]), ""),
    field("frequency_penalty", BOTH, Only(&["0"]), ""),
    field("function_call", CHAT, Only(&["\"auto\"", "\"none\""]), ""),
    field("functions", CHAT, Only(&["[]"]), "say `tools`"),
    field("logit_bias", BOTH, Only(&["{}"]), ""),
    field("metadata", CHAT, Nothing, "nothing is stored"),
    field("modalities", CHAT, Only(&["[\"text\"]"]), ""),
    field("moderation", CHAT, Only(&[]), ""),
    field("prediction", CHAT, Nothing, "a hint for speed"),
    field("presence_penalty", BOTH, Only(&["0"]), ""),
    field("prompt_cache_key", CHAT, Nothing, "what was read before is found by itself"),
    field("prompt_cache_options", CHAT, Nothing, ""),
    field("prompt_cache_retention", CHAT, Nothing, ""),
    field(
        "reasoning_effort",
        CHAT,
        Only(&[]),
        "say it in `chat_template_kwargs`, if the template reads it",
    ),
    field("response_format", BOTH, Only(&["{\"type\":\"text\"}"]), ""),
    field("safety_identifier", CHAT, Nothing, ""),
    field("service_tier", BOTH, Nothing, ""),
    field("store", CHAT, Nothing, "nothing is stored"),
    field("suffix", TEXT, Only(&["\"\""]), ""),
    field("user", BOTH, Nothing, ""),
    field("verbosity", CHAT, Only(&["\"medium\""]), ""),
    field("web_search_options", CHAT, Only(&[]), ""),
    // Of vLLM and SGLang.
    field("allowed_token_ids", BOTH, Only(&[]), ""),
    field("bad_words", BOTH, Only(&["[]"]), ""),
    field("cache_salt", BOTH, Nothing, ""),
    field("chat_template", CHAT, Only(&[]), "the checkpoint's own is used"),
    field("continue_final_message", CHAT, Only(&["false"]), ""),
    field("custom_logit_processor", BOTH, Only(&[]), ""),
    field("custom_params", BOTH, Only(&["{}"]), ""),
    field("early_stopping", BOTH, Only(&["false"]), ""),
    field("ebnf", BOTH, Only(&[]), ""),
    field("guided_choice", BOTH, Only(&[]), ""),
    field("guided_decoding_backend", BOTH, Only(&[]), ""),
    field("guided_grammar", BOTH, Only(&[]), ""),
    field("guided_json", BOTH, Only(&[]), ""),
    field("guided_regex", BOTH, Only(&[]), ""),
    field("guided_whitespace_pattern", BOTH, Only(&[]), ""),
    field("ignore_eos", BOTH, Only(&["false"]), ""),
    field("include_reasoning", CHAT, Only(&["true"]), "thoughts stand in the text"),
    field("include_stop_str_in_output", BOTH, Only(&["false"]), ""),
    field("json_schema", BOTH, Only(&[]), ""),
    field("kv_transfer_params", BOTH, Only(&["{}"]), ""),
    field("length_penalty", BOTH, Only(&["1"]), ""),
    field("logits_processors", BOTH, Only(&["[]"]), ""),
    field("lora_path", BOTH, Only(&[]), "say it as `model`"),
    field("min_tokens", BOTH, Only(&["0"]), ""),
    field("mm_processor_kwargs", BOTH, Only(&["{}"]), ""),
    field("no_stop_trim", BOTH, Only(&["false"]), ""),
    field("priority", BOTH, Nothing, "all are answered side by side"),
    field("prompt_logprobs", BOTH, Only(&[]), ""),
    field("regex", BOTH, Only(&[]), ""),
    field("request_id", BOTH, Nothing, ""),
    field("return_hidden_states", BOTH, Only(&["false"]), ""),
    field("rid", BOTH, Nothing, ""),
    field("separate_reasoning", CHAT, Only(&["false"]), "thoughts stand in the text"),
    field("session_params", BOTH, Only(&["{}"]), ""),
    field("skip_special_tokens", BOTH, Only(&["true"]), ""),
    field("spaces_between_special_tokens", BOTH, Nothing, "special tokens have no text"),
    field("stop_regex", BOTH, Only(&["[]"]), ""),
    field(
        "stop_token_ids",
        BOTH,
        Heeded,
        "those that end the policy's answers anyway; others are refused",
    ),
    field("stream_reasoning", CHAT, Nothing, ""),
    field("structural_tag", BOTH, Only(&[]), ""),
    field("structured_outputs", BOTH, Only(&[]), ""),
    field("thinking_token_budget", BOTH, Only(&[]), ""),
    field("truncate_prompt_tokens", BOTH, Only(&["-1"]), ""),
    field("use_beam_search", BOTH, Only(&["false"]), ""),
    field("vllm_xargs", BOTH, Only(&["{}"]), ""),
];

/// The fields of a question to a team that mean something else there, or nothing: it is asked,
/// and its run says how it answers.
pub(super) const TEAM: &[Field] = &[
    field("model", CHAT, Heeded, "the run, or one of its families as `run/family`"),
    field("messages", CHAT, Heeded, "one of role `user`: the question"),
    field("temperature", CHAT, Heeded, "0, as if left out, or the run's own"),
    field("seed", CHAT, Heeded, "the number of the task in `host eval`; 0 if left out"),
    field("n", CHAT, Heeded, "episodes of it, 64 at most"),
    field("stream", CHAT, Heeded, ""),
    field("stream_options", CHAT, Heeded, "as below"),
    field("max_completion_tokens", CHAT, Only(&[]), "the run limits what its roles say"),
    field("max_tokens", CHAT, Only(&[]), "the run limits what its roles say"),
    field("top_p", CHAT, Only(&["1"]), "the run's own is used"),
    field("top_k", CHAT, Only(&["-1", "0"]), "the run's own is used"),
    field("min_p", CHAT, Only(&["0"]), "the run's own is used"),
    field("repetition_penalty", CHAT, Only(&["1"]), ""),
    field("stop", CHAT, Only(&["[]"]), ""),
    field("logprobs", CHAT, Only(&["false"]), ""),
    field("tools", CHAT, Only(&["[]"]), "its workflow says which tools it has"),
    field("parallel_tool_calls", CHAT, Nothing, ""),
    field("documents", CHAT, Only(&["[]"]), ""),
    field("chat_template_kwargs", CHAT, Only(&["{}"]), ""),
    field("add_generation_prompt", CHAT, Only(&["true"]), ""),
    field("add_special_tokens", CHAT, Only(&["false"]), ""),
    field("return_token_ids", CHAT, Only(&["false"]), ""),
    field("return_tokens_as_token_ids", CHAT, Only(&["false"]), ""),
    field("stop_token_ids", CHAT, Only(&["[]"]), ""),
    field(
        "separate_reasoning",
        CHAT,
        Only(&["true"]),
        "what was said stands apart from the answer",
    ),
];

/// What `stream_options` may say.
pub(super) const STREAM: &[Field] = &[
    field("include_usage", BOTH, Heeded, "the stream ends with what was used"),
    field("include_obfuscation", BOTH, Nothing, "nothing is added to pieces"),
    field("continuous_usage_stats", BOTH, Only(&["false"]), ""),
];

const ASSISTANT: &[&str] = &["assistant"];

/// The fields of a message, by its role.
pub(super) const MESSAGE: &[Field] = &[
    field(
        "role",
        BOTH,
        Heeded,
        "`system` (or `developer`, which is the same), `user`, `assistant`, `tool`",
    ),
    field(
        "content",
        BOTH,
        Heeded,
        "a text, or a list of parts, which are put together as they stand; may be left out of an assistant's",
    ),
    field("name", BOTH, Heeded, "refused where the template does not show it, but for a tool's"),
    field(
        "tool_calls",
        ASSISTANT,
        Heeded,
        "`function` calls; refused where the template does not show them",
    ),
    field("tool_call_id", &["tool"], Heeded, "told to the template"),
    field("reasoning_content", ASSISTANT, Heeded, "told to a template that reads it"),
    field("reasoning", ASSISTANT, Heeded, "the same"),
    field("refusal", ASSISTANT, Only(&["\"\""]), ""),
    field("audio", ASSISTANT, Only(&[]), ""),
    field("function_call", ASSISTANT, Only(&[]), "say `tool_calls`"),
    field("annotations", ASSISTANT, Only(&["[]"]), ""),
];

/// The fields of a part of a message's content.
pub(super) const PART: &[Field] = &[
    field("type", BOTH, Only(&["\"text\""]), ""),
    field("text", BOTH, Heeded, ""),
    field("cache_control", BOTH, Nothing, ""),
    field("prompt_cache_breakpoint", BOTH, Nothing, ""),
];

/// The fields of one of `tool_calls`.
pub(super) const CALL: &[Field] = &[
    field("id", BOTH, Heeded, "told to the template"),
    field("type", BOTH, Only(&["\"function\""]), ""),
    field(
        "function",
        BOTH,
        Heeded,
        "`name`, and `arguments` as JSON in a text, which the template is told as an object",
    ),
    field("index", BOTH, Nothing, ""),
];

/// The fields of its `function`.
pub(super) const FUNCTION: &[Field] =
    &[field("name", BOTH, Heeded, ""), field("arguments", BOTH, Heeded, "")];

/// A chat asks for log-probabilities by a truth value, a completion by a number of alternatives.
fn asks_for_drawn(value: &Value, request: &Map<String, Value>) -> bool {
    match request.contains_key("messages") {
        true => value.is_boolean(),
        false => *value == 0,
    }
}

fn is_n(value: &Value, request: &Map<String, Value>) -> bool {
    let n = request.get("n").filter(|n| !n.is_null()).and_then(Value::as_u64).unwrap_or(1);
    value.as_u64() == Some(n)
}

fn or_no_tools(value: &Value, request: &Map<String, Value>) -> bool {
    let has_tools =
        request.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
    value.is_boolean() && (*value == true || !has_tools)
}

/// Nothing holds a call to what `strict` promises.
fn are_functions(value: &Value, _: &Map<String, Value>) -> bool {
    let is_function = |tool: &Value| {
        let kind = tool.get("type").unwrap_or(&Value::Null);
        let is_strict = tool.pointer("/function/strict").is_some_and(|strict| *strict == true);
        tool.is_object() && (kind.is_null() || *kind == "function") && !is_strict
    };
    value.as_array().is_some_and(|tools| tools.iter().all(is_function))
}

/// The same for a question to a team.
pub(super) fn check_team(object: &Map<String, Value>) -> Result<(), Refused> {
    let is_own = |name: &str| TEAM.iter().any(|field| field.name == name);
    let (own, others): (Map<_, _>, Map<_, _>) =
        object.clone().into_iter().partition(|(name, _)| is_own(name));
    let kind = (Form::Chat.word(), "a question to a team");
    check(TEAM, kind, &own, "")?;
    check(REQUEST, kind, &others, "")
}

impl Form {
    /// The word for it in these lists.
    pub(super) fn word(self) -> &'static str {
        match self {
            Form::Chat => "chat",
            Form::Text => "completion",
        }
    }

    /// What errors call it.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Form::Chat => "a request for a chat",
            Form::Text => "a request for a completion",
        }
    }
}

impl Field {
    fn is_of(&self, kind: &str) -> bool {
        self.of.is_empty() || self.of.contains(&kind)
    }

    fn check(
        &self,
        value: &Value,
        object: &Map<String, Value>,
        place: &str,
    ) -> Result<(), Refused> {
        let name = self.name;
        let advice = match (self.does, self.note) {
            (Heeded | Nothing, _) => return Ok(()),
            (If(is_fine), _) if is_fine(value, object) => return Ok(()),
            (Only(fine), _) if fine.iter().any(|text| says(value, text)) => return Ok(()),
            (_, "") => "leave it out".to_owned(),
            (_, note) => format!("leave it out ({note})"),
        };
        let message =
            format!("`{place}{name}` is `{}`, which is not supported; {advice}", shown(value));
        Err(Refused::field(name, message))
    }
}

/// Refuse the first field that would be passed over although an answer would show it. `kind` is
/// that of the request or message, which errors call `noun`; `place` stands before names there.
pub(super) fn check(
    fields: &'static [Field],
    (kind, noun): (&str, &str),
    object: &Map<String, Value>,
    place: &str,
) -> Result<(), Refused> {
    for (name, value) in object.iter().filter(|(_, value)| !value.is_null()) {
        match fields.iter().find(|field| field.name == name && field.is_of(kind)) {
            Some(field) => field.check(value, object, place)?,
            None => {
                let known = fields.iter().filter(|field| field.is_of(kind)).map(|field| field.name);
                let meant = suggestion(name, known.collect::<Vec<_>>());
                let hint =
                    if meant.starts_with("; did") { meant } else { "; leave it out".to_owned() };
                let name = name.escape_debug();
                let message = format!("there is no field `{place}{name}` in {noun}{hint}");
                return Err(Refused::field(&name.to_string(), message));
            }
        }
    }
    Ok(())
}
