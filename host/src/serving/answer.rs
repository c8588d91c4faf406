//! Completions as `OpenAI`'s API has them.

use serde_json::{Value, json};

use super::question::{Question, Refused};
use crate::policy::{PolicyError, Wording};
use crate::trajectory::{Completion, StopReason};

/// Which of the two kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/completions`.
    Text,
}

/// The answer to a request in one piece. Completions are those of its first prompt, then those of
/// its second, and so on.
pub(super) fn whole(
    question: &Question,
    model: &str,
    (id, created): &(String, u64),
    wording: &Wording,
    completions: &[Completion],
) -> Result<Value, Refused> {
    let mut choices = Vec::new();
    for (index, completion) in completions.iter().enumerate() {
        let mut choice = json!({ "index": index, "finish_reason": finish_reason(completion) });
        match question.form {
            Form::Chat => {
                choice["message"] = json!({ "role": "assistant", "content": completion.text });
            }
            Form::Text => choice["text"] = completion.text.as_str().into(),
        }
        choice["logprobs"] = match question.wants_logprobs {
            true => logprobs(question.form, wording, completion)?,
            false => Value::Null,
        };
        if question.wants_ids {
            choice["token_ids"] = json!(completion.tokens);
            if question.form == Form::Text {
                let prompt = &question.prompts[index / question.seeds.len()];
                choice["prompt_token_ids"] = json!(**prompt);
            }
        }
        choices.push(choice);
    }
    let object = if question.form == Form::Chat { "chat.completion" } else { "text_completion" };
    let mut answer = json!({
        "id": id, "object": object, "created": created, "model": model, "choices": choices,
        "usage": usage(question, completions),
    });
    if question.wants_ids && question.form == Form::Chat {
        answer["prompt_token_ids"] = json!(*question.prompts[0]);
    }
    Ok(answer)
}

/// What was read and drawn; a prompt once for all answers to it.
pub(super) fn usage(question: &Question, completions: &[Completion]) -> Value {
    let prompt: usize = question.prompts.iter().map(|prompt| prompt.len()).sum();
    let drawn: usize = completions.iter().map(|completion| completion.tokens.len()).sum();
    json!({
        "prompt_tokens": prompt, "completion_tokens": drawn, "total_tokens": prompt + drawn,
    })
}

/// Why an answer ended.
pub(super) fn finish_reason(completion: &Completion) -> &'static str {
    match completion.stop {
        StopReason::EndOfText | StopReason::Sequence => "stop",
        StopReason::Length => "length",
    }
}

/// The log-probability of every token under the distribution it was drawn from.
fn logprobs(form: Form, wording: &Wording, completion: &Completion) -> Result<Value, PolicyError> {
    let texts: Vec<String> = (completion.tokens.iter())
        .map(|token| wording.decode_text(&[*token]))
        .collect::<Result<_, _>>()?;
    if form == Form::Chat {
        let scored = texts.iter().zip(&completion.logprobs);
        let entry = |(text, logprob): (&String, &f32)| {
            json!({
                "token": text, "logprob": logprob, "bytes": text.as_bytes(), "top_logprobs": [],
            })
        };
        return Ok(json!({ "content": scored.map(entry).collect::<Vec<_>>() }));
    }
    let starts = texts.iter().scan(0, |at, text| {
        let start = *at;
        *at += text.chars().count();
        Some(start)
    });
    Ok(json!({
        "text_offset": starts.collect::<Vec<_>>(),
        "tokens": texts,
        "token_logprobs": completion.logprobs,
        "top_logprobs": null,
    }))
}
