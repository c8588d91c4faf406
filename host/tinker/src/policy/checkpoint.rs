//! Whether the server's base is the checkpoint whose tokenizer is used, where its weights lie here.

use std::path::Path;

use crate::canary;
use crate::failure::{TinkerFailure, TinkerFailureKind as Kind};
use troupe_core::config::{Dtype, TinkerConfig};
use troupe_core::storage::list_folder;
use troupe_core::trajectory::{Completion, Reward, Sample, StopReason};
use troupe_model::{Device, Policy, Sampling, Speaker};
use troupe_trainer::ranks::Ranks;
use troupe_trainer::rescore;

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
    let row = sample(&text);
    let sampling = Sampling::plain(text.len()).into();
    let pair = [(&policy, vec![&row])];
    let scored = rescore(&Ranks::alone(), &pair, &sampling, text.len() + 1);
    let Ok(scored) = scored else { return Ok(()) };
    let here = scored.into_iter().flatten().next().unwrap_or_default();
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

/// The text as an answer to its first token.
fn sample(text: &[u32]) -> Sample {
    Sample {
        task: 0,
        family: String::new(),
        episode: 0,
        turn: 0,
        role: String::new(),
        instance: 0,
        thread: String::new(),
        situation: None,
        round: 0,
        parent: None,
        caller: None,
        policy: String::new(),
        branch: 0,
        kept: false,
        state: 0,
        prompt: text[..1].into(),
        completion: Completion {
            tokens: text[1..].to_vec(),
            logprobs: vec![0.0; text.len() - 1],
            text: String::new(),
            stop: StopReason::Length,
            forced: Vec::new(),
            usage: None,
        },
        reward: Reward::default(),
        accepted: true,
    }
}
