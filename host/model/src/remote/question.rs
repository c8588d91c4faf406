//! What a server is asked for one answer.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::ChatRequest;
use crate::constraint::Constraint;
use crate::sampling::Sampling;
use troupe_core::seed::Seed;

/// The body of one request, field by field.
pub(super) struct RequestBody {
    fields: Vec<Field>,
}

struct Field {
    name: &'static str,
    value: Value,
    /// Whether the answer is drawn alike without it.
    dispensable: bool,
}

impl RequestBody {
    /// The body for one answer, without the fields that the server refuses.
    ///
    /// What does not restrict the sampling is sent, too: servers otherwise take
    /// what the model's `generation_config.json` recommends. A server that
    /// knows no such field need not be told that it is off.
    pub(super) fn new(
        model: &str,
        request: &ChatRequest,
        sampling: &Sampling,
        seed: Seed,
        template: &Map<String, Value>,
        refused: &BTreeSet<&'static str>,
    ) -> RequestBody {
        let field = |name, value| Field { name, value, dispensable: false };
        let extra = |name, value| Field { name, value, dispensable: true };
        let neutral = |name, value: f64, off: f64| Field {
            name,
            value: json!(value),
            dispensable: value == off,
        };
        let told =
            request.messages.iter().map(|m| json!({"role": m.author.name(), "content": m.text}));
        // Servers have -1 for "all"; to some of them 0 is an error.
        let top_k = if sampling.top_k == 0 { json!(-1) } else { json!(sampling.top_k) };
        let limit = sampling.max_completion_tokens;
        let mut fields = vec![
            field("model", json!(model)),
            field("messages", told.collect()),
            field("stream", json!(false)),
            field("temperature", json!(sampling.temperature)),
            field("top_p", json!(sampling.top_p)),
            Field { name: "top_k", value: top_k, dispensable: sampling.top_k == 0 },
            neutral("min_p", sampling.min_p, 0.0),
            neutral("repetition_penalty", sampling.repetition_penalty, 1.0),
            extra("seed", json!(seed.value_u32())),
            extra("logprobs", json!(true)),
            extra("return_token_ids", json!(true)),
        ];
        // The older of the two names, for servers that do not know the newer one.
        fields.push(if refused.contains("max_completion_tokens") {
            field("max_tokens", json!(limit))
        } else {
            extra("max_completion_tokens", json!(limit))
        });
        if !sampling.stop.is_empty() {
            fields.push(field("stop", json!(sampling.stop)));
        }
        if let Some(Constraint::Schema(schema)) = &sampling.constraint {
            let schema = json!({"name": "answer", "schema": **schema, "strict": true});
            let format = json!({"type": "json_schema", "json_schema": schema});
            fields.push(field("response_format", format));
        }
        if !request.tools.is_empty() {
            fields.push(field("tools", json!(request.tools)));
            // It is told of them, and how it calls one stands in its text: the workflow reads that.
            fields.push(extra("tool_choice", json!("none")));
        }
        let mut template = template.clone();
        if let Some(thinking) = request.thinking {
            template.insert("enable_thinking".to_owned(), json!(thinking));
        }
        if !template.is_empty() {
            fields.push(field("chat_template_kwargs", Value::Object(template)));
        }
        fields.retain(|field| !(field.dispensable && refused.contains(field.name)));
        RequestBody { fields }
    }

    /// The JSON text.
    pub(super) fn json(&self) -> Vec<u8> {
        let entries = self.fields.iter().map(|field| (field.name.to_owned(), field.value.clone()));
        Value::Object(entries.collect()).to_string().into_bytes()
    }

    /// The fields that a refusal names and that can be left out.
    pub(super) fn named_in(&self, refusal: &str) -> Vec<&'static str> {
        let mut words: BTreeSet<&str> = BTreeSet::new();
        words.extend(refusal.split(|c: char| !(c.is_alphanumeric() || c == '_')));
        let dispensable = self.fields.iter().filter(|field| field.dispensable);
        dispensable.map(|field| field.name).filter(|name| words.contains(name)).collect()
    }
}

/// A request that any server answers that has the model.
pub(super) fn trial(model: &str) -> Vec<u8> {
    let messages = [json!({"role": "user", "content": "Hello"})];
    let body = json!({"model": model, "messages": messages, "stream": false, "max_tokens": 1});
    body.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(sampling: &Sampling, refused: &[&'static str]) -> (RequestBody, Value) {
        with_tools(Vec::new(), sampling, refused)
    }

    fn with_tools(
        tools: Vec<Value>,
        sampling: &Sampling,
        refused: &[&'static str],
    ) -> (RequestBody, Value) {
        let refused = refused.iter().copied().collect();
        let (messages, seeds) = (Vec::new(), Vec::new());
        let request = ChatRequest { messages, tools, thinking: None, seeds };
        let fields = RequestBody::new("m", &request, sampling, Seed::new(1), &Map::new(), &refused);
        let body = serde_json::from_slice(&fields.json()).unwrap();
        (fields, body)
    }

    #[test]
    fn what_does_not_restrict_the_sampling_is_said_and_may_be_left_out() {
        let (fields, body) = fields(&Sampling::greedy(7), &[]);
        assert_eq!((&body["top_k"], &body["top_p"]), (&json!(-1), &json!(1.0)));
        assert_eq!(body["max_completion_tokens"], 7);
        assert_eq!(fields.named_in("unexpected: {'top_k', 'seed'}"), ["top_k", "seed"]);
        assert!(fields.named_in("top_p: bad; top_logprobs: worse").is_empty());
    }

    #[test]
    fn what_restricts_the_sampling_is_never_left_out() {
        let stop = vec!["###".to_owned()];
        let sampling = Sampling { top_k: 20, min_p: 0.1, stop, ..Sampling::greedy(7) };
        let (fields, body) = fields(&sampling, &["top_k", "min_p", "repetition_penalty"]);
        assert_eq!((&body["top_k"], &body["min_p"]), (&json!(20), &json!(0.1)));
        assert_eq!(body["stop"], json!(["###"]));
        assert!(body.get("repetition_penalty").is_none(), "it is off anyway");
        assert!(fields.named_in("top_k, min_p and stop are not known").is_empty());
    }

    #[test]
    fn tools_are_told_and_the_server_leaves_calls_in_the_text() {
        let sampling = Sampling::greedy(7);
        let (_, body) = fields(&sampling, &[]);
        assert!(body.get("tools").or(body.get("tool_choice")).is_none());
        let tool = json!({"type": "function", "function": {"name": "search"}});
        let (fields, body) = with_tools(vec![tool.clone()], &sampling, &[]);
        assert_eq!((&body["tools"], &body["tool_choice"]), (&json!([tool]), &json!("none")));
        assert_eq!(fields.named_in("tools, tool_choice are not known"), ["tool_choice"]);
    }

    #[test]
    fn a_schema_is_told_and_never_left_out() {
        let schema = json!({"type": "object"});
        let constraint = Some(Constraint::Schema(schema.clone().into()));
        let sampling = Sampling { constraint, ..Sampling::greedy(7) };
        let (fields, body) = fields(&sampling, &["response_format"]);
        assert_eq!(body["response_format"]["json_schema"]["schema"], schema);
        assert!(fields.named_in("response_format is not known").is_empty());
    }

    #[test]
    fn the_limit_has_an_older_name() {
        let (_, body) = fields(&Sampling::greedy(7), &["max_completion_tokens", "logprobs"]);
        assert_eq!(body["max_tokens"], 7);
        assert!(body.get("max_completion_tokens").or(body.get("logprobs")).is_none());
    }
}
