//! Samples scored again, as the training graph scores them.

use super::TrainerError;
use super::bundle::{Answer, Bundle, bundle};
use super::pack::micro_batches;
use super::pass::{chosen, chunks};
use crate::policy::{Ensemble, Policy, Sampling};
use crate::trajectory::Sample;

/// Log-probabilities of the tokens of each policy's samples, in the order of
/// the samples: what `--verify-logprobs` compares. Policies over one base go
/// through it together, `microbatch_tokens` at a time.
///
/// # Errors
/// If libtorch fails.
pub fn rescore(
    policies: &[(&Policy, Vec<&Sample>)],
    sampling: &Sampling,
    microbatch_tokens: usize,
) -> Result<Vec<Vec<Vec<f32>>>, TrainerError> {
    let zeros = |sample: &&Sample| vec![0.0; sample.completion.tokens.len()];
    let mut scores: Vec<Vec<Vec<f32>>> =
        policies.iter().map(|(_, samples)| samples.iter().map(zeros).collect()).collect();
    if sampling.temperature == 0.0 {
        return Ok(scores);
    }
    let bundles: Vec<Vec<Bundle>> = policies.iter().map(|(_, samples)| bundles(samples)).collect();
    let _guard = tch::no_grad_guard();
    for group in groups(policies) {
        let members: Vec<&Policy> = group.iter().map(|&index| policies[index].0).collect();
        let ensemble = Ensemble::of(&members);
        let numbered: Vec<(usize, &Bundle)> = (group.iter().enumerate())
            .flat_map(|(member, &index)| bundles[index].iter().map(move |bundle| (member, bundle)))
            .collect();
        for batch in micro_batches(&numbered, microbatch_tokens, members[0].device()) {
            let (pack, mut attention) = batch.pack(ensemble.decoder());
            let found = chosen(&ensemble, &pack, &mut attention, sampling);
            for (chunk, found) in chunks(&pack, &ensemble).into_iter().zip(found) {
                let own = &mut scores[group[chunk.learner]];
                for (target, score) in chunk.targets.iter().zip(Vec::<f32>::try_from(found)?) {
                    own[target.row][target.token] = score;
                }
            }
        }
    }
    Ok(scores)
}

fn bundles<'a>(samples: &[&'a Sample]) -> Vec<Bundle<'a>> {
    bundle(samples.iter().enumerate().map(|(row, sample)| {
        (&sample.prompt[..], Answer { row, tokens: &sample.completion.tokens })
    }))
}

/// Indices of policies that share a base, together.
fn groups(policies: &[(&Policy, Vec<&Sample>)]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, (policy, _)) in policies.iter().enumerate() {
        match groups.iter_mut().find(|group| policies[group[0]].0.shares_base(policy)) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}
