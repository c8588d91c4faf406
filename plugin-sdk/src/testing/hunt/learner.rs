//! A small policy that learns from rewards alone: a softmax over deeds, whose scores depend on what
//! is seen and on what was done last, trained with policy gradients and the mean of a group of
//! episodes as their baseline (GRPO, arXiv 2402.03300, without a reference policy).

use std::collections::HashMap;

use super::ground::Ground;
use super::quota::Quota;
use super::repertoire::Repertoire;
use super::suspects::Suspects;
use super::trail::Trail;
use crate::Random;
use crate::testing::environment::ROUNDING;
use crate::testing::walk::{Deed, Walk};
use crate::types::Status;

/// Deeds among which it chooses, and episodes of a group.
const DEEDS: usize = 96;
const GROUP: usize = 8;
/// Steps of the longest episode, and of the shortest limit.
const LONGEST: usize = 40;
const SHORTEST: usize = 10;
/// How far a step of the ascent goes.
const RATE: f64 = 0.4;
/// How often something is done that the policy would not.
const CURIOSITY: f64 = 0.05;

/// What scores depend on: nothing, what was done last, what is seen.
type Feature = (u8, u64);

#[derive(Default)]
struct Policy {
    /// For each feature a weight of every deed.
    weights: HashMap<Feature, Vec<f64>>,
}

/// What was done in one step of an episode.
struct Choice {
    features: [Feature; 3],
    deed: usize,
    shares: Vec<f64>,
    /// What was earned from here on.
    to_go: f64,
}

/// One episode, and how it ended.
struct Played {
    choices: Vec<Choice>,
    trail: Trail,
}

/// Learn in one task for as long as the quota lasts.
pub fn learn<'h>(
    suspects: &mut Suspects<'h>,
    repertoire: &Repertoire<'_>,
    expert: &'h Walk,
    quota: &Quota<'_>,
) {
    let ground = &suspects.enter(expert, quota);
    let Ok(start) = Trail::start(ground) else { return };
    let mut random = Random::new(expert.task.split, expert.task.seed, "learner");
    let mut deeds: Vec<&Deed> = repertoire.deeds.iter().collect();
    random.shuffle(&mut deeds);
    deeds.truncate(DEEDS);
    let mut policy = Policy::default();
    let mut groups: Vec<(f64, f64)> = Vec::new();
    while quota.is_left() && !suspects.is_done() {
        let group: Vec<Played> = (0..GROUP)
            .map_while(|_| policy.play(suspects, ground, &start, &deeds, &mut random))
            .collect();
        if group.is_empty() {
            break;
        }
        groups.push(measure(ground, &group));
        policy.improve(&group);
    }
    if let Some(told) = told(ground, &groups) {
        suspects.learned(told);
    }
}

impl Policy {
    fn play(
        &self,
        suspects: &mut Suspects<'_>,
        ground: &Ground<'_>,
        start: &Trail,
        deeds: &[&Deed],
        random: &mut Random,
    ) -> Option<Played> {
        let limit = (2 * ground.expert.steps.len()).clamp(SHORTEST, LONGEST);
        let mut live = start.fork(ground).ok()?;
        let mut choices: Vec<Choice> = Vec::new();
        while live.trail.status == Status::Ongoing
            && choices.len() < limit
            && ground.quota.is_left()
        {
            let last = choices.last().map_or(u64::MAX, |choice| choice.deed as u64);
            let features = [(0, 0), (1, last), (2, live.trail.look())];
            let shares = self.shares(&features, deeds.len());
            let deed = draw(&shares, random);
            let before = live.trail.sum(ground);
            live.act(ground, deeds.get(deed)?).ok()?;
            suspects.look(ground, &live.trail);
            let to_go = live.trail.sum(ground) - before;
            choices.push(Choice { features, deed, shares, to_go });
        }
        let mut sum = 0.0;
        for choice in choices.iter_mut().rev() {
            sum += choice.to_go;
            choice.to_go = sum;
        }
        (!choices.is_empty()).then_some(Played { choices, trail: live.trail })
    }

    /// How likely each deed is.
    fn shares(&self, features: &[Feature; 3], deeds: usize) -> Vec<f64> {
        let mut scores = vec![0.0; deeds];
        for weights in features.iter().filter_map(|feature| self.weights.get(feature)) {
            scores.iter_mut().zip(weights).for_each(|(score, weight)| *score += weight);
        }
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.into_iter().map(|power| power / sum).collect()
    }

    /// One step up: what earned more from there on than others' same step becomes likelier.
    fn improve(&mut self, group: &[Played]) {
        let longest = group.iter().map(|played| played.choices.len()).max().unwrap_or_default();
        for step in 0..longest {
            let here: Vec<&Choice> =
                group.iter().filter_map(|played| played.choices.get(step)).collect();
            let count = here.len() as f64;
            let mean = here.iter().map(|choice| choice.to_go).sum::<f64>() / count;
            let spread = here.iter().map(|choice| (choice.to_go - mean).powi(2)).sum::<f64>();
            let deviation = (spread / count).sqrt();
            if deviation <= ROUNDING {
                continue;
            }
            for choice in here {
                self.pull(choice, (choice.to_go - mean) / deviation);
            }
        }
    }

    /// The gradient of the choice's log-probability, times its advantage.
    fn pull(&mut self, choice: &Choice, advantage: f64) {
        let step = RATE * advantage / choice.features.len() as f64;
        for feature in choice.features {
            let none = || vec![0.0; choice.shares.len()];
            let weights = self.weights.entry(feature).or_insert_with(none);
            weights
                .iter_mut()
                .zip(&choice.shares)
                .for_each(|(weight, share)| *weight -= step * share);
            weights[choice.deed] += step;
        }
    }
}

fn draw(shares: &[f64], random: &mut Random) -> usize {
    let mut even = || random.bits() as f64 / u64::MAX as f64;
    if even() < CURIOSITY {
        return (even() * shares.len() as f64) as usize % shares.len().max(1);
    }
    let mut left = even();
    let found = shares.iter().position(|share| {
        left -= share;
        left <= 0.0
    });
    found.unwrap_or_default()
}

/// What the group earned in the mean, and which share of it solved the task.
fn measure(ground: &Ground<'_>, group: &[Played]) -> (f64, f64) {
    let count = group.len() as f64;
    let earned: f64 = group.iter().map(|played| played.trail.sum(ground)).sum();
    let solved = group.iter().filter(|played| played.trail.status == Status::Solved).count();
    (earned / count, solved as f64 / count)
}

/// How it earned and solved at first and at last, beside the expert.
fn told(ground: &Ground<'_>, groups: &[(f64, f64)]) -> Option<String> {
    let quarter = groups.len() / 4;
    let (first, last) = (groups.get(..quarter)?, groups.get(groups.len() - quarter..)?);
    if quarter == 0 || !ground.is_solvable() {
        return None;
    }
    let mean = |part: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
        part.iter().map(of).sum::<f64>() / part.len() as f64
    };
    Some(format!(
        "a policy that learned from rewards alone came from {:.2} to {:.2} of {:.2}, and from {:.0} to {:.0} % solved",
        mean(first, |it| it.0),
        mean(last, |it| it.0),
        ground.worth,
        100.0 * mean(first, |it| it.1),
        100.0 * mean(last, |it| it.1),
    ))
}
