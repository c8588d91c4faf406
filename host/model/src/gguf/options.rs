//! Options of a model in a file: what we would compute differently is refused, and of what changes
//! positions or attention also what is not known.

use super::shape::{Architecture, ArchitectureKeys};

/// Read elsewhere, or held against what is read there.
const HEEDED: [&str; 17] = [
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.key_length_swa",
    "attention.layer_norm_rms_epsilon",
    "attention.sliding_window_pattern",
    "attention.value_length",
    "attention.value_length_swa",
    "rope.dimension_count",
    "rope.dimension_count_swa",
    "rope.freq_base",
    "rope.freq_base_swa",
    "rope.scale_linear",
    "rope.scaling.factor",
    "rope.scaling.type",
    CAUSAL,
    WINDOW,
];
/// What older files of Gemma 3, those of Ollama among them, have for `rope.freq_base`.
pub(super) const GLOBAL_BASE: &str = "rope.global.freq_base";
/// And for `rope.freq_base_swa`.
pub(super) const LOCAL_BASE: &str = "rope.local.freq_base";
/// Of norms that these models do not have, of YaRN, which is refused, and of how a model came to be.
const WITHOUT_EFFECT: [&str; 6] = [
    "attention.layer_norm_epsilon",
    "rope.scaling.finetuned",
    "rope.scaling.original_context_length",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "rope.scaling.yarn_log_multiplier",
];
/// Change nothing where they are 0.
const ZERO: [&str; 13] = [
    "attention.clamp_kqv",
    "attention.max_alibi_bias",
    "attention.output_scale",
    "attention.scale",
    "attention.shared_kv_layers",
    "attention.temperature_length",
    "attention.temperature_scale",
    "attn_logit_softcapping",
    "embedding_scale",
    "expert_count",
    "final_logit_softcapping",
    "logit_scale",
    "residual_scale",
];
/// Change nothing where they are 1.
const ONE: [&str; 2] = ["rope.scaling.attn_factor", "rope.scaling.yarn_attn_factor"];
/// Changes nothing where it is 0, or below, which leaves it to the type of scaling.
const YARN: &str = "rope.scaling.yarn_ext_factor";
/// Whether tokens see only those before them.
const CAUSAL: &str = "attention.causal";
/// Tokens that a layer with a window sees; only Gemma 3 may have such layers.
const WINDOW: &str = "attention.sliding_window";

/// Refuse what we would compute differently, or may.
pub(super) fn check(entries: &ArchitectureKeys) -> Result<(), String> {
    let is_gemma3 = entries.architecture == Architecture::Gemma3;
    let windows = (!is_gemma3).then_some(WINDOW);
    refuse(entries, ZERO.into_iter().chain(windows), |value| value != 0.0)?;
    refuse(entries, ONE, |value| value != 1.0)?;
    refuse(entries, [YARN], |value| value > 0.0)?;
    if entries.flag(CAUSAL)? == Some(false) {
        return Err(format!(
            "`{}` is false, but only models whose tokens see none that come later are supported",
            entries.name(CAUSAL)
        ));
    }
    let is_known = |key: &str| {
        let matters = key.starts_with("attention.") || key.starts_with("rope.");
        let is_older = is_gemma3 && [GLOBAL_BASE, LOCAL_BASE].contains(&key);
        let lists: [&[&str]; 5] = [&HEEDED, &WITHOUT_EFFECT, &ZERO, &ONE, &[YARN]];
        !matters || is_older || lists.iter().any(|list| list.contains(&key))
    };
    match entries.keys().find(|key| !is_known(key)) {
        None => Ok(()),
        Some(key) => Err(format!(
            "`{}` is not known, and may change positions or attention; take it out of the file if \
             you know that it changes nothing",
            entries.name(key)
        )),
    }
}

/// Refuse entries whose value would change something.
fn refuse(
    entries: &ArchitectureKeys,
    keys: impl IntoIterator<Item = &'static str>,
    changes: impl Fn(f64) -> bool,
) -> Result<(), String> {
    for key in keys {
        if let Some(value) = entries.number(key)?.filter(|value| changes(*value)) {
            let name = entries.name(key);
            return Err(format!("`{name}` is {value}, but models with it are not supported"));
        }
    }
    Ok(())
}
