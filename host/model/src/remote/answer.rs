//! What a server answers.

use serde::Deserialize;

use super::failure::{RemoteFailure, RemoteFailureKind};
use super::quoted_list;
use troupe_core::trajectory::{Completion, StopReason};

/// The models of a server.
#[derive(Deserialize)]
pub(super) struct Models {
    data: Vec<ModelEntry>,
}

#[derive(Deserialize)]
struct ModelEntry {
    id: String,
}

impl Models {
    /// The model wanted, or the only one.
    pub(super) fn choose(self, wanted: Option<&str>) -> Result<String, String> {
        let names: Vec<String> = self.data.into_iter().map(|model| model.id).collect();
        let listed = quoted_list(names.iter().map(String::as_str));
        match (wanted, names.as_slice()) {
            (Some(wanted), names) if names.iter().any(|name| name == wanted) => {
                Ok(wanted.to_owned())
            }
            (Some(wanted), _) => Err(format!("it has no model `{wanted}`; it lists {listed}")),
            (None, [only]) => Ok(only.clone()),
            (None, _) => Err(format!("`model` must say which of its models; it lists {listed}")),
        }
    }
}

/// One answer as the server gives it; unknown fields are passed over.
#[derive(Deserialize)]
pub(super) struct Answer {
    choices: Vec<Choice>,
    /// vLLM's extension.
    prompt_token_ids: Option<Vec<u32>>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    completion_tokens: Option<usize>,
}

#[derive(Deserialize)]
struct Choice {
    message: Said,
    finish_reason: Option<String>,
    logprobs: Option<Logprobs>,
    /// vLLM's extension.
    token_ids: Option<Vec<u32>>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
}

#[derive(Deserialize)]
struct Logprobs {
    content: Option<Vec<Token>>,
}

#[derive(Deserialize)]
struct Token {
    token: String,
    logprob: Option<f32>,
}

impl Answer {
    /// Read a response's body.
    pub(super) fn read(body: &[u8]) -> Result<Answer, RemoteFailure> {
        serde_json::from_slice(body).map_err(|error| {
            RemoteFailureKind::Malformed.because(format!(
                "the server's answer is not a chat completion as expected: {error}"
            ))
        })
    }

    /// The completion and the prompt's token ids, which may be empty.
    pub(super) fn into_completion(self) -> Result<(Vec<u32>, Completion), RemoteFailure> {
        let Some(choice) = self.choices.into_iter().next() else {
            return Err(RemoteFailureKind::Malformed.because("the server's answer has no choices"));
        };
        let stop = match choice.finish_reason.as_deref() {
            Some("stop") => StopReason::EndOfText,
            Some("length") => StopReason::Length,
            Some(other) => {
                let message = format!("the server ended the answer for the reason `{other}`");
                return Err(RemoteFailureKind::Refused.because(message));
            }
            None => {
                let message = "the server's answer does not say why it ended";
                return Err(RemoteFailureKind::Malformed.because(message));
            }
        };
        let scored = choice.logprobs.and_then(|logprobs| logprobs.content).unwrap_or_default();
        let tokens = choice.token_ids.or_else(|| ids(&scored)).unwrap_or_default();
        let logprobs: Option<Vec<f32>> = scored.iter().map(|token| token.logprob).collect();
        // Numbers that cannot be told which token they belong to say nothing.
        let logprobs = logprobs.filter(|all| all.len() == tokens.len()).unwrap_or_default();
        let text = choice.message.content.unwrap_or_default();
        let usage = self.usage.and_then(|usage| usage.completion_tokens);
        let completion = Completion { tokens, logprobs, text, stop, forced: Vec::new(), usage };
        Ok((self.prompt_token_ids.unwrap_or_default(), completion))
    }
}

/// Ids of tokens that are written as `token_id:<id>`; only if all are.
fn ids(tokens: &[Token]) -> Option<Vec<u32>> {
    tokens.iter().map(|token| token.token.strip_prefix("token_id:")?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn completion(choice: &Value) -> Result<Completion, RemoteFailure> {
        let body = json!({ "choices": [choice] }).to_string();
        Ok(Answer::read(body.as_bytes())?.into_completion()?.1)
    }

    #[test]
    fn tokens_that_are_not_given_are_as_many_as_the_server_says() {
        let choice = json!({"message": {"content": "go"}, "finish_reason": "stop"});
        let body = json!({"choices": [choice], "usage": {"completion_tokens": 7}}).to_string();
        let (_, completion) = Answer::read(body.as_bytes()).unwrap().into_completion().unwrap();
        assert_eq!((completion.tokens.len(), completion.length()), (0, 7));
    }

    fn scored(tokens: &[(&str, f32)]) -> Value {
        let tokens = tokens.iter().map(|(token, p)| json!({"token": token, "logprob": p}));
        json!({ "content": tokens.collect::<Vec<Value>>() })
    }

    #[test]
    fn ids_hidden_in_the_tokens_text_are_read() {
        let choice = json!({
            "message": {"content": "up"}, "finish_reason": "length",
            "logprobs": scored(&[("token_id:7", -0.5), ("token_id:2", -1.0)])
        });
        let completion = completion(&choice).unwrap();
        assert_eq!(completion.tokens, [7, 2]);
        assert_eq!(completion.logprobs, [-0.5, -1.0]);
        assert_eq!(completion.stop, StopReason::Length);
    }

    #[test]
    fn log_probabilities_that_fit_no_token_are_dropped() {
        let logprobs = scored(&[("up", -0.5), ("!", -1.0)]);
        let of = |ids: Value| {
            completion(&json!({
                "message": {"content": "up"}, "finish_reason": "stop",
                "logprobs": logprobs, "token_ids": ids
            }))
            .unwrap()
        };
        assert_eq!(of(json!([7, 2])).logprobs, [-0.5, -1.0]);
        assert!(of(json!([7, 8, 2])).logprobs.is_empty());
        assert!(of(Value::Null).logprobs.is_empty(), "no ids, nothing to belong to");
        assert!(of(Value::Null).tokens.is_empty());
    }

    #[test]
    fn an_answer_that_ended_otherwise_is_no_answer() {
        let ended = |reason: Value| {
            let choice = json!({"message": {"content": null}, "finish_reason": reason});
            completion(&choice).map(|completion| completion.text)
        };
        assert_eq!(ended(json!("stop")), Ok(String::new()));
        let failure = ended(json!("content_filter")).unwrap_err();
        assert_eq!(failure.kind, RemoteFailureKind::Refused);
        assert!(failure.message.contains("`content_filter`"), "{failure}");
        assert_eq!(ended(Value::Null).unwrap_err().kind, RemoteFailureKind::Malformed);
    }

    #[test]
    fn a_model_is_found_by_name_or_because_there_is_only_one() {
        let models = |names: &[&str]| {
            let data = names.iter().map(|name| ModelEntry { id: name.to_string() }).collect();
            Models { data }
        };
        assert_eq!(models(&["a", "b"]).choose(Some("b")).unwrap(), "b");
        assert_eq!(models(&["a"]).choose(None).unwrap(), "a");
        assert!(models(&["a", "b"]).choose(None).unwrap_err().contains("`a`, `b`"));
        assert!(models(&[]).choose(Some("c")).unwrap_err().contains("no model `c`"));
    }
}
