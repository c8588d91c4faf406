//! Gemma 3: norms around zero, layers with windows, and a vocabulary of SentencePiece.

use super::super::gguf_file;
use super::super::tiny_gemma::{base, entries, entries_without_base, rows, tiny, with_weights};
use super::{
    Author, Device, GgufFile, Message, Policy, SafeTensors, TEMPLATE, import, imported, json,
    refusal,
};

#[test]
fn a_gemma_3_loads_and_its_config_says_what_files_leave_out() {
    let (_folder, out) = imported(&tiny());
    let config = json(&out, "config.json");
    let sliding = "sliding_attention";
    let expected = serde_json::json!({
        "model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "head_dim": 12,
        "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 12,
        "sliding_window": 4, "rope_theta": 100.0, "rope_local_base_freq": 10_000.0,
        "layer_types": [sliding, sliding, sliding, sliding, sliding, "full_attention", sliding],
        "tie_word_embeddings": true, "attention_bias": false, "bos_token_id": 2,
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(config[key], *value, "{key}");
    }
    let policy = Policy::load(&out, Device::cpu()).unwrap();
    let scores = policy.score(&policy.wording().encode_text("hello 123").unwrap()).unwrap();
    assert!(scores.iter().all(|score| score.is_finite() && *score < 0.0), "{scores:?}");
}

#[test]
fn what_a_file_says_of_its_windows_is_taken_from_it() {
    let file = tiny()
        .whole("gemma3.attention.sliding_window_pattern", 2)
        .number("gemma3.rope.freq_base_swa", 50.0);
    let (_folder, out) = imported(&file);
    let config = json(&out, "config.json");
    assert_eq!(config["rope_local_base_freq"], 50.0);
    let full = config["layer_types"].as_array().unwrap().iter();
    let full: Vec<bool> = full.map(|kind| kind == "full_attention").collect();
    assert_eq!(full, [false, true, false, true, false, true, false]);
}

#[test]
fn the_bases_of_positions_go_by_older_names_too_and_have_defaults() {
    let bases = |entries: GgufFile| {
        let file = with_weights(entries).text("tokenizer.chat_template", TEMPLATE);
        let (_folder, out) = imported(&file);
        let config = json(&out, "config.json");
        ["rope_theta", "rope_local_base_freq"].map(|key| config[key].as_f64())
    };
    let entries = entries_without_base;
    assert_eq!(bases(entries()), [Some(1e6), Some(1e4)]);
    let older = entries().number("gemma3.rope.global.freq_base", 500.0);
    let older = older.number("gemma3.rope.local.freq_base", 50.0);
    assert_eq!(bases(older.clone()), [Some(500.0), Some(50.0)]);
    let both = older.number("gemma3.rope.freq_base_swa", 50.0);
    assert_eq!(bases(both), [Some(500.0), Some(50.0)]);
}

#[test]
fn norms_are_written_as_what_they_have_above_one() {
    let factors = |count: usize| [1.25_f32.to_le_bytes(); 24][..count].concat();
    let mut file = entries().floats("token_embd.weight", &[16, rows()], 0.0);
    let norms = ["attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "attn_q_norm"];
    for part in norms {
        let width = if part == "attn_q_norm" { 12 } else { 16 };
        let name = format!("blk.6.{part}.weight");
        file = file.tensor(&name, &[width as u64], 0, factors(width));
    }
    let file = file
        .tensor("output_norm.weight", &[16], 0, factors(16))
        .tensor("blk.6.attn_k.weight", &[16, 12], 0, factors(24).repeat(8))
        .text("tokenizer.chat_template", TEMPLATE);
    let (_folder, out) = imported(&file);
    let bytes = std::fs::read(out.join("model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let first = |name: &str| {
        let tensor = tensors.tensor(&format!("model.{name}.weight")).unwrap();
        f32::from_le_bytes(tensor.data()[..4].try_into().unwrap())
    };
    for norm in ["input", "post_attention", "pre_feedforward", "post_feedforward"] {
        assert_eq!(first(&format!("layers.6.{norm}_layernorm")), 0.25, "{norm}");
    }
    assert_eq!((first("norm"), first("layers.6.self_attn.q_norm")), (0.25, 0.25));
    assert_eq!(first("layers.6.self_attn.k_proj"), 1.25);
}

#[test]
fn pieces_are_merged_in_their_order_and_what_none_covers_is_written_in_bytes() {
    let (_folder, out) = imported(&tiny());
    let policy = Policy::load(&out, Device::cpu()).unwrap();
    let vocabulary = json(&out, "tokenizer.json")["model"]["vocab"].clone();
    for (text, pieces) in [
        // `th` comes before `he`, and `▁the` is made of it.
        ("the", &["th", "e"][..]),
        (" the", &["▁the"]),
        ("hello hello", &["hello", "▁hello"]),
        ("a  a", &["a", "▁▁a"]),
        ("a     b", &["a", "▁▁", "▁▁▁", "b"]),
        ("x\n\n\ny\n", &["x", "\n\n\n", "y", "\n"]),
        ("ü日本", &["<0xC3>", "<0xBC>", "日本"]),
        ("<end_of_turn>\t12", &["<end_of_turn>", "<0x09>", "12"]),
    ] {
        let expected: Vec<_> = pieces.iter().map(|piece| vocabulary[*piece].clone()).collect();
        let found = serde_json::json!(policy.wording().encode_text(text).unwrap());
        assert_eq!(found, serde_json::json!(expected), "{text:?}");
    }
}

#[test]
fn text_is_what_it_was_once_its_tokens_are_read() {
    let (_folder, out) = imported(&tiny());
    let policy = Policy::load(&out, Device::cpu()).unwrap();
    for text in ["  the\n\n if (a):\n\treturn  日本 ü🙂", "", " ", "<0x", "[multimodal]\u{0}~"]
    {
        let ids = policy.wording().encode_text(text).unwrap();
        assert_eq!(policy.wording().decode_text(&ids).unwrap(), text);
    }
}

#[test]
fn an_end_of_turn_ends_answers_where_the_file_names_only_the_end_of_text() {
    let ends = |file: &GgufFile| {
        let (_folder, out) = imported(file);
        json(&out, "generation_config.json")["eos_token_id"].clone()
    };
    assert_eq!(ends(&tiny()), serde_json::json!([1, 5]));
    assert_eq!(ends(&tiny().whole("tokenizer.ggml.eot_token_id", 4)), serde_json::json!([1, 4]));
}

#[test]
fn a_model_that_was_not_instructed_converses_by_a_template_that_is_given() {
    let error = refusal(&base().bytes());
    assert!(error.contains("has no `tokenizer.chat_template`"), "{error}");
    assert!(error.contains("`--chat-template`"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("model.gguf"), folder.path().join("out"));
    let messages = [Message { author: Author::User, text: "hé".to_owned() }];
    for (name, file) in [("base", base()), ("tiny", tiny())] {
        std::fs::write(&path, file.bytes()).unwrap();
        let template = "{{ bos_token }}{{ messages[0].content }}?";
        import(&path, &out.join(name), None, Some(template)).unwrap();
        let policy = Policy::load(&out.join(name), Device::cpu()).unwrap();
        let text = policy.wording().render_prompt(&messages, &[], None).unwrap();
        assert_eq!(text, "<bos>hé?");
        assert_eq!(policy.encode_prompt(&messages, &[], None).unwrap()[0], 2);
    }
}

#[test]
fn what_is_not_as_gemma_has_it_is_refused_by_name() {
    for (file, expected) in [
        (tiny().number("gemma3.final_logit_softcapping", 30.0), "final_logit_softcapping` is 30"),
        (
            tiny().number("gemma3.rope.global.freq_base", 500.0),
            "`gemma3.rope.freq_base` is 100, but `gemma3.rope.global.freq_base` is 500",
        ),
        (tiny().number("gemma3.rope.made_up", 1.0), "`gemma3.rope.made_up` is not known"),
        (tiny().floats("blk.0.ffn_post_norm.weight", &[16], 1.0), "is no part of a `gemma3`"),
        (entries(), "tensor `token_embd.weight` is missing"),
        (
            tiny().whole("gemma3.attention.scale", 2),
            "`gemma3.attention.scale` is 2, but models with it are not supported",
        ),
    ] {
        let error = refusal(&file.bytes());
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let mut bytes = tiny().bytes();
    let flag = b"tokenizer.ggml.add_space_prefix";
    let place = bytes.windows(flag.len()).position(|window| window == flag).unwrap();
    // After the name and the number of the type.
    bytes[place + flag.len() + 4] = 1;
    let error = refusal(&bytes);
    assert!(error.contains("`tokenizer.ggml.add_space_prefix` is true"), "{error}");

    let mut bytes = gguf_file::tiny("llama", "smollm").bytes();
    let place = bytes.windows(4).position(|window| window == b"gpt2").unwrap();
    bytes[place..place + 4].copy_from_slice(b"bert");
    let error = refusal(&bytes);
    assert!(error.contains("`tokenizer.ggml.model` is `bert`; `gpt2`"), "{error}");
}
