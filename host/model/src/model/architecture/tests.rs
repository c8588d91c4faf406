//! What `config.json` of each family means, and what of it is refused.

use serde_json::json;

use super::*;

/// The least a file of this family says, with some entries replaced or added.
fn file(family: &str, entries: Value) -> Map<String, Value> {
    let file = json!({
        "model_type": family, "hidden_size": 64, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
        "vocab_size": 40, "max_position_embeddings": 512,
    });
    let mut file = file.as_object().unwrap().clone();
    file.extend(entries.as_object().unwrap().clone());
    file
}

fn read(family: &str, entries: Value) -> Result<ModelConfig, String> {
    ModelConfig::read(file(family, entries))
}

fn parts(config: &ModelConfig) -> [bool; 4] {
    [
        config.query_key_norm(),
        config.query_key_value_bias(),
        config.output_bias(),
        config.feed_forward_bias(),
    ]
}

#[test]
fn what_is_left_out_means_what_it_means_in_transformers() {
    let read = |family| {
        let mut file = file(family, json!({}));
        file.retain(|key, _| key != "num_key_value_heads" && key != "max_position_embeddings");
        file["num_attention_heads"] = json!(32);
        file.insert("sliding_window".to_owned(), Value::Null);
        ModelConfig::read(file).unwrap()
    };
    let (llama, qwen2, qwen3) = (read("llama"), read("qwen2"), read("qwen3"));
    assert_eq!((llama.head_dim, qwen2.head_dim, qwen3.head_dim), (2, 2, 128));
    assert_eq!((llama.num_key_value_heads, qwen3.num_key_value_heads), (32, 32));
    assert_eq!((llama.max_position_embeddings, qwen2.max_position_embeddings), (2048, 32_768));
    assert_eq!(llama.special_tokens().ends(), [2]);
    assert!(qwen3.special_tokens().ends().is_empty());
    assert!(!llama.tie_word_embeddings && llama.rms_norm_eps == 1e-6);
    assert_eq!(llama.kind(), Kind::Float);
    let (mistral, smollm3) = (read("mistral"), read("smollm3"));
    assert_eq!((mistral.num_key_value_heads, smollm3.num_key_value_heads), (8, 4));
    assert_eq!(
        (mistral.special_tokens().ends(), smollm3.special_tokens().ends()),
        (&[2][..], &[128_001][..])
    );
    assert!(smollm3.tie_word_embeddings && !mistral.tie_word_embeddings);
    assert_ne!(smollm3.rotaries.ways, mistral.rotaries.ways);
}

#[test]
fn every_fourth_layer_of_smollm3_sees_no_positions_unless_the_file_says_which() {
    let rotated = |entries| {
        let mut all = json!({ "num_hidden_layers": 5 });
        all.as_object_mut().unwrap().extend(Value::as_object(&entries).unwrap().clone());
        let config = read("smollm3", all)?;
        Ok::<_, String>((0..5).map(|layer| config.turned_by(layer).is_some()).collect::<Vec<_>>())
    };
    assert_eq!(rotated(json!({})).unwrap(), [true, true, true, false, true]);
    let listed = json!({ "no_rope_layers": [0, 1, 1, 1, 0], "no_rope_layer_interval": 2 });
    assert_eq!(rotated(listed).unwrap(), [false, true, true, true, false]);
    let every_second = rotated(json!({ "no_rope_layer_interval": 2 })).unwrap();
    assert_eq!(every_second, [true, false, true, false, true]);
    let error = rotated(json!({ "no_rope_layers": [1, 0] })).unwrap_err();
    assert!(error.contains("speaks of 2 layers"), "{error}");
    let error = rotated(json!({ "no_rope_layer_interval": 0 })).unwrap_err();
    assert!(error.contains("`no_rope_layer_interval` is 0"), "{error}");
}

#[test]
fn null_key_value_heads_are_as_many_as_query_heads() {
    let config = read("qwen2", json!({ "num_key_value_heads": null })).unwrap();
    assert_eq!(config.num_key_value_heads, 4);
}

#[test]
fn each_family_has_its_own_parts() {
    let biased = json!({ "attention_bias": true, "mlp_bias": true });
    assert_eq!(parts(&read("qwen3", json!({})).unwrap()), [true, false, false, false]);
    let attention = json!({ "attention_bias": true });
    assert_eq!(parts(&read("qwen3", attention.clone()).unwrap()), [true, true, true, false]);
    assert_eq!(parts(&read("qwen2", json!({})).unwrap()), [false, true, false, false]);
    assert_eq!(parts(&read("llama", json!({})).unwrap()), [false; 4]);
    assert_eq!(parts(&read("llama", biased.clone()).unwrap()), [false, true, true, true]);
    assert_eq!(parts(&read("smollm3", biased.clone()).unwrap()), [false, true, true, true]);
    assert_eq!(parts(&read("mistral", json!({})).unwrap()), [false; 4]);
    for (family, entries) in
        [("qwen3", biased), ("qwen2", attention.clone()), ("mistral", attention)]
    {
        assert!(read(family, entries).unwrap_err().contains("_bias` is `true`"), "{family}");
    }
}

#[test]
fn it_is_written_as_it_was_read() {
    let entries = json!({ "eos_token_id": [2, 3], "task_specific_params": { "z": 1, "a": 2 } });
    let file = file("llama", entries);
    let config = ModelConfig::read(file.clone()).unwrap();
    let text = serde_json::to_string(&config).unwrap();
    assert_eq!(text, serde_json::to_string(&file).unwrap());
}

#[test]
fn both_names_of_the_type_are_read() {
    for entry in [json!({ "dtype": "bfloat16" }), json!({ "torch_dtype": "torch.bfloat16" })] {
        assert_eq!(read("qwen3", entry).unwrap().kind(), Kind::BFloat16);
    }
}

#[test]
fn half_precision_is_read_as_the_type_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    for key in ["dtype", "torch_dtype"] {
        for name in ["float16", "torch.float16"] {
            let file = file("llama", json!({ key: name }));
            std::fs::write(&path, serde_json::to_string(&file).unwrap()).unwrap();
            let error = ModelConfig::load(&path, None).unwrap_err().to_string();
            assert!(error.contains("--dtype float32"), "{error}");
            for dtype in [Dtype::Float32, Dtype::Bfloat16] {
                let config = ModelConfig::load(&path, Some(dtype)).unwrap();
                assert_eq!((config.dtype(), config.kind()), (dtype, kind_of(dtype)));
                assert_eq!(serde_json::to_value(&config).unwrap()[key], dtype.name());
            }
        }
    }
}

#[test]
fn what_cannot_be_honored_is_refused_by_name() {
    for (family, entries, expected) in [
        (
            "mamba",
            json!({}),
            "its `model_type` is `mamba`; supported are `llama`, `qwen2`, `qwen3`, `qwen3_moe`, `mistral`, `smollm3`, `gemma3_text`",
        ),
        ("qwen3", json!({ "model_type": null }), "`model_type` is missing"),
        (
            "qwen3",
            json!({ "architectures": ["Qwen3Model"] }),
            "`Qwen3Model`, but only language models are supported: `Qwen3ForCausalLM`",
        ),
        ("llama", json!({ "hidden_act": "gelu" }), "`hidden_act` is `gelu`"),
        ("llama", json!({ "hidden_size": null }), "`hidden_size` is missing"),
        (
            "llama",
            json!({ "hidden_size": "64" }),
            "`hidden_size` is `\"64\"`, but must be a whole number",
        ),
        ("llama", json!({ "hidden_size": 66 }), "`hidden_size` 66 cannot be shared by 4 heads"),
        ("llama", json!({ "num_attention_heads": 0 }), "cannot be shared by 0 heads"),
        ("llama", json!({ "num_key_value_heads": 3 }), "evenly"),
        ("llama", json!({ "head_dim": 7 }), "`head_dim` is 7"),
        ("llama", json!({ "vocab_size": 0 }), "`vocab_size` is 0"),
        ("llama", json!({ "num_hidden_layers": 1_000_000 }), "`num_hidden_layers` is 1000000"),
        ("llama", json!({ "num_hidden_layers": -1 }), "`num_hidden_layers` is -1"),
        ("llama", json!({ "rms_norm_eps": -1.0 }), "`rms_norm_eps` is -1"),
        ("llama", json!({ "dtype": "float8_e4m3" }), "`dtype` is `float8_e4m3`; set it to"),
        (
            "mistral",
            json!({ "layer_types": ["full_attention"], "sliding_window": 64 }),
            "`layer_types` says `full_attention` of layer 0",
        ),
        (
            "llama",
            json!({ "layer_types": ["sliding_attention"] }),
            "`layer_types` says `sliding_attention` of layer 0",
        ),
        (
            "llama",
            json!({
                "rope_scaling": { "type": "linear", "factor": 8 },
                "rope_parameters": { "rope_type": "linear", "factor": 4 },
            }),
            "say different things",
        ),
        ("qwen2", json!({ "quantization_config": { "bits": 4 } }), "`quantization_config`"),
        ("qwen2", json!({ "eos_token_id": "x" }), "`eos_token_id` is `\"x\"`"),
        ("qwen3_moe", json!({ "num_experts": -1 }), "`num_experts` is -1"),
        (
            "qwen3_moe",
            json!({ "num_experts": 4 }),
            "`num_experts_per_tok` is 8, but must be between 1 and 4",
        ),
        ("qwen3_moe", json!({ "moe_intermediate_size": 0 }), "`moe_intermediate_size` is 0"),
        (
            "qwen3_moe",
            json!({ "decoder_sparse_step": 0 }),
            "`decoder_sparse_step` is 0, but must be at least 1",
        ),
        ("gemma3_text", json!({ "hidden_activation": "silu" }), "`hidden_activation` is `silu`"),
        (
            "gemma3_text",
            json!({ "attn_logit_softcapping": 50.0 }),
            "`attn_logit_softcapping` is set",
        ),
        (
            "gemma3_text",
            json!({ "final_logit_softcapping": 30.0 }),
            "`final_logit_softcapping` is set",
        ),
        (
            "gemma3_text",
            json!({ "use_bidirectional_attention": true }),
            "`use_bidirectional_attention` is true",
        ),
        ("gemma3_text", json!({ "query_pre_attn_scalar": 0 }), "`query_pre_attn_scalar` is 0"),
        (
            "gemma3_text",
            json!({ "rope_parameters": { "rope_type": "default" } }),
            "`rope_parameters` is one for all layers",
        ),
        (
            "gemma3_text",
            json!({
                "rope_scaling": { "type": "linear", "factor": 8 },
                "rope_parameters": { "full_attention": { "rope_type": "default" } },
            }),
            "are both set",
        ),
        ("gemma3_text", json!({ "rope_local_base_freq": 0.5 }), "`rope_local_base_freq` is 0.5"),
        ("gemma3", json!({}), "its `model_type` is `gemma3`; supported are"),
    ] {
        let error = read(family, entries).unwrap_err();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

/// Which layers see a window only, and how many tokens it has.
fn windowed(family: &str, entries: Value) -> Result<(Option<i64>, Vec<bool>), String> {
    let config = read(family, entries)?;
    let layers = 0..config.num_hidden_layers as usize;
    let sights = layers.map(|layer| config.sight(layer) == Sight::Window).collect();
    Ok((config.window(), sights))
}

#[test]
fn each_family_says_in_its_own_way_which_layers_see_a_window() {
    let from_second = json!({
        "use_sliding_window": true, "sliding_window": 64, "max_window_layers": 1
    });
    let listed = ["full_attention", "sliding_attention", "full_attention"];
    let listed = json!({
        "use_sliding_window": true, "sliding_window": 16, "layer_types": listed
    });
    for (family, entries, window, layers) in [
        ("qwen2", from_second.clone(), Some(64), [false, true, true]),
        ("qwen3", from_second.clone(), Some(64), [false, true, true]),
        ("qwen3", listed.clone(), Some(16), [false, true, false]),
        ("qwen3_moe", from_second, Some(64), [true; 3]),
        ("smollm3", listed, Some(16), [false, true, false]),
        (
            "smollm3",
            json!({ "use_sliding_window": true, "sliding_window": 16, "no_rope_layers": [1, 0, 1] }),
            Some(16),
            [false, true, false],
        ),
        ("mistral", json!({ "sliding_window": 64 }), Some(64), [true; 3]),
        ("mistral", json!({ "max_position_embeddings": 8192 }), Some(4096), [true; 3]),
        (
            "gemma3_text",
            json!({ "sliding_window": 64, "sliding_window_pattern": 2 }),
            Some(64),
            [true, false, true],
        ),
        (
            "gemma3_text",
            json!({ "sliding_window": 64, "layer_types": ["full_attention", "full_attention", "sliding_attention"] }),
            Some(64),
            [false, false, true],
        ),
    ] {
        assert_eq!(windowed(family, entries).unwrap(), (window, layers.to_vec()), "{family}");
    }
}

#[test]
fn a_window_that_is_not_on_or_not_outgrown_limits_nothing() {
    for (family, entries) in [
        (
            "qwen2",
            json!({ "use_sliding_window": false, "sliding_window": 64, "max_window_layers": 0 }),
        ),
        (
            "qwen2",
            json!({ "use_sliding_window": true, "sliding_window": 64, "max_window_layers": 3 }),
        ),
        (
            "qwen3",
            json!({ "use_sliding_window": true, "sliding_window": null, "max_window_layers": 0 }),
        ),
        (
            "qwen3",
            json!({ "use_sliding_window": true, "sliding_window": 512, "max_window_layers": 0 }),
        ),
        ("qwen3", json!({ "layer_types": ["full_attention"] })),
        ("qwen3_moe", json!({ "sliding_window": 64 })),
        ("llama", json!({ "sliding_window": null })),
        ("llama", json!({ "sliding_window": 512 })),
        ("mistral", json!({})),
        ("mistral", json!({ "sliding_window": null, "max_position_embeddings": 8192 })),
        ("smollm3", json!({ "sliding_window": 16 })),
        ("gemma3_text", json!({})),
    ] {
        assert_eq!(windowed(family, entries).unwrap().0, None, "{family}");
    }
}

#[test]
fn a_window_that_cannot_be_understood_is_refused() {
    let sliding = ["sliding_attention"; 3];
    for (family, entries, expected) in [
        ("llama", json!({ "sliding_window": 64 }), "`sliding_window` limits attention"),
        (
            "qwen3",
            json!({ "layer_types": ["linear_attention"] }),
            "`layer_types` has `linear_attention`",
        ),
        (
            "qwen3",
            json!({ "layer_types": ["sliding_attention"] }),
            "`layer_types` speaks of 1 layers",
        ),
        ("qwen3", json!({ "layer_types": sliding }), "some layers see a window only"),
        ("smollm3", json!({ "layer_types": sliding }), "some layers see a window only"),
        ("gemma3_text", json!({ "sliding_window": null }), "some layers see a window only"),
        ("gemma3_text", json!({ "sliding_window": 0 }), "`sliding_window` is 0"),
        ("gemma3_text", json!({ "sliding_window_pattern": 0 }), "`sliding_window_pattern` is 0"),
        ("mistral", json!({ "sliding_window": -1 }), "`sliding_window` is -1"),
    ] {
        let error = windowed(family, entries).unwrap_err();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn experts_are_in_the_layers_that_the_file_says() {
    let layers = |entries| {
        let config = read("qwen3_moe", entries).unwrap();
        (0..3).map(|layer| config.experts(layer).is_some()).collect::<Vec<_>>()
    };
    assert_eq!(layers(json!({})), [true; 3]);
    assert_eq!(layers(json!({ "num_experts": 0 })), [false; 3]);
    assert_eq!(layers(json!({ "decoder_sparse_step": 2 })), [false, true, false]);
    assert_eq!(layers(json!({ "mlp_only_layers": [0, 1] })), [false, false, true]);
    let config = read("qwen3_moe", json!({ "num_local_experts": 16 })).unwrap();
    let experts = config.experts(0).unwrap();
    assert_eq!((experts.number, experts.taken, experts.width), (16, 8, 768));
    assert!(!experts.renormalized);
    assert_eq!((config.head_dim, config.num_key_value_heads), (16, 2));
}

#[test]
fn embeddings_of_gemma_are_scaled_by_what_the_weights_type_has() {
    let scale = |kind: &str, width: i64| {
        let entries = json!({ "hidden_size": width, "dtype": kind });
        read("gemma3_text", entries).unwrap().embedding_scale().unwrap()
    };
    assert_eq!(scale("bfloat16", 1152), 34.0);
    assert_eq!(scale("bfloat16", 3072), 55.5);
    assert!((scale("float32", 1152) - 1152_f64.sqrt()).abs() < 1e-5);
    assert_eq!(read("qwen3", json!({})).unwrap().embedding_scale(), None);
    let divisor = |entries| read("gemma3_text", entries).unwrap().query_divisor();
    assert_eq!(divisor(json!({})), 16.0);
    assert_eq!(divisor(json!({ "query_pre_attn_scalar": 168 })), 168_f64.sqrt());
}
