//! How policies stand before and after an update.
//!
//! Measured on answers of all groups, whether or not a group taught anything:
//! the states in which a policy has stopped exploring are exactly those whose
//! groups teach nothing, so a mean over what was learned from would not see
//! them. A share of the answers, chosen by seed, is enough and costs little.

use std::collections::HashSet;

use tch::Tensor;

use crate::error::TrainerError;
use crate::member::Member;
use crate::ranks::Ranks;
use crate::rescoring::read_logprobs;
use crate::sample::CreditedSample;
use crate::shares;
use troupe_core::seed::Seed;
use troupe_core::trajectory::Sample;
use troupe_model::{Policy, SamplingByRole};

/// Answers of each policy that are measured: an eighth of them, but so many or so many tokens of
/// them at least, and so many at most. Each is read twice, which for a language model is dear.
const LEAST_ANSWERS: usize = 32;
const LEAST_TOKENS: usize = 1024;
const MOST_ANSWERS: usize = 256;
/// What one token counts for at most in how far a policy moved, in nats.
const MOST_OF_A_TOKEN: f64 = 10.0;
/// Tokens of the answers to a prompt, however short it is, after which the next one's turn comes.
const TOKENS_PER_PROMPT: usize = 64;

/// The answers that each of some policies over one base is measured on.
pub(super) struct Gauge<'a> {
    samples: Vec<Vec<&'a Sample>>,
}

/// What one policy makes of its answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    /// Log-probability of every drawn token of every answer.
    logprobs: Vec<f64>,
    /// Entropy of each token's distribution in nats.
    entropies: Vec<f64>,
}

impl<'a> Gauge<'a> {
    /// Choose answers of each member, in an order that its seed decides.
    pub(super) fn of(members: &[Member<'a>]) -> Self {
        let choose = |member: &Member<'a>| choose(member.samples, member.seed.named("gauge"));
        Gauge { samples: members.iter().map(choose).collect() }
    }

    /// Have the policies, one for each member, score the answers.
    pub(super) fn read(
        &self,
        policies: &[&Policy],
        sampling: &SamplingByRole,
        microbatch_tokens: usize,
        ranks: &Ranks,
    ) -> Result<Vec<Reading>, TrainerError> {
        let pairs = policies.iter().copied().zip(self.samples.iter().cloned());
        let pairs: Vec<(&Policy, Vec<&Sample>)> = pairs.collect();
        let starts: Vec<Vec<usize>> = self.samples.iter().map(|samples| starts(samples)).collect();
        let blank = |samples: &Vec<&Sample>| {
            let zeros =
                vec![0.0; samples.iter().map(|sample| sample.completion.tokens.len()).sum()];
            Reading { logprobs: zeros.clone(), entropies: zeros }
        };
        let mut readings: Vec<Reading> = self.samples.iter().map(blank).collect();
        read_logprobs(
            ranks,
            &pairs,
            sampling,
            microbatch_tokens,
            |logprobs| Tensor::stack(&[&logprobs.chosen, &logprobs.entropy()], 1),
            |policy, target, numbers| {
                let place = starts[policy][target.row] + target.token;
                readings[policy].logprobs[place] = f64::from(numbers[0]);
                readings[policy].entropies[place] = f64::from(numbers[1]);
            },
        )?;
        let lists = readings.iter_mut().flat_map(Reading::lists);
        shares::fill_in(ranks, lists.map(|list| &mut list[..]))?;
        for (reading, samples) in readings.iter_mut().zip(&self.samples) {
            reading.lists().into_iter().for_each(|list| *list = drawn(samples, list));
        }
        Ok(readings)
    }

    /// How much less likely those of a member's measured answers have become that are to become
    /// no less likely, in nats per token; nothing if there are none. Even right answers become
    /// unlikely in a policy that is about to collapse (LLDS, arXiv 2512.04220).
    pub(super) fn displacement(
        &self,
        member: usize,
        rows: &[CreditedSample],
        (before, after): (&Reading, &Reading),
    ) -> Option<f64> {
        let good: HashSet<*const Sample> = rows
            .iter()
            .filter(|row| row.advantage.is_some_and(|advantage| advantage >= 0.0))
            .map(|row| std::ptr::from_ref(row.sample))
            .collect();
        let (mut sum, mut tokens, mut place) = (0.0, 0, 0);
        for sample in &self.samples[member] {
            let of_sample = place..place + sample.completion.drawn();
            place = of_sample.end;
            if good.contains(&std::ptr::from_ref(*sample)) {
                tokens += of_sample.len();
                let lost = |at: usize| before.logprobs[at] - after.logprobs[at];
                sum += of_sample.map(lost).sum::<f64>();
            }
        }
        (tokens > 0).then(|| sum / tokens as f64)
    }

    /// The log-probabilities as sampled.
    pub(super) fn sampled(&self) -> Vec<Reading> {
        let tokens = |samples: &Vec<&Sample>| {
            let scores = samples.iter().map(|sample| sample.completion.logprobs.clone());
            Reading::of(samples, scores.collect())
        };
        self.samples.iter().map(tokens).collect()
    }
}

impl Reading {
    /// These log-probabilities of the tokens of some answers, one list for each.
    pub(super) fn of(samples: &[&Sample], scores: Vec<Vec<f32>>) -> Self {
        let logprobs: Vec<f64> = scores.into_iter().flatten().map(f64::from).collect();
        Reading { logprobs: drawn(samples, &logprobs), entropies: Vec::new() }
    }

    /// The mean of −log π over tokens that were drawn from it: an estimate of its entropy.
    pub(super) fn surprise(&self) -> f64 {
        -self.logprobs.iter().sum::<f64>() / self.logprobs.len().max(1) as f64
    }

    fn lists(&mut self) -> [&mut Vec<f64>; 2] {
        [&mut self.logprobs, &mut self.entropies]
    }

    /// Entropy in nats per token.
    pub(super) fn entropy(&self) -> f64 {
        self.entropies.iter().sum::<f64>() / self.entropies.len().max(1) as f64
    }

    /// How far this policy is from `other`, which the tokens were drawn from:
    /// the k3 estimate of the divergence (<http://joschu.net/blog/kl-approx.html>)
    /// in nats per token. Exactly 0 between equal policies, and never below.
    pub(super) fn distance_from(&self, other: &Reading) -> f64 {
        let pairs = self.logprobs.iter().zip(&other.logprobs);
        let sum: f64 = pairs.map(|(here, there)| k3(here - there)).sum();
        sum / self.logprobs.len().max(1) as f64
    }

    /// The same, with no token over [`MOST_OF_A_TOKEN`]. For a token drawn by chance
    /// that has become a thousand times likelier the estimate is the thousand: learning from one
    /// rare good answer would look like a policy that is lost.
    pub(super) fn movement_from(&self, other: &Reading) -> f64 {
        let pairs = self.logprobs.iter().zip(&other.logprobs);
        // What is not a number stays what it is: `min` would take the bound for it.
        let bounded = |nats: f64| if nats > MOST_OF_A_TOKEN { MOST_OF_A_TOKEN } else { nats };
        let sum: f64 = pairs.map(|(here, there)| bounded(k3(here - there))).sum();
        sum / self.logprobs.len().max(1) as f64
    }

    /// The mean difference between log-probabilities.
    pub(super) fn mean_difference(&self, other: &Reading) -> f64 {
        let pairs = self.logprobs.iter().zip(&other.logprobs);
        let sum: f64 = pairs.map(|(here, there)| (here - there).abs()).sum();
        sum / self.logprobs.len().max(1) as f64
    }

    /// The largest difference between log-probabilities.
    pub(super) fn largest_difference(&self, other: &Reading) -> f64 {
        let pairs = self.logprobs.iter().zip(&other.logprobs);
        pairs.map(|(here, there)| (here - there).abs()).fold(0.0, f64::max)
    }
}

/// What the members' policies are at a moment of the update.
#[derive(Clone)]
pub(super) struct Standing {
    pub(super) readings: Vec<Reading>,
    /// Of the weights that the optimizers work on.
    pub(super) fingerprints: Vec<i64>,
}

impl Standing {
    pub(super) fn of(
        members: &[Member],
        gauge: &Gauge,
        sampling: &SamplingByRole,
    ) -> Result<Self, TrainerError> {
        let policies: Vec<&Policy> = members.iter().map(|member| &*member.policy).collect();
        let fingerprint =
            |member: &Member| member.trainer.optimizer.fingerprint(member.policy.trainable());
        Ok(Standing {
            readings: gauge.read(
                &policies,
                sampling,
                members[0].trainer.config.microbatch_tokens,
                &members[0].trainer.ranks,
            )?,
            fingerprints: members.iter().map(fingerprint).collect::<Result<_, _>>()?,
        })
    }
}

/// ρ − log ρ − 1, to the last digit where ρ is near 1.
fn k3(log_ratio: f64) -> f64 {
    let nats = log_ratio.exp_m1() - log_ratio;
    if nats < 0.0 { 0.0 } else { nats }
}

/// The numbers of the tokens that were drawn: the others were not chosen.
fn drawn(samples: &[&Sample], numbers: &[f64]) -> Vec<f64> {
    let places = samples.iter().flat_map(|sample| {
        (0..sample.completion.tokens.len()).map(|place| sample.completion.is_drawn(place))
    });
    places.zip(numbers).filter(|(is_drawn, _)| *is_drawn).map(|(_, number)| *number).collect()
}

/// Prompts at random, until there are enough answers: of each as many as have
/// more tokens together than the prompt.
pub(super) fn choose<'a>(samples: &'a [&'a Sample], seed: Seed) -> Vec<&'a Sample> {
    let mut prompts: Vec<Vec<&Sample>> = Vec::new();
    for &sample in samples {
        match prompts.last_mut() {
            Some(last) if last[0].prompt == sample.prompt => last.push(sample),
            _ => prompts.push(vec![sample]),
        }
    }
    let mut chosen = Vec::new();
    for drawn in 0..prompts.len() {
        if are_enough(&chosen, samples.len()) {
            break;
        }
        let left = prompts.len() - drawn;
        prompts.swap(drawn, drawn + seed.at(drawn as u64).index(left));
        let mut room = prompts[drawn][0].prompt.len().max(TOKENS_PER_PROMPT) as isize;
        chosen.extend(prompts[drawn].iter().copied().take_while(|sample| {
            let has_room = room > 0;
            room -= sample.completion.tokens.len() as isize;
            has_room
        }));
    }
    chosen
}

/// Whether these are enough of so many answers.
fn are_enough(chosen: &[&Sample], all: usize) -> bool {
    let tokens = || chosen.iter().map(|sample| sample.completion.tokens.len()).sum::<usize>();
    let many = chosen.len() >= LEAST_ANSWERS || tokens() >= LEAST_TOKENS;
    chosen.len() >= MOST_ANSWERS || (chosen.len() * 8 >= all && many)
}

/// Where each answer's tokens begin among those of all.
fn starts(samples: &[&Sample]) -> Vec<usize> {
    let lengths = samples.iter().map(|sample| sample.completion.tokens.len());
    let start = |sum: &mut usize, length: usize| {
        *sum += length;
        Some(*sum - length)
    };
    lengths.scan(0, start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::example::sample;
    use troupe_core::trajectory::Completion;

    /// How many of so many answers of so many tokens to so many prompts are measured.
    fn measured(prompts: u32, answers: u32, tokens: usize) -> usize {
        let answer = |prompt: u32| {
            let mut answer = sample(0, 0, 0, "solo", 0);
            answer.prompt = vec![prompt; 300].into();
            answer.completion.tokens = vec![0; tokens];
            answer
        };
        let all: Vec<Sample> =
            (0..prompts).flat_map(|prompt| (0..answers).map(move |_| answer(prompt))).collect();
        choose(&all.iter().collect::<Vec<_>>(), Seed::new(1)).len()
    }

    #[test]
    fn a_token_that_was_put_there_is_measured_by_nothing() {
        let mut forced = sample(0, 0, 0, "solo", 0);
        forced.completion.tokens = vec![1, 2, 3];
        forced.completion.forced = vec![1];
        let plain = forced.clone();
        let plain =
            Sample { completion: Completion { forced: vec![], ..plain.completion }, ..plain };
        assert_eq!(
            drawn(&[&forced, &plain], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            [1.0, 3.0, 4.0, 5.0, 6.0]
        );
    }

    #[test]
    fn displacement_is_what_good_answers_lose_and_others_do_not_count() {
        let answer = |tokens: usize| {
            let mut answer = sample(0, 0, 0, "solo", 0);
            answer.completion.tokens = vec![7; tokens];
            answer
        };
        let samples = [answer(2), answer(1), answer(1), answer(3)];
        let gauge = Gauge { samples: vec![samples.iter().collect()] };
        let advantages = [Some(1.0), Some(-1.0), None, Some(0.0)];
        let rows: Vec<CreditedSample> = samples
            .iter()
            .zip(advantages)
            .map(|(sample, advantage)| CreditedSample { sample, advantage, weight: 1.0 })
            .collect();
        let reading =
            |logprobs: [f64; 7]| Reading { logprobs: logprobs.to_vec(), entropies: vec![] };
        let before = reading([-1.0; 7]);
        let after = reading([-1.5, -1.25, -9.0, -9.0, -1.0, -0.5, -2.0]);
        let displaced = |rows| gauge.displacement(0, rows, (&before, &after));
        assert_eq!(displaced(&rows), Some((0.5 + 0.25 + 0.0 - 0.5 + 1.0) / 5.0));
        assert_eq!(displaced(&rows[1..3]), None);
    }

    #[test]
    fn one_rare_token_that_has_become_likely_is_no_policy_that_is_lost() {
        let reading = |logprobs: Vec<f64>| Reading { logprobs, entropies: Vec::new() };
        let before = reading(vec![-1.0; 1000]);
        let with = |change: f64| {
            let mut after = before.logprobs.clone();
            after[7] += change;
            reading(after)
        };
        assert!(with(7.0).distance_from(&before) > 1.0, "which is why this is not what bounds");
        assert!((with(7.0).movement_from(&before) - 0.01).abs() < 1e-12);
        assert!(
            (with(0.1).movement_from(&before) - with(0.1).distance_from(&before)).abs() < 1e-15
        );
        assert!(with(f64::NAN).movement_from(&before).is_nan());
        let lost = reading(vec![-16.0; 1000]);
        assert!(lost.movement_from(&before) > 9.0);
    }

    #[test]
    fn an_eighth_of_the_answers_is_measured_but_enough_tokens_and_never_too_many() {
        assert_eq!(measured(64, 8, 5), 64);
        assert_eq!(measured(32, 8, 5), 32);
        assert_eq!(measured(8, 8, 5), 32);
        assert_eq!(measured(2, 8, 5), 16);
        assert_eq!(measured(2, 8, 128), 6);
        assert_eq!(measured(1, 8, 128), 3);
        assert_eq!(measured(8, 8, 128), 9);
        assert_eq!(measured(400, 8, 5), 256);
    }
}
