//! The keys of `config.json`: what each family reads, what changes nothing, and what would change
//! something that is not done.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use super::family::ModelFamily;
use crate::keys::Keys;

/// What all families read.
const ALL: &[&str] = &[
    "architectures",
    "bos_token_id",
    "dtype",
    "eos_token_id",
    "head_dim",
    "hidden_size",
    "intermediate_size",
    "layer_types",
    "max_position_embeddings",
    "model_type",
    "num_attention_heads",
    "num_hidden_layers",
    "num_key_value_heads",
    "original_max_position_embeddings",
    "pad_token_id",
    "partial_rotary_factor",
    "quantization_config",
    "rms_norm_eps",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "sliding_window",
    "tie_word_embeddings",
    "torch_dtype",
    "vocab_size",
];

const LLAMA: &[&str] = &["attention_bias", "hidden_act", "mlp_bias"];
const QWEN2: &[&str] = &["hidden_act", "max_window_layers", "use_sliding_window"];
const QWEN3: &[&str] = &["attention_bias", "hidden_act", "max_window_layers", "use_sliding_window"];
const QWEN3_MOE: &[&str] = &[
    "attention_bias",
    "decoder_sparse_step",
    "hidden_act",
    "mlp_only_layers",
    "moe_intermediate_size",
    "norm_topk_prob",
    "num_experts",
    "num_experts_per_tok",
    "num_local_experts",
    "use_sliding_window",
];
const MISTRAL: &[&str] = &["hidden_act"];
const SMOLLM3: &[&str] = &[
    "attention_bias",
    "hidden_act",
    "mlp_bias",
    "no_rope_layer_interval",
    "no_rope_layers",
    "use_sliding_window",
];
const GEMMA3: &[&str] = &[
    "_sliding_window_pattern",
    "attention_bias",
    "attn_logit_softcapping",
    "final_logit_softcapping",
    // Written beside the next one, which is what counts.
    "hidden_act",
    "hidden_activation",
    "query_pre_attn_scalar",
    "rope_local_base_freq",
    "sliding_window_pattern",
    "use_bidirectional_attention",
];

/// Where a file comes from, how others compute and keep it, how it was trained, and how they
/// would sample from it: none of that changes what the weights say.
const IDLE: &[&str] = &[
    // Where it comes from.
    "_commit_hash",
    "_name_or_path",
    "finetuning_task",
    "is_llama_config",
    "license",
    "model_max_length",
    "max_sequence_length",
    "name_or_path",
    "tokenizer_class",
    "transformers_version",
    "transformers.js_config",
    "unsloth_fixed",
    "unsloth_tuned",
    "unsloth_version",
    // How others compute it.
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_attn_implementation_internal",
    "_experts_implementation",
    "_experts_implementation_internal",
    "_flash_attn_2_enabled",
    "attn_implementation",
    "cache_implementation",
    "chunk_size_feed_forward",
    "experts_implementation",
    "gradient_checkpointing",
    "keys_to_ignore_at_inference",
    // Of windows, which are said to be there by another key.
    "max_window_layers",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "output_router_logits",
    "pretraining_tp",
    "return_dict",
    "return_dict_in_generate",
    "output_scores",
    "tf_legacy_loss",
    "torchscript",
    "use_bfloat16",
    "use_cache",
    // How it was trained; nothing is dropped out here.
    "attention_dropout",
    "attn_pdrop",
    "embd_pdrop",
    "hidden_dropout",
    "initializer_range",
    "resid_pdrop",
    "router_aux_loss_coef",
    // Of heads that classify.
    "id2label",
    "label2id",
    "num_labels",
    "problem_type",
    "task_specific_params",
    // How others sample; a run's configuration says how it does.
    "bad_words_ids",
    "begin_suppress_tokens",
    "cls_token_id",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "length_penalty",
    "max_length",
    "max_new_tokens",
    "min_length",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_return_sequences",
    "prefix",
    "remove_invalid_values",
    "repetition_penalty",
    "sep_token_id",
    "suppress_tokens",
    "temperature",
    "top_k",
    "top_p",
    "typical_p",
    "unk_token_id",
];

/// What other families read, or other programs.
const FIXED: &[(&str, &[&str])] = &[
    ("add_cross_attention", &["false"]),
    ("alibi", &["false"]),
    ("attention_bias", &["false"]),
    ("attention_multiplier", &[]),
    ("attn_logit_softcapping", &[]),
    ("auto_map", &["{}"]),
    ("bias", &["false"]),
    ("compression_config", &["{}"]),
    ("cross_attention_hidden_size", &[]),
    ("decoder_sparse_step", &["1"]),
    ("dual_chunk_attention_config", &["{}"]),
    ("embedding_multiplier", &["1"]),
    ("final_logit_softcapping", &[]),
    ("first_k_dense_replace", &["0"]),
    ("hidden_activation", &["\"silu\"", "\"swish\""]),
    ("interleaved_sliding_window", &["[]"]),
    ("is_causal", &["true"]),
    ("is_decoder", &["true", "false"]),
    ("is_encoder_decoder", &["false"]),
    ("kv_lora_rank", &[]),
    ("layer_norm_eps", &[]),
    ("logit_scale", &["1"]),
    ("logits_scaling", &["1"]),
    ("mlp_bias", &["false"]),
    ("mlp_only_layers", &["[]"]),
    ("moe_intermediate_size", &["0"]),
    ("n_routed_experts", &["0"]),
    ("n_shared_experts", &["0"]),
    ("no_bias", &["true"]),
    ("no_rope_layer_interval", &["0"]),
    ("no_rope_layers", &["[]"]),
    ("norm_topk_prob", &["false"]),
    ("num_experts", &["0"]),
    ("num_experts_per_tok", &["0"]),
    ("num_local_experts", &["0"]),
    ("num_nextn_predict_layers", &["0"]),
    ("per_layer_config", &["{}"]),
    ("pruned_heads", &["{}"]),
    ("qk_layernorm", &["false"]),
    ("qkv_bias", &["false"]),
    ("quantization", &["{}"]),
    ("query_pre_attn_scalar", &[]),
    ("residual_multiplier", &["1"]),
    ("rope_interleaved", &["false"]),
    ("rope_local_base_freq", &[]),
    ("shared_expert_intermediate_size", &["0"]),
    ("sliding_window_pattern", &[]),
    ("_sliding_window_pattern", &[]),
    ("text_config", &["{}"]),
    ("tie_encoder_decoder", &["false"]),
    ("use_bidirectional_attention", &["false"]),
    ("use_mrope", &["false"]),
    ("use_qk_norm", &["false"]),
    ("use_sliding_window", &["false"]),
    ("vision_config", &["{}"]),
];

/// Refuse what this family's `config.json` says and the code would ignore.
pub(super) fn check(family: ModelFamily, original: &Map<String, Value>) -> Result<(), String> {
    keys(family).check(original)
}

fn keys(family: ModelFamily) -> Keys {
    let heeded: &[&[&str]] = match family {
        ModelFamily::Llama => &[ALL, LLAMA],
        ModelFamily::Qwen2 => &[ALL, QWEN2],
        ModelFamily::Qwen3 => &[ALL, QWEN3],
        ModelFamily::Qwen3Moe => &[ALL, QWEN3_MOE],
        ModelFamily::Mistral => &[ALL, MISTRAL],
        ModelFamily::SmolLm3 => &[ALL, SMOLLM3],
        ModelFamily::Gemma3 => &[ALL, GEMMA3],
    };
    Keys { heeded, idle: IDLE, fixed: FIXED }
}

/// What `rope_scaling` and `rope_parameters` may say, whatever their kind reads of it.
pub(super) const ROPE: Keys = Keys {
    heeded: &[&[
        "attention_factor",
        "beta_fast",
        "beta_slow",
        "factor",
        "full_attention",
        "high_freq_factor",
        "low_freq_factor",
        "mscale",
        "mscale_all_dim",
        "original_max_position_embeddings",
        "partial_rotary_factor",
        "rope_theta",
        "rope_type",
        "sliding_attention",
        "truncate",
        "type",
    ]],
    idle: &["finetuned"],
    fixed: &[("mrope_section", &["[]"]), ("long_factor", &["[]"]), ("short_factor", &["[]"])],
};
