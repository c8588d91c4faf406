//! Credit steps: what is done to advantages before the update, in the order that
//! `advantage.then` names.
//!
//! Pure: functions of the sample table and of the advantages so far.

use std::collections::BTreeMap;

use troupe_core::config::{AdvantageConfig, CreditStep, Scale};
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Sample, StopReason};

/// Keeps what hardly varies from being blown up.
const EPSILON: f64 = 1e-4;

/// Advantage and weight of each sample of a table: the input of the update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Credits {
    /// Positive: to become likelier; negative: less likely. A sample of a group that was left
    /// out has none; `train.regularize` says whether entropy bonus and KL penalty act on it.
    pub advantages: Vec<Option<f32>>,
    /// How often each counts, 0 or more: 2 as if it were there twice, 0 not at all, not even
    /// for bonus and penalty.
    pub weights: Vec<f32>,
}

impl Credits {
    /// Advantages that all count once.
    pub fn of(advantages: Vec<Option<f32>>) -> Self {
        let weights = vec![1.0; advantages.len()];
        Credits { advantages, weights }
    }

    /// Those of answers that nothing but a critic knows the worth of: no advantages, after the
    /// configuration's steps up to the critic, so that what these mask is not judged.
    pub fn unjudged(samples: &[Sample], config: &AdvantageConfig) -> Self {
        Credits::of(vec![None; samples.len()]).after(samples, config, |_| true)
    }

    /// The credits after the configuration's steps, up to the first for which a critic is asked.
    /// Samples that do not `learn` are given no advantage.
    #[must_use]
    pub fn after(
        mut self,
        samples: &[Sample],
        config: &AdvantageConfig,
        learns: impl Fn(&Sample) -> bool,
    ) -> Self {
        for step in config.then.iter().take_while(|step| !step.is_judged()) {
            self.take(step, samples, config, &learns);
        }
        self
    }

    /// The credits after the remaining steps: what a critic finds takes the place of all
    /// advantages. `verdicts` has, by critic, what it finds of which samples; those that do not
    /// `teach` anything have no advantage, whatever it finds.
    #[must_use]
    pub fn judged(
        mut self,
        samples: &[Sample],
        config: &AdvantageConfig,
        verdicts: &BTreeMap<&str, BTreeMap<usize, f64>>,
        teaches: impl Fn(&Sample) -> bool,
    ) -> Self {
        for step in config.then.iter().skip_while(|step| !step.is_judged()) {
            let CreditStep::Judge(critic) = step else {
                self.take(step, samples, config, &teaches);
                continue;
            };
            let found = verdicts.get(critic.as_str());
            for (row, advantage) in self.advantages.iter_mut().enumerate() {
                let verdict = found.and_then(|found| found.get(&row));
                let is_taught = self.weights[row] > 0.0 && teaches(&samples[row]);
                *advantage = verdict.filter(|_| is_taught).map(|&a| a as f32);
            }
        }
        self
    }

    /// No sample counts.
    #[must_use]
    pub fn nothing(self) -> Self {
        let count = self.advantages.len();
        Credits { advantages: vec![None; count], weights: vec![0.0; count] }
    }

    fn take(
        &mut self,
        step: &CreditStep,
        samples: &[Sample],
        config: &AdvantageConfig,
        learns: &dyn Fn(&Sample) -> bool,
    ) {
        match step {
            CreditStep::Inherit => self.inherit(samples, learns),
            // They were compared as often as they count, so it is done already.
            CreditStep::Align => {}
            CreditStep::TaskNormalize => self.normalize(samples, |s| &s.family, token_count),
            CreditStep::Whiten => self.normalize(samples, |s| &s.policy, |_| 1.0),
            CreditStep::EpisodeMean => self.share_by_episode(samples),
            CreditStep::StateMean => self.share_by_state(samples, config),
            CreditStep::MaskTruncated => {
                self.mask(samples, |sample| sample.completion.stop == StopReason::Length);
            }
            CreditStep::MaskRole(role) => self.mask(samples, |sample| sample.role == *role),
            // Only critics know.
            CreditStep::Judge(_) => {}
        }
    }

    /// A called answer takes the advantage of the answer that began the chain of calls
    /// (MATPO, arXiv 2510.04678), if it learns.
    fn inherit(&mut self, samples: &[Sample], learns: &dyn Fn(&Sample) -> bool) {
        for index in 0..samples.len() {
            let calls = std::iter::successors(samples[index].caller, |&at| samples[at].caller);
            if let Some(root) = calls.last() {
                self.advantages[index] = self.advantages[root].filter(|_| learns(&samples[index]));
            }
        }
    }

    /// Gives the advantages of answers with the same key mean 0 and spread 1, each answer
    /// counting as often as `count` says: by family and token, AgentRL (arXiv 2510.04206,
    /// equation 1).
    fn normalize<'s>(
        &mut self,
        samples: &'s [Sample],
        key: impl Fn(&'s Sample) -> &'s str,
        count: impl Fn(&Sample) -> f64,
    ) {
        let mut members: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, sample) in samples.iter().enumerate() {
            if self.advantages[index].is_some() && self.weights[index] > 0.0 {
                members.entry(key(sample)).or_default().push(index);
            }
        }
        for members in members.into_values() {
            let advantage = |&index: &usize| f64::from(self.advantages[index].unwrap_or(0.0));
            let weight = |&index: &usize| count(&samples[index]) * f64::from(self.weights[index]);
            let total: f64 = members.iter().map(weight).sum();
            let sum = |term: &dyn Fn(f64) -> f64| -> f64 {
                members.iter().map(|index| weight(index) * term(advantage(index))).sum()
            };
            let mean = sum(&|advantage| advantage) / total;
            let spread = (sum(&|advantage| (advantage - mean).powi(2)) / total).sqrt();
            let normalized = |index| ((advantage(index) - mean) / (spread + EPSILON)) as f32;
            let normalized: Vec<f32> = members.iter().map(normalized).collect();
            for (index, normalized) in members.into_iter().zip(normalized) {
                self.advantages[index] = Some(normalized);
            }
        }
    }

    /// All answers of a seat in an episode count as many tokens as those of any other, so that
    /// long failures do not outweigh short successes; all together they count what they did.
    fn share_by_episode(&mut self, samples: &[Sample]) {
        let key = |s: &Sample| (s.task, s.episode, s.role.clone(), s.instance);
        let mut said: BTreeMap<_, f64> = BTreeMap::new();
        for (sample, weight) in samples.iter().zip(&self.weights) {
            *said.entry(key(sample)).or_default() += f64::from(*weight) * drawn(sample);
        }
        said.retain(|_, tokens| *tokens > 0.0);
        let mean = said.values().sum::<f64>() / said.len().max(1) as f64;
        for (sample, weight) in samples.iter().zip(&mut self.weights) {
            if let Some(tokens) = said.get(&key(sample)) {
                *weight *= (mean / tokens) as f32;
            }
        }
    }

    /// The answers to a state count as much together as those to any other, however many there are.
    ///
    /// Σ (r − mean) ∇log π over n answers is on average n − 1 times the gradient of what an answer
    /// to the state is worth (each answer stands in its own mean; n times, where the mean is that
    /// of the others), so that a share of 1/(n − 1) makes groups of any size estimates of the same.
    /// All advantages are multiplied by the one number with which the answers of the table count on
    /// average what they did.
    fn share_by_state(&mut self, samples: &[Sample], config: &AdvantageConfig) {
        let mut counts: BTreeMap<State, f64> = BTreeMap::new();
        let compared = samples.iter().zip(&self.advantages).filter(|(_, it)| it.is_some());
        compared.for_each(|(sample, _)| *counts.entry(state_of(sample)).or_default() += 1.0);
        counts.retain(|_, count| *count > 1.0);
        let gradients = |role: &str, count: f64| match config.of_role(role).comparison().scale {
            Scale::LeaveOneOut => count,
            _ => count - 1.0,
        };
        let (answers, shares) =
            counts.iter().fold((0.0, 0.0), |(answers, shares), ((_, _, role, ..), count)| {
                (answers + count, shares + count / gradients(role, *count))
            });
        for (sample, advantage) in samples.iter().zip(&mut self.advantages) {
            if let (Some(advantage), Some(count)) = (advantage, counts.get(&state_of(sample))) {
                *advantage *= (answers / shares / gradients(&sample.role, *count)) as f32;
            }
        }
    }

    /// Masked answers have no advantage and weight 0 (those that were cut off: DAPO, arXiv
    /// 2503.14476, section 3.4).
    fn mask(&mut self, samples: &[Sample], is_masked: impl Fn(&Sample) -> bool) {
        for (index, _) in samples.iter().enumerate().filter(|(_, sample)| is_masked(sample)) {
            (self.advantages[index], self.weights[index]) = (None, 0.0);
        }
    }
}

/// Task, what happened before, role, seat, conversation and turn.
type State<'s> = (usize, u64, &'s str, u32, &'s str, usize);

/// What the answers to a state have in common, as in the groups that are compared by state: not the
/// episode, since each of them may go on in one of its own.
fn state_of(sample: &Sample) -> State<'_> {
    let Sample { task, state, role, instance, thread, turn, .. } = sample;
    (*task, *state, role.as_str(), *instance, thread.as_str(), *turn)
}

/// How often each sample counts, in comparisons and in the update: once, unless
/// `advantage.then` has `align`. Then `threads` called conversations of every episode and
/// role count: surplus ones, drawn at random, are left out, and where there are fewer, some
/// count again (M-GRPO, arXiv 2511.13288, section 4.3).
pub fn counts(samples: &[Sample], config: &AdvantageConfig) -> Vec<f32> {
    let mut counts = vec![1.0; samples.len()];
    if !config.then.contains(&CreditStep::Align) {
        return counts;
    }
    type Conversation<'s> = (u32, &'s str);
    let mut called: BTreeMap<(usize, usize, &str), BTreeMap<Conversation, Vec<usize>>> =
        BTreeMap::new();
    for (index, sample) in samples.iter().enumerate().filter(|(_, s)| s.caller.is_some()) {
        let episode = called.entry((sample.task, sample.episode, &sample.role)).or_default();
        episode.entry((sample.instance, &sample.thread)).or_default().push(index);
    }
    for conversations in called.into_values() {
        let mut conversations: Vec<Vec<usize>> = conversations.into_values().collect();
        // What happened before decides, so that a stored table says the same.
        let seed = Seed::new(samples[conversations[0][0]].state).named("align");
        seed.shuffle(&mut conversations);
        let (whole, rest) =
            (config.threads / conversations.len(), config.threads % conversations.len());
        for (place, members) in conversations.iter().enumerate() {
            let count = whole + usize::from(place < rest);
            members.iter().for_each(|&member| counts[member] = count as f32);
        }
    }
    counts
}

fn drawn(sample: &Sample) -> f64 {
    sample.completion.drawn() as f64
}

fn token_count(sample: &Sample) -> f64 {
    sample.completion.tokens.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::example::tree_of;

    fn after(samples: &[Sample], advantages: &[f32], steps: &[&str]) -> Credits {
        let then = steps.iter().map(|step| step.parse().unwrap()).collect();
        let config = AdvantageConfig { then, threads: 4, ..AdvantageConfig::default() };
        let advantages = advantages.iter().map(|&advantage| Some(advantage)).collect();
        let credits = Credits { advantages, weights: counts(samples, &config) };
        credits.after(samples, &config, |_| true)
    }

    /// A main conversation that called for as many others, each of two answers.
    fn calls(threads: usize) -> Vec<Sample> {
        let mut samples = tree_of(1, 1 + 2 * threads, &["worker"], 1);
        samples[0].role = "main".to_owned();
        for (index, sample) in samples.iter_mut().enumerate().skip(1) {
            // The second answer was called for by the first.
            sample.caller = Some(if index % 2 == 1 { 0 } else { index - 1 });
            sample.thread = format!("call {}", (index - 1) / 2);
        }
        samples
    }

    #[test]
    fn what_was_called_for_inherits_from_where_the_calls_began() {
        let samples = calls(2);
        let credits = after(&samples, &[3.0, -1.0, -2.0, 5.0, 0.5], &["inherit"]);
        assert_eq!(credits.advantages, [Some(3.0); 5]);
        assert_eq!(credits.weights, [1.0; 5]);
    }

    #[test]
    fn every_episode_counts_as_many_called_conversations() {
        for threads in [1, 3, 4, 6] {
            let samples = calls(threads);
            let advantages = vec![1.0; samples.len()];
            let weights = after(&samples, &advantages, &["align"]).weights;
            assert_eq!(weights[0], 1.0, "nobody called for the main conversation");
            let pairs: Vec<&[f32]> = weights[1..].chunks(2).collect();
            assert!(pairs.iter().all(|pair| pair[0] == pair[1]), "{weights:?}");
            assert_eq!(pairs.iter().map(|pair| pair[0]).sum::<f32>(), 4.0, "{weights:?}");
            let most = pairs.iter().map(|pair| pair[0]).fold(0.0, f32::max);
            assert_eq!(most, (4.0 / threads as f32).ceil());
        }
    }

    #[test]
    fn a_family_is_normalized_over_its_tokens_and_not_with_others() {
        let mut samples = tree_of(2, 1, &["solo"], 2);
        samples[2..].iter_mut().for_each(|sample| sample.family = "sums".to_owned());
        samples[0].completion.tokens = vec![0; 3];
        samples[1].completion.tokens = vec![0; 1];
        // Of four tokens, three have 2 and one has 6: mean 3, variance 3.
        let credits = after(&samples, &[2.0, 6.0, 100.0, 300.0], &["task-normalize"]);
        let expected = [-1.0 / 3.0_f64.sqrt(), 3.0 / 3.0_f64.sqrt(), -1.0, 1.0];
        for (advantage, expected) in credits.advantages.iter().zip(expected) {
            assert!((f64::from(advantage.unwrap()) - expected).abs() < 1e-3, "{credits:?}");
        }
    }

    #[test]
    fn with_episode_mean_each_seat_of_each_episode_counts_as_much() {
        // Two episodes of two seats: one of three turns, one of a single turn with long answers.
        let mut samples = tree_of(1, 4, &["planner", "executor"], 1);
        for (place, sample) in samples.iter_mut().enumerate() {
            let (episode, tokens) = if place < 6 { (0, 1) } else { (1, 5) };
            sample.episode = episode;
            sample.completion.tokens = vec![0; tokens];
        }
        let tokens = |sample: &Sample| sample.completion.drawn() as f32;
        let before: f32 = samples.iter().map(tokens).sum();
        let weights = after(&samples, &[1.0; 8], &["episode-mean"]).weights;
        let mut counted: BTreeMap<(usize, &str), f32> = BTreeMap::new();
        for (sample, weight) in samples.iter().zip(&weights) {
            let seat = (sample.episode, sample.role.as_str());
            *counted.entry(seat).or_default() += weight * tokens(sample);
        }
        let mean = before / 4.0;
        assert!(counted.values().all(|seat| (seat - mean).abs() < 1e-3), "{counted:?}");
        assert!(weights[0] > weights[6], "what is short counts for more: {weights:?}");
        let masked = after(&samples, &[1.0; 8], &["mask:role=planner", "episode-mean"]).weights;
        assert!(samples.iter().zip(&masked).all(|(s, &w)| (w == 0.0) == (s.role == "planner")));
    }

    #[test]
    fn steps_are_taken_in_their_order() {
        let mut samples = tree_of(1, 1, &["solo"], 3);
        samples[2].completion.stop = StopReason::Length;
        let masked_first = after(&samples, &[1.0, 3.0, 50.0], &["mask:truncated", "whiten"]);
        let near =
            |advantage: Option<f32>, expected: f32| (advantage.unwrap() - expected).abs() < 1e-3;
        assert!(near(masked_first.advantages[0], -1.0) && near(masked_first.advantages[1], 1.0));
        assert_eq!((masked_first.advantages[2], masked_first.weights[2]), (None, 0.0));
        let masked_last = after(&samples, &[1.0, 3.0, 50.0], &["whiten", "mask:truncated"]);
        assert!(masked_last.advantages[1].unwrap() < 0.0);
        assert_eq!(masked_last.weights, [1.0, 1.0, 0.0]);
    }

    #[test]
    fn a_role_that_is_masked_is_the_only_one() {
        let samples = tree_of(1, 1, &["drafter", "solver"], 2);
        let credits = after(&samples, &[1.0; 4], &["mask:role=drafter"]);
        assert_eq!(credits.weights, [0.0, 0.0, 1.0, 1.0]);
        assert_eq!(credits.advantages, [None, None, Some(1.0), Some(1.0)]);
    }

    /// What becomes of credits by these steps where a critic finds each row worth its number, from 1
    /// on, and only some `teach`.
    fn judged(
        samples: &[Sample],
        steps: &[&str],
        credits: impl Fn(&AdvantageConfig) -> Credits,
        teaches: impl Fn(&Sample) -> bool,
    ) -> Credits {
        let then = steps.iter().map(|step| step.parse().unwrap()).collect();
        let config = AdvantageConfig { then, ..AdvantageConfig::default() };
        let found: BTreeMap<usize, f64> =
            (0..samples.len()).map(|row| (row, (row + 1) as f64)).collect();
        let verdicts = BTreeMap::from([("critic", found)]);
        credits(&config).judged(samples, &config, &verdicts, teaches)
    }

    #[test]
    fn what_was_masked_before_stays_masked_where_only_a_critic_knows_what_it_is_worth() {
        let mut samples = tree_of(1, 1, &["drafter", "solver"], 2);
        samples[3].completion.stop = StopReason::Length;
        let unjudged = |config: &AdvantageConfig| Credits::unjudged(&samples, config);
        for steps in [
            ["mask:truncated", "mask:role=drafter", "judge:critic"],
            ["judge:critic", "mask:truncated", "mask:role=drafter"],
        ] {
            let credits = judged(&samples, &steps, unjudged, |_| true);
            assert_eq!(credits.advantages, [None, None, Some(3.0), None], "{steps:?}");
            assert_eq!(credits.weights, [0.0, 0.0, 1.0, 0.0], "{steps:?}");
        }
    }

    #[test]
    fn what_teaches_nothing_is_given_no_advantage_by_a_critic_nor_by_what_called_for_it() {
        let mut samples = tree_of(3, 1, &["solo"], 2);
        (samples[1].caller, samples[3].caller) = (Some(0), Some(0));
        let before = |_: &AdvantageConfig| Credits::of(vec![Some(9.0); 6]);
        let steps = ["judge:critic", "inherit"];
        let credits = judged(&samples, &steps, before, |sample| sample.task != 1);
        let expected = [Some(1.0), Some(1.0), None, None, Some(5.0), Some(6.0)];
        assert_eq!(credits.advantages, expected);
        assert_eq!(credits.weights, [1.0; 6], "it is left out, not masked");
    }

    /// Every list of so many answers out of these, with how likely it is.
    fn lists(likely: &[f64], count: usize) -> Vec<(Vec<usize>, f64)> {
        let mut lists = vec![(Vec::new(), 1.0)];
        for _ in 0..count {
            let longer = |(list, share): &(Vec<usize>, f64)| {
                let with = |(answer, likely): (usize, &f64)| {
                    ([list.clone(), vec![answer]].concat(), share * likely)
                };
                likely.iter().enumerate().map(with).collect::<Vec<_>>()
            };
            lists = lists.iter().flat_map(longer).collect();
        }
        lists
    }

    /// Exactly, over everything that can be drawn: what two groups of a table ask of a policy is on
    /// average the same, though one has two answers and the other five, and both ask for the
    /// gradient of what an answer is worth.
    #[test]
    fn groups_of_two_and_of_five_are_unbiased_estimates_of_the_same_gradient() {
        for scale in [Scale::None, Scale::LeaveOneOut] {
            ask_for_the_gradient(scale);
        }
    }

    fn ask_for_the_gradient(scale: Scale) {
        let config = AdvantageConfig { scale: Some(scale), ..AdvantageConfig::default() };
        let (likely, worth) = ([0.5, 0.3, 0.2], [0.0, 1.0, 3.0]);
        // Of a softmax: ∇ log π(a) is what it has of a, less how likely all are.
        let pull = |answer: usize, of: usize| f64::from(u8::from(answer == of)) - likely[of];
        let mean: f64 = likely.iter().zip(worth).map(|(p, r)| p * r).sum();
        let gradient: Vec<f64> = (0..3).map(|of| likely[of] * (worth[of] - mean)).collect();
        let sizes = [2, 5];
        let rows: Vec<Sample> = (0..2)
            .flat_map(|task| {
                tree_of(1, 1, &["solver"], sizes[task])
                    .into_iter()
                    .map(move |s| Sample { task, ..s })
            })
            .collect();
        let mut asked = [[0.0; 3]; 2];
        // What is drawn in one group does not depend on what is drawn in the other.
        for (group, &size) in sizes.iter().enumerate() {
            for (list, share) in lists(&likely, size) {
                let mean: f64 = list.iter().map(|&a| worth[a]).sum::<f64>() / size as f64;
                let from = if group == 0 { 0 } else { sizes[0] };
                let mut advantages = vec![Some(0.0); rows.len()];
                for (place, &answer) in list.iter().enumerate() {
                    let of_others = match scale {
                        Scale::LeaveOneOut => size as f64 / (size as f64 - 1.0),
                        _ => 1.0,
                    };
                    advantages[from + place] = Some((of_others * (worth[answer] - mean)) as f32);
                }
                let mut credits = Credits::of(advantages);
                credits.take(&CreditStep::StateMean, &rows, &config, &|_| true);
                for (place, &answer) in list.iter().enumerate() {
                    let advantage = f64::from(credits.advantages[from + place].unwrap());
                    for (of, sum) in asked[group].iter_mut().enumerate() {
                        *sum += share * advantage * pull(answer, of);
                    }
                }
            }
        }
        let scale = asked[0][2] / gradient[2];
        assert!(scale > 0.0);
        for group in asked {
            for (sum, of) in group.iter().zip(&gradient) {
                assert!((sum - scale * of).abs() < 1e-5, "{asked:?} {gradient:?}");
            }
        }
    }

    #[test]
    fn answers_to_a_state_count_as_much_together_wherever_each_of_them_goes_on() {
        let config = AdvantageConfig::default();
        let of_task = |task: usize, size: usize| {
            let rows = tree_of(1, 1, &["solver"], size).into_iter();
            rows.map(move |sample| Sample { task, ..sample })
        };
        let one_episode: Vec<Sample> = of_task(0, 2).chain(of_task(1, 5)).collect();
        // As `exhaustive` has it.
        let mut apart = one_episode.clone();
        for (episode, sample) in apart.iter_mut().enumerate() {
            (sample.episode, sample.round) = (episode, sample.round + episode);
        }
        let advantages = |rows: &[Sample]| {
            let mut credits = Credits::of(vec![Some(1.0); rows.len()]);
            credits.take(&CreditStep::StateMean, rows, &config, &|_| true);
            credits.advantages
        };
        let shared = advantages(&apart);
        assert_eq!(shared, advantages(&one_episode));
        // A share of 1 against one of 1/4.
        let (of_two, of_five) = (shared[0].unwrap(), shared[2].unwrap());
        assert!((of_two / of_five - 4.0).abs() < 1e-5, "{of_two} {of_five}");
    }

    #[test]
    fn where_all_states_have_as_many_answers_all_stays_as_it_was() {
        let config = AdvantageConfig::default();
        let rows = tree_of(3, 2, &["solver", "tester"], 4);
        let advantages: Vec<Option<f32>> = (0..rows.len()).map(|row| Some(row as f32)).collect();
        let mut credits = Credits::of(advantages.clone());
        credits.take(&CreditStep::StateMean, &rows, &config, &|_| true);
        for (now, before) in credits.advantages.iter().zip(&advantages) {
            assert!((now.unwrap() - before.unwrap()).abs() < 1e-4);
        }
    }
}
