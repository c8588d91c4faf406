//! How much a policy's answers say of what it was asked.
//!
//! Entropy within a prompt may look healthy while the answers no longer depend on the prompt
//! (RAGEN-2, arXiv 2604.06268). So every answer is scored under every prompt: with ℓⱼ(z) = log
//! π(z | xⱼ) for N prompts and answers z to each,
//!
//! - I = mean(ℓᵢ(zᵢ) − (logsumexpⱼ ℓⱼ(zᵢ) − log N)), the mutual information of prompt and answer,
//!   at most log N, and
//! - an answer is found again if its own prompt makes it likeliest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::TrainerError;
use crate::ranks::Ranks;
use crate::rescoring::rescore;
use troupe_core::seed::Seed;
use troupe_core::trajectory::Sample;
use troupe_model::{Policy, SamplingByRole};

/// Prompts that are compared, and answers to each.
const PROMPTS: usize = 16;
const ANSWERS: usize = 4;

/// What the answers to some prompts say of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Information {
    /// Prompts that were compared, all different.
    pub prompts: usize,
    /// Mutual information of prompt and answer, in nats per answer: from 0 to the logarithm of
    /// `prompts`.
    pub information: f64,
    /// Entropy of the answers, whatever was asked, in nats per answer.
    pub entropy: f64,
    /// Entropy of the answers to a prompt, in nats per answer.
    pub entropy_within: f64,
    /// Share of answers that their own prompt makes likeliest; by chance 1 / `prompts`.
    pub found_again: f64,
}

/// What the answers of one role say of its prompts, of which some are drawn by `seed`; nothing of
/// fewer than two different prompts.
///
/// # Errors
/// If libtorch fails, or a rank is lost.
pub fn information(
    policy: &Policy,
    samples: &[&Sample],
    sampling: &SamplingByRole,
    (seed, ranks, microbatch_tokens): (Seed, &Ranks, usize),
) -> Result<Option<Information>, TrainerError> {
    let mut prompts: BTreeMap<&[u32], Vec<&Sample>> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| !sample.completion.tokens.is_empty()) {
        prompts.entry(&sample.prompt).or_default().push(sample);
    }
    let mut prompts: Vec<Vec<&Sample>> = prompts.into_values().collect();
    seed.shuffle(&mut prompts);
    prompts.truncate(PROMPTS);
    if prompts.len() < 2 {
        return Ok(None);
    }
    let answers: Vec<(usize, &Sample)> = prompts
        .iter()
        .enumerate()
        .flat_map(|(place, answers)| answers.iter().take(ANSWERS).map(move |&a| (place, a)))
        .collect();
    let crossed: Vec<Sample> = prompts
        .iter()
        .flat_map(|asked| {
            let prompt = asked[0].prompt.clone();
            let asked = move |&(_, answer): &(usize, &Sample)| Sample {
                prompt: prompt.clone(),
                ..answer.clone()
            };
            answers.iter().map(asked).collect::<Vec<_>>()
        })
        .collect();
    let scored =
        rescore(ranks, &[(policy, crossed.iter().collect())], sampling, microbatch_tokens)?;
    let of_answer = |(sample, logprobs): (&Sample, &Vec<f32>)| -> f64 {
        let drawn = logprobs.iter().enumerate().filter(|(at, _)| sample.completion.is_drawn(*at));
        drawn.map(|(_, logprob)| f64::from(*logprob)).sum()
    };
    let scores: Vec<f64> = crossed.iter().zip(scored.iter().flatten()).map(of_answer).collect();
    let owners: Vec<usize> = answers.iter().map(|(place, _)| *place).collect();
    Ok(Some(measured(prompts.len(), &owners, &scores)))
}

/// From the scores of all answers under the first prompt, then under the second, and so on;
/// `owners` has the prompt that each was an answer to.
fn measured(prompts: usize, owners: &[usize], scores: &[f64]) -> Information {
    let mut sums = Information { prompts, ..Information::default() };
    let count = owners.len() as f64;
    for (answer, &own) in owners.iter().enumerate() {
        let under = |prompt: usize| scores[prompt * owners.len() + answer];
        let largest = (0..prompts).map(under).fold(f64::NEG_INFINITY, f64::max);
        let matched = under(own);
        // What has no probability under any prompt, such as a cut off token, says nothing.
        if !largest.is_finite() || !matched.is_finite() {
            continue;
        }
        let sum: f64 = (0..prompts).map(|prompt| (under(prompt) - largest).exp()).sum();
        let marginal = largest + sum.ln() - (prompts as f64).ln();
        sums.information += (matched - marginal) / count;
        sums.entropy -= marginal / count;
        sums.entropy_within -= matched / count;
        // Of prompts that make it as likely, the first counts.
        let likeliest = (0..prompts).find(|&prompt| under(prompt) == largest);
        sums.found_again += f64::from(u8::from(likeliest == Some(own))) / count;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{by_role, policy, samples, sampling};

    #[test]
    fn the_figures_are_those_worked_out_by_hand() {
        let log = |numbers: [f64; 6]| numbers.map(f64::ln);
        // Three answers, two to the first prompt and one to the second, under each prompt.
        let scores = log([0.5, 0.25, 0.125, 0.25, 0.25, 0.5]);
        let found = measured(2, &[0, 0, 1], &scores);
        let marginals = [0.375_f64, 0.25, 0.3125];
        let information =
            ((0.5 / marginals[0]).ln() + (0.25 / marginals[1]).ln() + (0.5 / marginals[2]).ln())
                / 3.0;
        assert!((found.information - information).abs() < 1e-12);
        let entropy = -marginals.map(f64::ln).iter().sum::<f64>() / 3.0;
        assert!((found.entropy - entropy).abs() < 1e-12);
        assert!(
            (found.entropy_within + (0.5_f64.ln() + 0.25_f64.ln() + 0.5_f64.ln()) / 3.0).abs()
                < 1e-12
        );
        assert!((found.entropy - found.entropy_within - found.information).abs() < 1e-12);
        // The second is as likely under both, and belongs to the first.
        assert_eq!(found.found_again, 1.0);
        assert_eq!(measured(2, &[1, 1, 0], &scores).found_again, 0.0);
    }

    #[test]
    fn answers_that_are_copied_from_their_prompts_say_all_and_those_that_ignore_them_nothing() {
        let same = [(1.0_f64 / 8.0).ln(); 12];
        let ignoring = measured(3, &[0, 1, 1, 2], &same);
        assert!(ignoring.information.abs() < 1e-12 && ignoring.entropy == ignoring.entropy_within);
        let mut scores = [-50.0; 9];
        (0..3).for_each(|place| scores[place * 4] = 0.0);
        let copied = measured(3, &[0, 1, 2], &scores);
        assert!((copied.information - 3.0_f64.ln()).abs() < 1e-9);
        assert_eq!(copied.found_again, 1.0);
    }

    #[test]
    fn a_policy_is_measured_on_prompts_that_are_different() {
        let policy = policy(1);
        let drawn = samples(&policy, 3, &sampling());
        let all: Vec<&Sample> = drawn.iter().collect();
        let settings = (Seed::new(1), &Ranks::alone(), 4096);
        let found = information(&policy, &all, &by_role(), settings).unwrap().unwrap();
        assert_eq!(found.prompts, 3);
        assert!((0.0..=3.0_f64.ln()).contains(&found.information), "{found:?}");
        let of_one: Vec<&Sample> = all.iter().copied().take(4).collect();
        assert_eq!(information(&policy, &of_one, &by_role(), settings).unwrap(), None);
    }
}
