//! A tiny Gemma 3 as a GGUF file: seven layers, of which one sees more than a window of four
//! tokens, and a vocabulary of SentencePiece in the order of Gemma's.

use super::gguf_file::GgufFile;

/// The template of the tiny model: the turns of Gemma.
pub(super) const TEMPLATE: &str = "{{ bos_token }}{% for m in messages %}<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content | trim }}<end_of_turn>\n{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}";

/// Kinds of tokens, as files number them.
const NORMAL: i32 = 1;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;
const BYTE: i32 = 6;

/// Layers, and numbers of a hidden state.
const LAYERS: u32 = 7;
const WIDTH: u64 = 16;

/// Tokens and their kinds. Pieces lie in the order in which they are merged: `th` before `he`.
fn vocabulary() -> Vec<(String, i32)> {
    let control = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"];
    let defined = ["[multimodal]", "\n", "\n\n", "\n\n\n", "  ", "   ", "    "];
    let pieces = [
        "th", "he", "ll", "▁t", "▁th", "llo", "hello", "▁a", "re", "▁hello", "▁the", "if", "12",
        "30", "))", "日本", "▁▁a",
    ];
    let single = ('!'..='~').chain("▁éß日本語ж".chars());
    let of = |kind: i32| move |token: &str| (token.to_owned(), kind);
    let bytes = (0..=255_u8).map(|byte| (format!("<0x{byte:02X}>"), BYTE));
    let mut tokens: Vec<_> = control.into_iter().map(of(CONTROL)).collect();
    tokens.extend(defined.into_iter().map(of(USER_DEFINED)));
    tokens.extend(bytes);
    tokens.extend(pieces.into_iter().map(of(NORMAL)));
    tokens.extend(single.map(|letter| (letter.to_string(), NORMAL)));
    tokens
}

/// Rows of its embedding.
pub(super) fn rows() -> u64 {
    vocabulary().len() as u64
}

/// What the file says, without a template.
pub(super) fn entries() -> GgufFile {
    entries_without_base().number("gemma3.rope.freq_base", 100.0)
}

/// The same without the base of positions.
pub(super) fn entries_without_base() -> GgufFile {
    let (tokens, kinds): (Vec<_>, Vec<_>) = vocabulary().into_iter().unzip();
    GgufFile::default()
        .text("general.architecture", "gemma3")
        .whole("gemma3.block_count", LAYERS)
        .whole("gemma3.context_length", 4096)
        .whole("gemma3.embedding_length", WIDTH as u32)
        .whole("gemma3.feed_forward_length", 32)
        .whole("gemma3.attention.head_count", 2)
        .whole("gemma3.attention.head_count_kv", 1)
        .whole("gemma3.attention.key_length", 12)
        .whole("gemma3.attention.value_length", 12)
        .whole("gemma3.attention.sliding_window", 4)
        .number("gemma3.attention.layer_norm_rms_epsilon", 1e-6)
        .text("tokenizer.ggml.model", "llama")
        .text("tokenizer.ggml.pre", "default")
        .texts("tokenizer.ggml.tokens", &tokens)
        .wholes("tokenizer.ggml.token_type", &kinds)
        .whole("tokenizer.ggml.padding_token_id", 0)
        .whole("tokenizer.ggml.eos_token_id", 1)
        .whole("tokenizer.ggml.bos_token_id", 2)
        .whole("tokenizer.ggml.unknown_token_id", 3)
        .entry("tokenizer.ggml.add_bos_token", 7, &[1])
        .entry("tokenizer.ggml.add_space_prefix", 7, &[0])
}

/// A tiny model with weights that look random, which is not told how to converse.
pub(super) fn base() -> GgufFile {
    with_weights(entries())
}

/// A file that says this of itself, with these weights.
pub(super) fn with_weights(file: GgufFile) -> GgufFile {
    let mut file = file.floats("token_embd.weight", &[WIDTH, rows()], 0.0).floats(
        "output_norm.weight",
        &[WIDTH],
        1.0,
    );
    for layer in 0..LAYERS {
        let name = |part: &str| format!("blk.{layer}.{part}.weight");
        for norm in ["attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"] {
            file = file.floats(&name(norm), &[WIDTH], 1.0);
        }
        file = file
            .floats(&name("attn_q_norm"), &[12], 1.0)
            .floats(&name("attn_k_norm"), &[12], 1.0)
            .floats(&name("attn_q"), &[WIDTH, 24], 0.0)
            .floats(&name("attn_k"), &[WIDTH, 12], 0.0)
            .floats(&name("attn_v"), &[WIDTH, 12], 0.0)
            .floats(&name("attn_output"), &[24, WIDTH], 0.0)
            .floats(&name("ffn_gate"), &[WIDTH, 32], 0.0)
            .floats(&name("ffn_up"), &[WIDTH, 32], 0.0)
            .floats(&name("ffn_down"), &[32, WIDTH], 0.0);
    }
    file
}

/// The same, and how it converses.
pub(super) fn tiny() -> GgufFile {
    base().text("tokenizer.chat_template", TEMPLATE)
}
