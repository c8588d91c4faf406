//! Whole files: small models, and what somebody who means harm would send.

mod gemma3;

use std::path::PathBuf;

use super::gguf_file::{GgufFile, TEMPLATE, entries, tiny};
use safetensors::SafeTensors;
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::language_model::Policy;
use crate::model::Device;
use troupe_core::trajectory::{Author, Message};

fn imported(file: &GgufFile) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("model.gguf"), folder.path().join("out"));
    std::fs::write(&path, file.bytes()).unwrap();
    import(&path, &out, None, None).unwrap();
    (folder, out)
}

fn refusal(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("model.gguf"), folder.path().join("out"));
    std::fs::write(&path, bytes).unwrap();
    let error = import(&path, &out, None, None).expect_err("it is refused").to_string();
    assert!(error.contains("model.gguf") && !out.join("model.safetensors").exists(), "{error}");
    error
}

fn json(folder: &Path, file: &str) -> Value {
    troupe_core::storage::read_json(&folder.join(file)).unwrap()
}

#[test]
fn models_of_three_families_load_and_answer() {
    for (architecture, pre) in [("llama", "smollm"), ("qwen2", "qwen2"), ("qwen3", "qwen2")] {
        let (_folder, out) = imported(&tiny(architecture, pre));
        let policy = Policy::load(&out, Device::cpu()).unwrap();
        assert_eq!(policy.config().family.model_type(), architecture);
        let scores = policy.score(&policy.wording().encode_text("hello 123").unwrap()).unwrap();
        assert!(scores.iter().all(|score| score.is_finite() && *score < 0.0), "{scores:?}");
    }
}

#[test]
fn a_config_says_what_the_file_said() {
    let (_folder, out) = imported(&tiny("llama", "llama-bpe"));
    let config = json(&out, "config.json");
    let expected = serde_json::json!({
        "model_type": "llama", "head_dim": 8, "rms_norm_eps": 1e-5, "rope_theta": 100_000.0,
        "tie_word_embeddings": true, "attention_bias": false, "torch_dtype": "float32",
        "eos_token_id": 259,
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(config[key], *value, "{key}");
    }
    assert_eq!(json(&out, "generation_config.json")["bos_token_id"], 258);
    assert_eq!(json(&out, "tokenizer_config.json")["chat_template"], TEMPLATE);
}

#[test]
fn rows_of_queries_and_keys_are_put_back_where_the_family_turns_them() {
    // Row r of 16 holds r: two heads of eight rows.
    let rows: Vec<u8> =
        (0..16 * 16).flat_map(|index| ((index / 16) as f32).to_le_bytes()).collect();
    for (architecture, expected) in [
        ("llama", [0.0, 2.0, 4.0, 6.0, 1.0, 3.0, 5.0, 7.0, 8.0]),
        ("qwen2", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]),
    ] {
        let file = entries(architecture, "qwen2")
            .floats("token_embd.weight", &[16, 260], 0.0)
            .floats("blk.1.attn_norm.weight", &[16], 1.0)
            .tensor("blk.0.attn_q.weight", &[16, 16], 0, rows.clone());
        let (_folder, out) = imported(&file);
        let bytes = std::fs::read(out.join("model.safetensors")).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let queries = tensors.tensor("model.layers.0.self_attn.q_proj.weight").unwrap();
        let first = queries
            .data()
            .chunks_exact(64)
            .map(|row| f32::from_le_bytes([row[0], row[1], row[2], row[3]]));
        assert_eq!(first.take(9).collect::<Vec<_>>(), expected, "{architecture}");
    }
}

#[test]
fn text_is_cut_as_the_file_says() {
    let text = "he  12";
    for (pre, pieces) in [
        ("smollm", &["he", "Ġ", "Ġ", "1", "2"][..]),
        ("llama-bpe", &["he", "Ġ", "Ġ", "12"]),
        ("qwen2", &["he", "Ġ", "Ġ", "1", "2"]),
        ("gpt-2", &["he", "Ġ", "Ġ", "12"]),
    ] {
        let (_folder, out) = imported(&tiny("qwen2", pre));
        let policy = Policy::load(&out, Device::cpu()).unwrap();
        let vocabulary = json(&out, "tokenizer.json")["model"]["vocab"].clone();
        let ids: Vec<u64> =
            pieces.iter().map(|piece| vocabulary[piece].as_u64().unwrap()).collect();
        let found: Vec<u64> =
            policy.wording().encode_text(text).unwrap().into_iter().map(u64::from).collect();
        assert_eq!(found, ids, "{pre}");
    }
}

#[test]
fn a_prompt_has_the_tokens_of_its_template_as_single_ones() {
    let (_folder, out) = imported(&tiny("llama", "smollm"));
    let policy = Policy::load(&out, Device::cpu()).unwrap();
    let messages = [Message { author: Author::User, text: "hé".to_owned() }];
    let prompt = policy.encode_prompt(&messages, &[], None).unwrap();
    assert_eq!((prompt[0], prompt.iter().filter(|id| **id == 259).count()), (258, 1));
    let text = policy.wording().render_prompt(&messages, &[], None).unwrap();
    assert_eq!(text, "<|im_start|>user\nhé<|im_end|>\n<|im_start|>assistant\n");
}

#[test]
fn a_second_token_that_ends_a_turn_ends_answers() {
    let file = tiny("llama", "smollm").whole("tokenizer.ggml.eot_token_id", 258);
    let (_folder, out) = imported(&file);
    assert_eq!(json(&out, "generation_config.json")["eos_token_id"], serde_json::json!([259, 258]));
}

/// What ends answers of a file in which this token is named for it.
fn ends(file: &GgufFile, named: u32, template: Option<&str>) -> Value {
    let mut bytes = file.bytes();
    let key = b"tokenizer.ggml.eos_token_id";
    let place = bytes.windows(key.len()).position(|window| window == key).unwrap();
    // After the name and the number of the type.
    let value = place + key.len() + 4;
    bytes[value..value + 4].copy_from_slice(&named.to_le_bytes());
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("model.gguf"), folder.path().join("out"));
    std::fs::write(&path, bytes).unwrap();
    import(&path, &out, None, template).unwrap();
    json(&out, "generation_config.json")["eos_token_id"].clone()
}

#[test]
fn what_the_template_ends_turns_with_ends_answers_where_the_file_names_only_the_end_of_text() {
    let file = tiny("llama", "smollm");
    assert_eq!(ends(&file, 257, None), serde_json::json!([257, 259]));
    assert_eq!(ends(&file, 259, None), 259);
    assert_eq!(ends(&file, 257, Some("{{ messages[0].content }}")), 257);
    let named = file.whole("tokenizer.ggml.eot_token_id", 258);
    assert_eq!(ends(&named, 257, None), serde_json::json!([257, 258]));
}

#[test]
fn positions_are_scaled_as_the_file_says_under_whatever_name() {
    let file = || tiny("llama", "smollm");
    let typed = |name: &str| file().text("llama.rope.scaling.type", name);
    let factor = |file: GgufFile, factor| file.number("llama.rope.scaling.factor", factor);
    let linear = |factor: f64| serde_json::json!({ "rope_type": "linear", "factor": factor });
    for (file, expected) in [
        (file(), Value::Null),
        (factor(file(), 4.0), linear(4.0)),
        (file().number("llama.rope.scale_linear", 2.5), linear(2.5)),
        (factor(typed("linear"), 8.0), linear(8.0)),
        (typed("linear").number("llama.rope.scale_linear", 8.0), linear(8.0)),
        (typed("linear"), Value::Null),
        (factor(typed("none"), 8.0), Value::Null),
        (factor(file(), 1.0), Value::Null),
        (factor(file(), 0.0), Value::Null),
    ] {
        let (_folder, out) = imported(&file);
        assert_eq!(json(&out, "config.json")["rope_scaling"], expected);
        Policy::load(&out, Device::cpu()).unwrap();
    }
}

#[test]
fn what_would_change_positions_or_attention_is_refused_by_name_known_or_not() {
    let number = |key: &str, value| tiny("llama", "smollm").number(&format!("llama.{key}"), value);
    let factor = || number("rope.scaling.factor", 2.0);
    for (file, expected) in [
        (number("rope.made_up", 0.0), "`llama.rope.made_up` is not known"),
        (number("attention.indexer.top_k", 4.0), "`llama.attention.indexer.top_k` is not known"),
        (number("rope.global.freq_base", 1e6), "`llama.rope.global.freq_base` is not known"),
        (number("attention.clamp_kqv", 8.0), "`llama.attention.clamp_kqv` is 8"),
        (number("rope.scaling.attn_factor", 1.5), "`llama.rope.scaling.attn_factor` is 1.5"),
        (number("rope.scaling.yarn_ext_factor", 1.0), "`llama.rope.scaling.yarn_ext_factor` is 1"),
        (number("rope.scaling.factor", 0.5), "`llama.rope.scaling.factor` is 0.5, but must be 1"),
        (factor().entry("llama.attention.causal", 7, &[0]), "`llama.attention.causal` is false"),
        (
            factor().number("llama.rope.scale_linear", 4.0),
            "`llama.rope.scaling.factor` is 2, but `llama.rope.scale_linear` is 4",
        ),
        (
            factor().floats("rope_freqs.weight", &[4], 1.0),
            "`llama.rope.scaling.factor` is 2, and tensor `rope_freqs.weight` slows positions, too",
        ),
        (
            factor().whole("llama.attention.key_length_swa", 4),
            "`llama.attention.key_length_swa` is 4, but heads are 8 wide",
        ),
    ] {
        let error = refusal(&file.bytes());
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn what_converters_write_of_positions_and_attention_changes_nothing_at_its_usual_values() {
    let mut file = tiny("llama", "smollm").text("llama.rope.scaling.type", "none");
    for (key, value) in [
        ("attention.clamp_kqv", 0.0),
        ("attention.layer_norm_epsilon", 1e-5),
        ("attention.max_alibi_bias", 0.0),
        ("attention.scale", 0.0),
        ("rope.scaling.attn_factor", 1.0),
        ("rope.scaling.yarn_attn_factor", 1.0),
        ("rope.scaling.yarn_beta_fast", 32.0),
        ("rope.scaling.yarn_beta_slow", 1.0),
        ("rope.scaling.yarn_ext_factor", -1.0),
        ("rope.scaling.yarn_log_multiplier", 0.1),
        ("made_up.elsewhere", 3.0),
    ] {
        file = file.number(&format!("llama.{key}"), value);
    }
    for (key, value) in [
        ("attention.key_length", 8),
        ("attention.value_length", 8),
        ("attention.sliding_window", 0),
        ("rope.dimension_count", 8),
        ("rope.scaling.original_context_length", 2048),
    ] {
        file = file.whole(&format!("llama.{key}"), value);
    }
    for key in ["llama.attention.causal", "llama.rope.scaling.finetuned"] {
        file = file.entry(key, 7, &[1]);
    }
    let (_folder, out) = imported(&file);
    Policy::load(&out, Device::cpu()).unwrap();
}

#[test]
fn weights_are_as_wide_as_asked_or_as_the_file_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, tiny("llama", "smollm").bytes()).unwrap();
    let written =
        |name: &str, dtype| import(&path, &folder.path().join(name), dtype, None).unwrap();
    let (wide, narrow) = (written("wide", None), written("narrow", Some(Dtype::Bfloat16)));
    assert_eq!((wide.dtype, wide.bytes), (Dtype::Float32, 2 * narrow.bytes));
    assert_eq!(wide.encodings, ["F32 (20)"]);
    Policy::load(&folder.path().join("narrow"), Device::cpu()).unwrap();

    let matrix = vec![0; 260 * 16 * 2];
    let file = entries("llama", "smollm")
        .tensor("token_embd.weight", &[16, 260], 30, matrix)
        .floats("blk.1.attn_norm.weight", &[16], 1.0);
    std::fs::write(&path, file.bytes()).unwrap();
    assert_eq!(written("own", None).dtype, Dtype::Bfloat16);
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_refused() {
    let whole = tiny("llama", "smollm").bytes();
    let header = whole.len() - 20 * 32;
    for length in (0..header).step_by(97).chain([whole.len() - 64]) {
        refusal(&whole[..length]);
    }
}

#[test]
fn a_file_with_any_byte_changed_is_refused_or_read_but_never_a_panic() {
    let whole = tiny("llama", "smollm").bytes();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    // What is not weights: the end of the entries is where the first norm lies.
    for place in (4..7_000).step_by(41) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0xff;
        std::fs::write(&path, &bytes).unwrap();
        let _ = import(&path, &folder.path().join("out"), None, None);
    }
}

#[test]
fn what_a_file_claims_is_held_against_its_size() {
    let file = || tiny("llama", "smollm");
    let list = |kind: u32, count: u64| [&kind.to_le_bytes()[..], &count.to_le_bytes()].concat();
    for (file, expected) in [
        (file().entry("x", 9, &list(4, u64::MAX)), "it is cut off or damaged"),
        (file().entry("x", 9, &list(8, 1 << 40)), "it is cut off or damaged"),
        (file().entry("x", 9, &list(9, 1)), "`x`: lists of lists"),
        (file().entry("x", 8, &u64::MAX.to_le_bytes()), "it is cut off or damaged"),
        (file().entry("x", 77, &[]), "`x`: values of type 77"),
        (file().whole("llama.block_count", 2), "`llama.block_count` is there twice"),
        (file().whole("general.alignment", 0), "`general.alignment` is 0"),
        (file().whole("split.count", 3), "one part of several"),
        (file().tensor("t", &[1 << 40, 1 << 40], 0, Vec::new()), "tensor `t` claims to be"),
        (file().tensor("t", &[0], 0, Vec::new()), "tensor `t` claims to be"),
        (file().tensor("t", &[1 << 20], 0, vec![0; 4]), "tensor `t` ends at byte"),
        (file().tensor("t", &[33], 2, vec![0; 18]), "tensor `t` has rows of 33"),
        (file().tensor("t", &[32], 11, vec![0; 18]), "tensor `t` is of type Q3_K (11)"),
        (file().tensor("t", &[], 0, Vec::new()), "tensor `t` has 0 dimensions"),
        (file().floats("output_norm.weight", &[16], 1.0), "`output_norm.weight` is there twice"),
    ] {
        let error = refusal(&file.bytes());
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn tensors_that_lie_over_each_other_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let mut bytes = tiny("llama", "smollm").bytes();
    let layers = ["blk.0.ffn_down.weight", "blk.1.ffn_down.weight", "blk.1.ffn_up.weight"];
    for name in layers.iter().chain(&["blk.0.ffn_norm.weight"]) {
        let at = bytes.windows(name.len()).position(|window| window == name.as_bytes()).unwrap();
        let sizes = if name.contains("norm") { 8 } else { 16 };
        // The second size of the matrix becomes that of the embedding, and so does its place.
        let start = at + name.len() + 4;
        if sizes == 16 {
            bytes[start..start + 16]
                .copy_from_slice(&[16_u64.to_le_bytes(), 260_u64.to_le_bytes()].concat());
        }
        bytes[start + sizes + 4..start + sizes + 12].fill(0);
    }
    std::fs::write(&path, bytes).unwrap();
    let error = import(&path, &folder.path().join("out"), None, None).unwrap_err().to_string();
    assert!(error.contains("tensors lie over each other"), "{error}");
}

#[test]
fn what_we_cannot_run_is_refused_by_name() {
    let file = || tiny("llama", "smollm");
    for (file, expected) in [
        (tiny("gemma2", "smollm"), "it is a `gemma2`; only models of `llama`, `qwen2`, `qwen3`, `"),
        (tiny("llama", "tekken"), "`tokenizer.ggml.pre` is `tekken`"),
        (file().whole("llama.expert_count", 8), "`llama.expert_count` is 8"),
        (file().whole("llama.rope.dimension_count", 4), "`llama.rope.dimension_count` is 4"),
        (file().text("llama.rope.scaling.type", "yarn"), "`llama.rope.scaling.type` is `yarn`"),
        (file().floats("rope_freqs.weight", &[4], 1.0), "`rope_freqs.weight` slows positions"),
        (
            file().floats("blk.0.attn_sinks.weight", &[2], 0.0),
            "`blk.0.attn_sinks.weight` is no part",
        ),
        (
            file().floats("blk.7.attn_norm.weight", &[16], 0.0),
            "`blk.7.attn_norm.weight` is no part",
        ),
        (
            file().floats("output.weight", &[8, 260], 0.0),
            "has shape [260, 8], but a model of these sizes has [260, 16]",
        ),
        (
            file().whole("tokenizer.ggml.padding_token_id", 260),
            "`tokenizer.ggml.padding_token_id` is 260",
        ),
        (GgufFile::default(), "does not say `general.architecture`"),
        (entries("llama", "smollm"), "tensor `token_embd.weight` is missing"),
    ] {
        let error = refusal(&file.bytes());
        assert!(error.contains(expected), "{expected}: {error}");
    }
    assert!(refusal(b"PK\x03\x04 and so on").contains("it is not a GGUF file"));
    let mut old = file().bytes();
    old[4] = 1;
    assert!(refusal(&old).contains("GGUF version 1"));
    old[4..8].copy_from_slice(&[0, 0, 0, 3]);
    assert!(refusal(&old).contains("big-endian"));
}
