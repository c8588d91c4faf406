//! Every key of `config.json`, family by family.

use serde_json::{Value, json};

use super::*;
use crate::model::ModelConfig;

const FAMILIES: [&str; 7] =
    ["llama", "qwen2", "qwen3", "qwen3_moe", "mistral", "smollm3", "gemma3_text"];

/// The least a file of this family says, and one entry more.
fn read(family: &str, key: &str, value: Value) -> Result<ModelConfig, String> {
    let mut file = json!({
        "model_type": family, "hidden_size": 64, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
        "vocab_size": 40, "max_position_embeddings": 512,
    });
    file[key] = value;
    ModelConfig::read(file.as_object().unwrap().clone())
}

#[test]
fn what_changes_nothing_may_be_said_in_any_family() {
    for family in FAMILIES {
        for key in IDLE {
            for value in [json!(null), json!(0.25), json!("text"), json!({ "a": [1] })] {
                // Of the two kinds of windows this is the one that is read.
                let is_read = *key == "max_window_layers" && family.starts_with("qwen");
                let said = if is_read { json!(2) } else { value };
                let error = read(family, key, said).err();
                assert_eq!(error, None, "{family} {key}");
            }
        }
    }
}

#[test]
fn what_would_change_something_is_refused_but_where_it_changes_nothing() {
    for family in FAMILIES {
        let heeded =
            keys(ModelFamily::ALL.into_iter().find(|known| known.model_type() == family).unwrap());
        for (key, neutral) in FIXED {
            if heeded.heeded.iter().any(|list| list.contains(key)) {
                continue;
            }
            for text in neutral.iter().chain(&["null"]) {
                let error = read(family, key, serde_json::from_str(text).unwrap()).err();
                assert_eq!(error, None, "{family} {key} {text}");
            }
            let error = read(family, key, json!({ "made": "up" })).unwrap_err();
            let expected = format!("`{key}` is `{{\"made\":\"up\"}}`, which is not supported");
            assert!(error.contains(&expected), "{family} {key}: {error}");
        }
    }
}

/// A key that is read somewhere, at a value that no model can have.
#[test]
fn a_key_that_a_family_reads_is_really_read() {
    for (families, key, value) in [
        (&FAMILIES[..], "architectures", json!(["Other"])),
        (&FAMILIES, "bos_token_id", json!("x")),
        (&FAMILIES, "dtype", json!("int3")),
        (&FAMILIES, "eos_token_id", json!("x")),
        (&FAMILIES, "head_dim", json!(-1)),
        (&FAMILIES, "hidden_size", json!(-1)),
        (&FAMILIES, "intermediate_size", json!(-1)),
        (&FAMILIES, "layer_types", json!(["chunked_attention"])),
        (&FAMILIES, "max_position_embeddings", json!(-1)),
        (&FAMILIES, "model_type", json!("mamba")),
        (&FAMILIES, "num_attention_heads", json!(-1)),
        (&FAMILIES, "num_hidden_layers", json!(-1)),
        (&FAMILIES, "num_key_value_heads", json!(-1)),
        (&FAMILIES, "original_max_position_embeddings", json!("x")),
        (&FAMILIES, "pad_token_id", json!("x")),
        (&FAMILIES, "partial_rotary_factor", json!(0.5)),
        (&FAMILIES, "quantization_config", json!({ "bits": 4 })),
        (&FAMILIES, "rms_norm_eps", json!(-1)),
        (&FAMILIES, "rope_parameters", json!("x")),
        (&FAMILIES, "rope_scaling", json!("x")),
        (&FAMILIES, "rope_theta", json!(0)),
        (&FAMILIES, "sliding_window", json!("x")),
        (&FAMILIES, "tie_word_embeddings", json!("x")),
        (&FAMILIES, "torch_dtype", json!("int3")),
        (&FAMILIES, "vocab_size", json!(-1)),
        (&["llama", "qwen3", "qwen3_moe", "smollm3", "gemma3_text"], "attention_bias", json!("x")),
        (&FAMILIES[..6], "hidden_act", json!("relu")),
        (&["llama", "smollm3"], "mlp_bias", json!("x")),
        (&["qwen2", "qwen3"], "max_window_layers", json!("x")),
        (&["qwen2", "qwen3", "qwen3_moe", "smollm3"], "use_sliding_window", json!("x")),
        (&["qwen3_moe"], "decoder_sparse_step", json!(0)),
        (&["qwen3_moe"], "mlp_only_layers", json!("x")),
        (&["qwen3_moe"], "moe_intermediate_size", json!(0)),
        (&["qwen3_moe"], "norm_topk_prob", json!("x")),
        (&["qwen3_moe"], "num_experts", json!(-1)),
        (&["qwen3_moe"], "num_experts_per_tok", json!(-1)),
        (&["qwen3_moe"], "num_local_experts", json!(-1)),
        (&["smollm3"], "no_rope_layer_interval", json!(0)),
        (&["smollm3"], "no_rope_layers", json!([1])),
        (&["gemma3_text"], "_sliding_window_pattern", json!(3)),
        (&["gemma3_text"], "attn_logit_softcapping", json!(50)),
        (&["gemma3_text"], "final_logit_softcapping", json!(30)),
        (&["gemma3_text"], "hidden_activation", json!("silu")),
        (&["gemma3_text"], "query_pre_attn_scalar", json!(0)),
        (&["gemma3_text"], "rope_local_base_freq", json!(0)),
        (&["gemma3_text"], "sliding_window_pattern", json!(0)),
        (&["gemma3_text"], "use_bidirectional_attention", json!(true)),
    ] {
        for family in families {
            let error = read(family, key, value.clone()).unwrap_err();
            let is_named = error.contains(key) || key == "num_key_value_heads";
            assert!(is_named, "{family} {key}: {error}");
        }
    }
}

#[test]
fn a_key_that_nobody_knows_is_refused_by_its_name_and_value() {
    for family in FAMILIES {
        let error = read(family, "made_up", json!({ "z": 1 })).unwrap_err();
        assert!(
            error.contains("`made_up` is `{\"z\":1}`") && error.contains("remove the key"),
            "{error}"
        );
    }
    let error = read("qwen3", "attention_biass", json!(true)).unwrap_err();
    assert!(error.contains("is it `attention_bias`?"), "{error}");
    for key in ["rope_scaling", "rope_parameters"] {
        let rope = json!({ "rope_type": "linear", "factor": 2.0, "made_up": 1 });
        let rope = json!({ "full_attention": rope, "sliding_attention": {}, "extra": 1 });
        let error = read("gemma3_text", key, rope).unwrap_err();
        assert!(error.contains("`extra`") || error.contains("`made_up`"), "{error}");
    }
    let rope = json!({ "rope_type": "linear", "factor": 2.0, "made_up": 1 });
    let error = read("llama", "rope_scaling", rope).unwrap_err();
    assert!(error.contains("`rope_scaling`: `made_up` is `1`"), "{error}");
}

/// The keys of `config.json` as they were published with the models that the README names,
/// with values of the kind they have there.
#[test]
fn published_checkpoints_of_the_families_that_are_named_are_read() {
    let qwen2 = json!({
        "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0,
        "bos_token_id": 151643, "eos_token_id": 151645, "hidden_act": "silu",
        "hidden_size": 896, "initializer_range": 0.02, "intermediate_size": 4864,
        "max_position_embeddings": 32768, "max_window_layers": 21, "model_type": "qwen2",
        "num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2,
        "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "sliding_window": 32768,
        "tie_word_embeddings": true, "torch_dtype": "bfloat16",
        "transformers_version": "4.43.1", "use_cache": true, "use_mrope": false,
        "use_sliding_window": false, "vocab_size": 151936,
    });
    let qwen3 = json!({
        "architectures": ["Qwen3ForCausalLM"], "attention_bias": false,
        "attention_dropout": 0.0, "bos_token_id": 151643, "eos_token_id": 151645,
        "head_dim": 128, "hidden_act": "silu", "hidden_size": 1024,
        "initializer_range": 0.02, "intermediate_size": 3072,
        "max_position_embeddings": 40960, "max_window_layers": 28, "model_type": "qwen3",
        "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8,
        "rms_norm_eps": 1e-6, "rope_scaling": null, "rope_theta": 1000000,
        "sliding_window": null, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
        "transformers_version": "4.51.0", "use_cache": true, "use_sliding_window": false,
        "vocab_size": 151936,
    });
    let qwen3_moe = json!({
        "architectures": ["Qwen3MoeForCausalLM"], "attention_bias": false,
        "attention_dropout": 0.0, "bos_token_id": 151643, "decoder_sparse_step": 1,
        "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu", "hidden_size": 2048,
        "initializer_range": 0.02, "intermediate_size": 6144,
        "max_position_embeddings": 40960, "max_window_layers": 48, "mlp_only_layers": [],
        "model_type": "qwen3_moe", "moe_intermediate_size": 768, "norm_topk_prob": true,
        "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8,
        "num_hidden_layers": 48, "num_key_value_heads": 4, "output_router_logits": false,
        "rms_norm_eps": 1e-6, "rope_scaling": null, "rope_theta": 1000000.0,
        "router_aux_loss_coef": 0.001, "sliding_window": null,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16",
        "transformers_version": "4.51.0", "use_cache": true, "use_sliding_window": false,
        "vocab_size": 151936,
    });
    let llama3 = json!({
        "architectures": ["LlamaForCausalLM"], "attention_bias": false,
        "attention_dropout": 0.0, "bos_token_id": 128000,
        "eos_token_id": [128001, 128008, 128009], "head_dim": 64, "hidden_act": "silu",
        "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 8192,
        "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
        "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8,
        "pad_token_id": 128004, "pretraining_tp": 1, "rms_norm_eps": 1e-5,
        "rope_scaling": { "factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
            "original_max_position_embeddings": 8192, "rope_type": "llama3" },
        "rope_theta": 500000.0, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
        "transformers_version": "4.45.0", "unsloth_fixed": true, "use_cache": true,
        "vocab_size": 128256,
    });
    let smollm2 = json!({
        "_name_or_path": "x", "architectures": ["LlamaForCausalLM"],
        "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 1,
        "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 576,
        "initializer_range": 0.041, "intermediate_size": 1536, "is_llama_config": true,
        "max_position_embeddings": 8192, "mlp_bias": false, "model_type": "llama",
        "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3,
        "pad_token_id": 2, "pretraining_tp": 1, "rms_norm_eps": 1e-5,
        "rope_interleaved": false, "rope_scaling": null, "rope_theta": 100000,
        "tie_word_embeddings": true, "torch_dtype": "bfloat16",
        "transformers.js_config": { "kv_cache_dtype": { "q4f16": "float16" } },
        "transformers_version": "4.42.3", "use_cache": true, "vocab_size": 49152,
    });
    let smollm3 = json!({
        "architectures": ["SmolLM3ForCausalLM"], "attention_bias": false,
        "attention_dropout": 0.0, "bos_token_id": null, "eos_token_id": 128012,
        "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
        "intermediate_size": 11008, "layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"],
        "max_position_embeddings": 65536, "max_window_layers": 28, "mlp_bias": false,
        "model_type": "smollm3", "no_rope_layer_interval": 4, "no_rope_layers": [1, 1, 1, 0],
        "num_attention_heads": 16, "num_hidden_layers": 4, "num_key_value_heads": 4,
        "pad_token_id": 128004, "pretraining_tp": 2, "rms_norm_eps": 1e-6,
        "rope_scaling": null, "rope_theta": 5000000.0, "sliding_window": null,
        "tie_word_embeddings": true, "torch_dtype": "bfloat16",
        "transformers_version": "4.54.0", "use_cache": false, "use_sliding_window": false,
        "vocab_size": 128256,
    });
    let gemma3 = json!({
        "architectures": ["Gemma3ForCausalLM"], "attention_bias": false,
        "attention_dropout": 0.0, "attn_logit_softcapping": null, "bos_token_id": 2,
        "cache_implementation": "hybrid", "eos_token_id": [1, 106],
        "final_logit_softcapping": null, "head_dim": 256,
        "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 1152,
        "initializer_range": 0.02, "intermediate_size": 6912,
        "max_position_embeddings": 32768, "model_type": "gemma3_text",
        "num_attention_heads": 4, "num_hidden_layers": 26, "num_key_value_heads": 1,
        "pad_token_id": 0, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-6,
        "rope_local_base_freq": 10000, "rope_scaling": null, "rope_theta": 1000000,
        "sliding_window": 512, "sliding_window_pattern": 6, "torch_dtype": "bfloat16",
        "transformers_version": "4.50.0.dev0", "use_cache": true, "vocab_size": 262144,
    });
    let mut gemma3_270m = gemma3.clone();
    let listed =
        (1..=26).map(|layer| if layer % 6 == 0 { "full_attention" } else { "sliding_attention" });
    gemma3_270m["layer_types"] = listed.collect();
    gemma3_270m["_sliding_window_pattern"] = json!(6);
    gemma3_270m["use_bidirectional_attention"] = json!(false);
    gemma3_270m.as_object_mut().unwrap().remove("sliding_window_pattern");
    let mistral = json!({
        "_name_or_path": "x", "architectures": ["MistralForCausalLM"],
        "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2, "head_dim": null,
        "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
        "intermediate_size": 14336, "max_position_embeddings": 32768,
        "model_type": "mistral", "num_attention_heads": 32, "num_hidden_layers": 32,
        "num_key_value_heads": 8, "rms_norm_eps": 1e-5, "rope_theta": 1000000.0,
        "sliding_window": null, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
        "transformers_version": "4.42.0.dev0", "use_cache": true, "vocab_size": 32768,
    });
    for file in [qwen2, qwen3, qwen3_moe, llama3, smollm2, smollm3, gemma3, gemma3_270m, mistral] {
        let name = file["architectures"].to_string();
        let read = ModelConfig::read(file.as_object().unwrap().clone());
        assert_eq!(read.err(), None, "{name}");
    }
}
