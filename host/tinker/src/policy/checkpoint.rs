//! Whether the server's base is the checkpoint whose tokenizer is used, where its weights lie here.

use std::path::Path;

use crate::canary;
use crate::failure::{TinkerFailure, TinkerFailureKind as Kind};
use troupe_core::config::{Dtype, TinkerConfig};
use troupe_core::storage::list_folder;
use troupe_model::{Device, Policy, Speaker};

/// Weights that are read for it, in bytes; larger ones are believed.
const MOST: u64 = 4 << 30;

/// Compare the fixed text's score there with that of the weights in the tokenizer's folder. What
/// has none, is large, or is of a kind that we do not know is not compared.
pub(super) fn compare(
    there: &[f32],
    config: &TinkerConfig,
    speaker: &Speaker,
) -> Result<(), TinkerFailure> {
    let folder = &config.tokenizer;
    if !(1..=MOST).contains(&weights_in(folder)) {
        return Ok(());
    }
    let Ok(policy) = Policy::load_in(folder, Some(Dtype::Float32), Device::cpu()) else {
        return Ok(());
    };
    let text = canary::text(speaker);
    let Ok(here) = policy.score(&text) else { return Ok(()) };
    let gap = canary::difference(there, &here);
    if gap <= config.tolerance {
        return Ok(());
    }
    Err(Kind::Unfit.because(format!(
        "what it calls `{}` is not the checkpoint in `{}`: on a fixed text their log-probabilities \
         are {gap:.2e} nats per token apart, and `tolerance` is {}",
        config.base,
        folder.display(),
        config.tolerance
    )))
}

fn weights_in(folder: &Path) -> u64 {
    let names = list_folder(folder).unwrap_or_default();
    let weights = names.iter().filter(|name| name.ends_with(".safetensors"));
    let sizes = weights.filter_map(|name| Some(folder.join(name).metadata().ok()?.len()));
    sizes.sum()
}
