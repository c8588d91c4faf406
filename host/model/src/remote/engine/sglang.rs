//! SGLang 0.5.23: its own `/generate`, which takes and gives token ids.

use serde::Deserialize;
use serde_json::{Value, json};

use super::dialect::{Dialect, Drawn, EngineAdvice, PromptRead, distribution};
use super::draw::Drawing;
use crate::remote::link::Reply;

/// SGLang's way.
#[derive(Debug)]
pub(super) struct Sglang;

#[derive(Deserialize)]
struct SglangAnswer {
    output_ids: Option<Vec<u32>>,
    meta_info: About,
}

#[derive(Deserialize)]
struct About {
    finish_reason: Option<Reason>,
    prompt_tokens: Option<usize>,
    /// For each token its log-probability, its id, and its text or nothing.
    output_token_logprobs: Option<Vec<(Option<f64>, u32, Value)>>,
}

#[derive(Deserialize)]
struct Reason {
    #[serde(rename = "type")]
    kind: String,
}

impl Dialect for Sglang {
    fn start(&self, adapters: usize, rank: i64) -> String {
        format!(
            "python -m sglang.launch_server --model-path BASE --enable-lora --max-lora-rank \
             {rank} --lora-target-modules all --max-loras-per-batch {adapters} \
             --sampling-defaults openai"
        )
    }

    /// `max_loaded_loras` is null where there is no bound.
    fn needs(&self, adapters: usize, rank: i64) -> Vec<(&'static str, &'static str, i64)> {
        let adapters = i64::try_from(adapters).unwrap_or(i64::MAX);
        vec![
            ("max_loaded_loras", "--max-loaded-loras", adapters),
            ("max_lora_rank", "--max-lora-rank", rank),
        ]
    }

    fn settings(&self) -> &'static str {
        "/get_server_info"
    }

    fn load(&self) -> &'static str {
        "/load_lora_adapter"
    }

    fn unload(&self) -> &'static str {
        "/unload_lora_adapter"
    }

    fn when_not_loaded(&self, reply: &Reply, _: &str, path: &str) -> String {
        match reply.text().contains("LoRA is not enabled") || reply.status == 404 {
            true => "start it with `--enable-lora`".to_owned(),
            false => format!(
                "it must see the folder `{path}` under this path; see what it says of rank \
                 (`--max-lora-rank`), layers (`--lora-target-modules all`) and room \
                 (`--max-loaded-loras`)"
            ),
        }
    }

    fn draw(&self) -> &'static str {
        "/generate"
    }

    fn question(&self, drawing: &Drawing) -> Value {
        let mut sampling = distribution(drawing.sampling);
        sampling["max_new_tokens"] = json!(drawing.sampling.max_completion_tokens);
        sampling["stop_token_ids"] = json!(&*drawing.codec.ends);
        // Heeded with `--enable-deterministic-inference`; 31 bits, as it may be kept in 32.
        sampling["sampling_seed"] = json!(drawing.seed.value() >> 33);
        json!({
            "input_ids": drawing.prompt,
            "lora_path": drawing.adapter,
            "sampling_params": sampling,
            "return_logprob": true,
            "logprob_start_len": -1,
            "stream": false,
        })
    }

    fn read(&self, body: &[u8]) -> Result<Drawn, String> {
        let SglangAnswer { output_ids, meta_info } =
            serde_json::from_slice(body).map_err(|error| {
                format!("the server's answer is not one of `/generate` as expected: {error}")
            })?;
        let scored = meta_info.output_token_logprobs.ok_or(
            "the server's answer has no `output_token_logprobs`, although `return_logprob` was \
             asked for",
        )?;
        let (logprobs, tokens): (Vec<Option<f64>>, Vec<u32>) =
            scored.into_iter().map(|(logprob, token, _)| (logprob, token)).unzip();
        // The token that ends an answer may be trimmed off `output_ids`.
        if output_ids.is_some_and(|ids| !tokens.starts_with(&ids) || ids.len() + 1 < tokens.len()) {
            return Err("its `output_ids` are not the tokens of `output_token_logprobs`".to_owned());
        }
        let reason = meta_info.finish_reason.map(|reason| reason.kind);
        let prompt = meta_info.prompt_tokens.map(PromptRead::Counted);
        Ok(Drawn { tokens, logprobs, reason, prompt })
    }

    fn meaning(&self, reply: &Reply, adapter: &str) -> Option<String> {
        reply.text().contains("not loaded").then(|| {
            format!(
                "it no longer has the adapter `{adapter}`: it was started anew, or more adapters \
                 are loaded than it has room for (`--max-loaded-loras`)"
            )
        })
    }

    fn advice(&self) -> &'static EngineAdvice {
        &EngineAdvice {
            adapters: "start it with `--enable-lora` and `--dp-size 1`",
            temperature: "start it without SGLANG_RETURN_ORIGINAL_LOGPROB",
            cut_offs: "SGLang tells none after cut-offs; set `top_p = 1`, `top_k = 0` and \
                       `min_p = 0` in `[rollout]`, or for the role",
            defaults: "start it with `--sampling-defaults openai`",
        }
    }
}
