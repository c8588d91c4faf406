//! vLLM 0.32: OpenAI's completions with token ids, and adapters by two routes beside them.

use serde::Deserialize;
use serde_json::{Value, json};

use super::dialect::{Dialect, Drawn, EngineAdvice, PromptRead, distribution};
use super::draw::Drawing;
use crate::remote::link::Reply;

/// Ranks that it makes room for.
const RANKS: [i64; 8] = [8, 16, 32, 64, 128, 256, 320, 512];

/// vLLM's way.
#[derive(Debug)]
pub(super) struct Vllm;

#[derive(Deserialize)]
struct VllmAnswer {
    choices: Vec<VllmChoice>,
}

#[derive(Deserialize)]
struct VllmChoice {
    token_ids: Option<Vec<u32>>,
    prompt_token_ids: Option<Vec<u32>>,
    logprobs: Option<Scored>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Scored {
    token_logprobs: Option<Vec<Option<f64>>>,
}

impl Dialect for Vllm {
    fn start(&self, adapters: usize, rank: i64) -> String {
        format!(
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 vllm serve BASE --enable-lora --max-lora-rank {} \
             --max-loras {adapters} --logprobs-mode processed_logprobs --generation-config vllm",
            accepted_rank(rank)
        )
    }

    fn needs(&self, adapters: usize, rank: i64) -> Vec<(&'static str, &'static str, i64)> {
        let adapters = i64::try_from(adapters).unwrap_or(i64::MAX);
        vec![
            ("max_loras", "--max-loras", adapters),
            ("max_lora_rank", "--max-lora-rank", accepted_rank(rank).max(rank)),
        ]
    }

    /// With VLLM_SERVER_DEV_MODE.
    fn settings(&self) -> &'static str {
        "/server_info?config_format=json"
    }

    fn load(&self) -> &'static str {
        "load_lora_adapter"
    }

    fn unload(&self) -> &'static str {
        "unload_lora_adapter"
    }

    fn when_not_loaded(&self, reply: &Reply, name: &str, path: &str) -> String {
        let text = reply.text();
        match reply.status {
            404 if text.contains("\"detail\"") || !text.contains(name) => {
                "it takes no adapters while it runs: start it with \
                 VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 and `--enable-lora`"
                    .to_owned()
            }
            404 => format!("it must see the folder `{path}` under this path"),
            _ => "see what it says of rank (`--max-lora-rank`), names and files".to_owned(),
        }
    }

    fn draw(&self) -> &'static str {
        "completions"
    }

    fn question(&self, drawing: &Drawing) -> Value {
        let mut body = distribution(drawing.sampling);
        body["model"] = json!(drawing.adapter);
        body["prompt"] = json!(drawing.prompt);
        body["max_tokens"] = json!(drawing.sampling.max_completion_tokens);
        // JSON numbers are exact to 53 bits.
        body["seed"] = json!(drawing.seed.value() >> 11);
        body["logprobs"] = json!(0);
        body["return_token_ids"] = json!(true);
        body["stop_token_ids"] = json!(&*drawing.codec.ends);
        body["stream"] = json!(false);
        body
    }

    fn read(&self, body: &[u8]) -> Result<Drawn, String> {
        let answer: VllmAnswer = serde_json::from_slice(body).map_err(|error| {
            format!("the server's answer is not a completion as expected: {error}")
        })?;
        let count = answer.choices.len();
        let [choice] = <[VllmChoice; 1]>::try_from(answer.choices)
            .map_err(|_| format!("the server gave {count} answers where 1 was asked for"))?;
        let tokens = choice.token_ids.ok_or(
            "the server's answer has no `token_ids`, although `return_token_ids` was asked for: \
             it needs a vLLM that knows the field",
        )?;
        let logprobs = choice.logprobs.and_then(|scored| scored.token_logprobs);
        let logprobs =
            logprobs.ok_or("the server's answer has no log-probabilities (`logprobs`)")?;
        let prompt = choice.prompt_token_ids.map(PromptRead::Tokens);
        Ok(Drawn { tokens, logprobs, reason: choice.finish_reason, prompt })
    }

    fn meaning(&self, reply: &Reply, adapter: &str) -> Option<String> {
        if reply.text().contains("Out of range float values") {
            return Some(format!(
                "`{adapter}` gives infinities or NaN there: its weights have diverged, or the \
                 server's type of weights is too narrow (`--dtype`)"
            ));
        }
        (reply.status == 404).then(|| {
            format!(
                "it no longer has the adapter `{adapter}`: it was started anew, or more adapters \
                 are loaded than it has room for (`--max-loras`)"
            )
        })
    }

    fn advice(&self) -> &'static EngineAdvice {
        &EngineAdvice {
            adapters: "start it with `--enable-lora`, `--max-loras` of at least two for each \
                       policy, and without `--data-parallel-size`",
            temperature: "start it with `--logprobs-mode processed_logprobs`",
            cut_offs: "start it with `--logprobs-mode processed_logprobs`",
            defaults: "start it with `--generation-config vllm` and `--logprobs-mode \
                       processed_logprobs`",
        }
    }
}

/// The least rank that it makes room for and that is enough.
fn accepted_rank(rank: i64) -> i64 {
    RANKS.into_iter().find(|accepted| *accepted >= rank).unwrap_or(rank)
}
