//! The same server with the routes of SGLang 0.5.23.

use serde_json::{Value, json};

use crate::fake_vllm::{Fake, Trap};

/// What its sampling parameters may have; anything else is refused.
const PARAMETERS: [&str; 13] = [
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
    "n",
    "max_new_tokens",
    "stop",
    "stop_token_ids",
    "sampling_seed",
    "ignore_eos",
];

impl Fake {
    /// What is said to routes that only SGLang has.
    pub fn answer_as_sglang(&self, path: &str, body: &Value) -> Option<(u16, Value)> {
        match path {
            "/get_server_info" => Some((200, self.settings())),
            "/load_lora_adapter" if self.has_trap(Trap::NoRuntimeLoading) => {
                Some((400, refusal("LoRA is not enabled. Please set `--enable-lora`.")))
            }
            "/load_lora_adapter" => {
                assert!(body.get("load_inplace").is_none());
                Some(self.said_of(self.load(body)))
            }
            "/unload_lora_adapter" => Some(self.said_of(self.unload(body))),
            "/generate" => self.generate(body),
            _ => Some((404, json!({"detail": "Not Found"}))),
        }
    }

    fn settings(&self) -> Value {
        let most = self.has_trap(Trap::FewSlotsTold).then_some(1);
        json!({"enable_lora": true, "max_loaded_loras": most, "max_lora_rank": 16, "dp_size": 1})
    }

    fn said_of(&self, (status, said): (u16, Value)) -> (u16, Value) {
        match status {
            200 => (200, json!({"success": true, "error_message": "", "loaded_adapters": {}})),
            _ => (400, refusal(said["error"]["message"].as_str().unwrap())),
        }
    }

    fn generate(&self, body: &Value) -> Option<(u16, Value)> {
        let sampling = body["sampling_params"].as_object().unwrap();
        if let Some(other) = sampling.keys().find(|key| !PARAMETERS.contains(&key.as_str())) {
            let message = format!("SamplingParams got an unexpected keyword argument '{other}'");
            return Some((400, json!({"error": {"message": message}})));
        }
        assert_eq!(body["return_logprob"], true);
        let mut asked = Value::Object(sampling.clone());
        let asked_of = asked.as_object_mut().unwrap();
        asked_of.insert("max_tokens".to_owned(), sampling["max_new_tokens"].clone());
        asked_of.insert("seed".to_owned(), sampling["sampling_seed"].clone());
        asked_of.retain(|key, _| key != "max_new_tokens" && key != "sampling_seed");
        asked["model"] = body.get("lora_path").cloned().unwrap_or(json!("base"));
        asked["prompt"] = body["input_ids"].clone();
        asked["logprobs"] = json!(0);
        asked["return_token_ids"] = json!(true);
        let (status, said) = self.complete(&asked)?;
        if status == 404 {
            let name = &body["lora_path"];
            let message = format!("The following requested LoRA adapters are not loaded: {name}");
            return Some((400, json!({"error": {"message": message}})));
        }
        match status {
            200 => Some((200, self.in_its_words(&said["choices"][0], &asked))),
            _ => Some((status, said)),
        }
    }

    /// An answer as `/generate` gives it. Its log-probabilities know no cut-offs.
    fn in_its_words(&self, choice: &Value, asked: &Value) -> Value {
        let Some(ids) = choice.get("token_ids") else {
            return json!({"text": choice["text"], "meta_info": {"id": "1"}});
        };
        let is_cut = asked["top_p"] != 1.0 || asked["top_k"] != -1 || asked["min_p"] != 0.0;
        let logprobs = match is_cut {
            true => json!(self.raw(asked, ids)),
            false => choice["logprobs"]["token_logprobs"].clone(),
        };
        let scored = logprobs.as_array().unwrap().iter().zip(ids.as_array().unwrap());
        let scored: Vec<Value> = scored.map(|(logprob, id)| json!([logprob, id, null])).collect();
        let told = asked["prompt"].as_array().unwrap().len();
        let read = if self.has_trap(Trap::OtherPrompt) { told + 1 } else { told };
        let reason = &choice["finish_reason"];
        json!({
            "text": choice["text"],
            "output_ids": ids,
            "meta_info": {
                "id": "1",
                "finish_reason": {"type": reason},
                "prompt_tokens": read,
                "output_token_logprobs": scored,
            },
        })
    }
}

fn refusal(message: &str) -> Value {
    json!({"success": false, "error_message": message, "loaded_adapters": {}})
}
