//! Completions as `OpenAI`'s API has them.

use std::ops::Range;

use serde_json::{Value, json};

use super::question::Question;
use troupe_core::trajectory::{Completion, StopReason};
use troupe_model::Wording;

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
) -> Value {
    let choice = |(index, completion): (usize, &Completion)| {
        let mut choice = json!({ "index": index, "finish_reason": finish_reason(completion) });
        match question.form {
            Form::Chat => {
                choice["message"] = json!({ "role": "assistant", "content": completion.text });
            }
            Form::Text => choice["text"] = completion.text.as_str().into(),
        }
        let Completion { tokens, logprobs, .. } = completion;
        add_tokens(&mut choice, question, wording, (tokens, logprobs), 0..tokens.len());
        if question.wants_ids && question.form == Form::Text {
            choice["prompt_token_ids"] = json!(**question.prompt_of(index));
        }
        choice
    };
    let choices: Vec<Value> = completions.iter().enumerate().map(choice).collect();
    let object = if question.form == Form::Chat { "chat.completion" } else { "text_completion" };
    let mut answer = json!({
        "id": id, "object": object, "created": created, "model": model, "choices": choices,
        "usage": usage(question, completions),
    });
    if question.wants_ids && question.form == Form::Chat {
        answer["prompt_token_ids"] = json!(*question.prompts[0]);
    }
    answer
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

/// What is told of some of an answer's tokens, beside their text.
pub(super) fn add_tokens(
    choice: &mut Value,
    question: &Question,
    wording: &Wording,
    (tokens, logprobs): (&[u32], &[f32]),
    told: Range<usize>,
) {
    if question.wants_ids {
        choice["token_ids"] = json!(tokens[told.clone()]);
    }
    choice["logprobs"] = Value::Null;
    if question.wants_logprobs {
        let bytes = wording.bytes_of(&tokens[..told.end]);
        let name = |at: usize| match question.names_ids {
            true => format!("token_id:{}", tokens[at]),
            false => String::from_utf8_lossy(&bytes[at]).into_owned(),
        };
        choice["logprobs"] = match question.form {
            Form::Chat => {
                let entry = |at: usize| {
                    json!({
                        "token": name(at), "logprob": logprobs[at], "bytes": bytes[at],
                        "top_logprobs": [],
                    })
                };
                json!({ "content": told.map(entry).collect::<Vec<_>>() })
            }
            Form::Text => json!({
                "tokens": told.clone().map(name).collect::<Vec<_>>(),
                "token_logprobs": logprobs[told.clone()],
                "text_offset": offsets(&bytes)[told],
                "top_logprobs": null,
            }),
        };
    }
}

/// Where tokens begin in the text: so many characters were begun before each.
fn offsets(bytes: &[Vec<u8>]) -> Vec<usize> {
    let begins_one = |byte: &&u8| **byte & 0xc0 != 0x80;
    let mut at = 0;
    let of = |bytes: &Vec<u8>| {
        let start = at;
        at += bytes.iter().filter(begins_one).count();
        start
    };
    bytes.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use troupe_core::config::PolicyConfig;
    use troupe_core::seed::Seed;
    use troupe_model::{Device, Policy};

    use super::*;

    #[test]
    fn words_lie_in_the_text_where_the_space_before_them_does() {
        let words = ["8", "4", "1"].map(str::to_owned);
        let seed = Seed::new(1);
        let policy = Policy::random(&PolicyConfig::default(), &words, seed, Device::cpu()).unwrap();
        let wording = policy.wording();
        let bytes = wording.bytes_of(&wording.encode_text("8 4 1").unwrap());
        assert_eq!((bytes.concat(), offsets(&bytes)), (b"8 4 1".to_vec(), vec![0, 1, 3]));
    }
}
