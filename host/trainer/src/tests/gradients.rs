//! Every objective's gradient against differences of what it minimizes.

use super::*;
use crate::anchor::Anchor;
use crate::bundle::{self, Bundle};
use crate::member;
use crate::objective::{Pull, Scored, weigh};
use troupe_core::config::{AnchorChoice, Importance, Objective};

fn config_of(objective: Objective) -> TrainConfig {
    TrainConfig { objective, beta: 0.7, entropy_coefficient: 0.0, ..config() }
}

/// Answers of a policy that is a little off from the one they were drawn with, so
/// that ratios are not 1; some have a token that was put there.
fn work(policy: &Policy) -> Vec<Sample> {
    let mut samples = samples(policy, 3, &sampling());
    for (index, sample) in samples.iter_mut().enumerate() {
        if index % 3 == 0 && sample.completion.tokens.len() > 1 {
            sample.completion.forced = vec![1];
        }
        for (at, logprob) in sample.completion.logprobs.iter_mut().enumerate() {
            *logprob += ((index * 7 + at * 3) % 5) as f32 * 0.04 - 0.08;
        }
    }
    samples
}

fn weighted_rows(samples: &[Sample]) -> Vec<CreditedSample<'_>> {
    let mut rows = rows(samples);
    rows.iter_mut().enumerate().for_each(|(at, row)| row.weight = 1.0 + (at % 3) as f32);
    rows
}

/// What the objective comes to for the policy as it is, every answer in one batch.
fn value(
    config: &TrainConfig,
    policy: &Policy,
    reference: &Policy,
    rows: &[CreditedSample],
) -> f64 {
    let samples: Vec<&Sample> = rows.iter().map(|row| row.sample).collect();
    let now = logprobs(policy, &samples, &sampling());
    let start = logprobs(reference, &samples, &sampling());
    let tokens: f32 = rows.iter().map(|r| r.weight * r.sample.completion.drawn() as f32).sum();
    let answers: f32 = rows.iter().map(|row| row.weight).sum();
    let anchor = Anchor::Sampled;
    let scored: Vec<Scored> = (rows.iter().enumerate().zip(now).zip(start))
        .map(|(((index, row), now), start)| Scored {
            row,
            index,
            anchor: &anchor,
            now,
            reference: Some(start),
            share: row.weight / tokens,
            share_of_answer: row.weight / answers,
        })
        .collect();
    weigh(config, &scored).iter().flatten().map(|pull| pull.gain).sum()
}

fn gradient(config: &TrainConfig, policy: &mut Policy, rows: &[CreditedSample]) -> Tensor {
    let mut trainer = Trainer::new(policy, config).unwrap();
    let by_role = by_role();
    let bundles = bundle::of_samples(rows.iter().map(|row| row.sample), &by_role, &[]);
    let batch: Vec<&Bundle> = bundles.iter().collect();
    let samples: Vec<&Sample> = rows.iter().map(|row| row.sample).collect();
    let seed = Seed::new(1);
    let member = Member { trainer: &mut trainer, policy, rows, samples: &samples, seed };
    let anchors = [Anchor::Sampled];
    let gradients = member::gradients(&[member], &[(0, &batch[..])], &anchors, &by_role);
    gradients.unwrap().remove(0).buffer
}

fn moved(policy: &Policy, direction: &Tensor, by: f64) -> Policy {
    let moved = policy.duplicate().unwrap();
    let mut buffer = moved.trainable().buffer().shallow_clone();
    tch::no_grad(|| buffer.copy_(&(policy.trainable().buffer() + direction * by)));
    moved
}

#[test]
fn the_gradient_of_every_objective_is_what_differences_say() {
    let mut policy = policy(31);
    let reference = policy.duplicate().unwrap();
    let samples = work(&policy);
    let rows = weighted_rows(&samples);
    for objective in Objective::ALL {
        let config = config_of(objective);
        let gradient = gradient(&config, &mut policy, &rows);
        let slope = gradient.norm().double_value(&[]);
        assert!(slope > 1e-3, "{objective:?} has a gradient");
        let direction = gradient / slope;
        let at = |by: f64| value(&config, &moved(&policy, &direction, by), &reference, &rows);
        // So small that no ratio comes to a bound.
        let step = (0.02 / slope).min(0.01);
        // What is stopped from being differentiated is held where it is.
        let difference = match objective {
            Objective::Cispo => continue,
            _ => (at(-step) - at(step)) / (2.0 * step),
        };
        let error = (difference - slope).abs() / slope;
        assert!(error < 0.02, "{objective:?}: {slope} and {difference}");
    }
}

#[test]
fn a_pull_is_the_derivative_of_what_is_gained() {
    let policy = policy(32);
    let samples = work(&policy);
    let rows = weighted_rows(&samples);
    let anchor = Anchor::Sampled;
    let logprobs = |row: &CreditedSample| -> Vec<f32> {
        let drawn = row.sample.completion.logprobs.iter().enumerate();
        drawn.map(|(at, logprob)| logprob + 0.05 * (at as f32 - 1.0)).collect()
    };
    for objective in Objective::ALL {
        let config = config_of(objective);
        let of = |changed: Option<(usize, usize, f32)>| {
            let scored: Vec<Scored> = (rows.iter().enumerate())
                .map(|(index, row)| {
                    let mut now = logprobs(row);
                    if let Some((_, token, by)) = changed.filter(|(of, ..)| *of == index) {
                        now[token] += by;
                    }
                    let reference = Some(row.sample.completion.logprobs.clone());
                    let (anchor, share) = (&anchor, 0.25);
                    Scored { row, index, anchor, now, reference, share, share_of_answer: 0.5 }
                })
                .collect();
            weigh(&config, &scored)
        };
        let total = |changed| of(Some(changed)).iter().flatten().map(|pull| pull.gain).sum::<f64>();
        let pulls = of(None);
        for (row, token) in [(0, 0), (3, 1), (6, 0), (11, 0)] {
            let token = token.min(pulls[row].len() - 1);
            let step = 1e-2;
            let difference = total((row, token, step)) - total((row, token, -step));
            let difference = difference / (2.0 * f64::from(step));
            let pull = pulls[row][token];
            if objective == Objective::Cispo {
                let ratio = f64::from(
                    logprobs(&rows[row])[token] - samples[row].completion.logprobs[token],
                )
                .exp();
                let expected = 0.25 * ratio.min(1.28) * f64::from(rows[row].advantage.unwrap());
                assert!((pull.slope - expected).abs() < 1e-6, "{pull:?} {expected}");
                continue;
            }
            let near = 2e-3 * (1.0 + pull.slope.abs());
            assert!((pull.slope - difference).abs() < near, "{objective:?} {pull:?} {difference}");
        }
    }
}

#[test]
fn what_was_put_there_is_pulled_by_no_objective() {
    let policy = policy(35);
    let samples = work(&policy);
    let (rows, anchor) = (rows(&samples), Anchor::Sampled);
    for objective in Objective::ALL {
        let of_row = |(index, row)| Scored {
            row,
            index,
            anchor: &anchor,
            now: row.sample.completion.logprobs.clone(),
            reference: Some(row.sample.completion.logprobs.clone()),
            share: 1.0,
            share_of_answer: 1.0,
        };
        let scored: Vec<Scored> = rows.iter().enumerate().map(of_row).collect();
        let pulls = weigh(&config_of(objective), &scored);
        let put = samples.iter().zip(&pulls).flat_map(|(sample, pulls)| {
            sample.completion.forced.iter().map(|&place| pulls[place].slope)
        });
        let put: Vec<f64> = put.collect();
        assert!(!put.is_empty() && put.iter().all(|&slope| slope == 0.0), "{objective:?}");
        assert!(pulls.iter().flatten().any(|pull| pull.slope != 0.0), "{objective:?}");
    }
}

#[test]
fn the_surrogate_is_the_same_by_both_ways() {
    let mut policy = policy(33);
    let samples = work(&policy);
    let rows = weighted_rows(&samples);
    let surrogate = config_of(Objective::Surrogate);
    let dual = TrainConfig { clip_high: 0.02, clip_dual: 1.03, ..surrogate.clone() };
    let mut slopes = Vec::new();
    for config in [surrogate, dual] {
        let fast = gradient(&config, &mut policy, &rows);
        let reference = policy.duplicate().unwrap();
        let slope = fast.norm().double_value(&[]);
        let direction = fast / slope;
        let at = |by: f64| value(&config, &moved(&policy, &direction, by), &reference, &rows);
        // A short way: the bounds lie close.
        assert!(((at(-0.002) - at(0.002)) / 0.004 - slope).abs() < 0.03 * slope, "{config:?}");
        slopes.push(slope);
    }
    assert_ne!(slopes[0], slopes[1], "some ratios lie beyond the second bound");
}

/// The pulls of one token whose ratio is this, and whose advantage.
fn pull_of(config: &TrainConfig, ratio: f32, advantage: Option<f32>) -> (f64, f64) {
    let mut sample = troupe_core::example::sample(0, 0, 0, "solver", 0);
    (sample.completion.tokens, sample.completion.logprobs) = (vec![1], vec![-1.0]);
    let (row, anchor) =
        (CreditedSample { sample: &sample, advantage, weight: 1.0 }, Anchor::Sampled);
    let pull = pulls(config, &row, &anchor, vec![-1.0 + ratio.ln()])[0];
    (pull.slope, pull.gain)
}

/// The pulls of an answer's tokens, which now have these log-probabilities.
fn pulls(
    config: &TrainConfig,
    row: &CreditedSample<'_>,
    anchor: &Anchor,
    now: Vec<f32>,
) -> Vec<Pull> {
    let (share, share_of_answer) = (1.0, 1.0);
    let scored = Scored { row, index: 0, anchor, now, reference: None, share, share_of_answer };
    weigh(config, &[scored]).remove(0)
}

#[test]
fn the_second_bound_of_ppo_holds_ratios_of_negative_advantages_and_no_others() {
    for objective in [Objective::Surrogate, Objective::Gspo, Objective::MGrpo] {
        let config = |clip_dual| TrainConfig { clip_dual, ..config_of(objective) };
        let near = |(slope, gain): (f64, f64), expected: (f64, f64)| {
            assert!(
                (slope - expected.0).abs() < 1e-5 && (gain - expected.1).abs() < 1e-5,
                "{objective:?}"
            );
        };
        near(pull_of(&config(0.0), 8.0, Some(-2.0)), (-16.0, -16.0));
        near(pull_of(&config(3.0), 8.0, Some(-2.0)), (0.0, -6.0));
        near(pull_of(&config(3.0), 2.0, Some(-2.0)), (-4.0, -4.0));
        near(pull_of(&config(3.0), 8.0, Some(2.0)), (0.0, 2.56));
    }
}

#[test]
fn an_answer_that_was_compared_with_nothing_is_pulled_by_no_objective() {
    for objective in Objective::ALL {
        assert_eq!(pull_of(&config_of(objective), 1.5, None), (0.0, 0.0), "{objective:?}");
    }
    let weighed = TrainConfig { beta: 0.0, ..config_of(Objective::WeightedLikelihood) };
    assert!((pull_of(&weighed, 1.0, Some(0.0)).0 - 1.0).abs() < 1e-9, "0 is an advantage");
    assert!((pull_of(&weighed, 1.0, Some(1.5)).0 - 1.5_f64.exp()).abs() < 1e-6);
    assert_eq!(pull_of(&weighed, 1.0, Some(50.0)).0, 20.0, "weights are bounded");
}

#[test]
fn a_masked_token_is_left_out_of_its_answer_and_does_not_silence_it() {
    let mut long = troupe_core::example::sample(0, 0, 0, "solver", 0);
    (long.completion.tokens, long.completion.logprobs) = (vec![1, 2, 3], vec![-1.0, -9.0, -1.0]);
    let mut short = long.clone();
    (short.completion.tokens, short.completion.logprobs) = (vec![1, 3], vec![-1.0, -1.0]);
    let of = |config: &TrainConfig, sample: &Sample, before: Vec<f32>, now: Vec<f32>| {
        let row = CreditedSample { sample, advantage: Some(0.5), weight: 1.0 };
        let anchor = Anchor::at(config, &[sample], vec![before]);
        pulls(config, &row, &anchor, now)
    };
    for objective in [Objective::Gspo, Objective::MGrpo] {
        let importance = Importance::Mask;
        let config = TrainConfig { importance, importance_cap: 3.0, ..config_of(objective) };
        let whole = of(&config, &long, vec![-1.1, -1.0, -0.9], vec![-1.0, -4.0, -0.9]);
        let left = of(&config, &short, vec![-1.1, -0.9], vec![-1.0, -0.9]);
        assert!(left[0].slope > 0.0, "{objective:?}");
        assert_eq!([whole[0], whole[2]], [left[0], left[1]], "{objective:?}");
        assert_eq!(whole[1], Pull::default(), "{objective:?}");
        let config = TrainConfig { importance: Importance::MaskAnswer, ..config };
        let none = of(&config, &long, vec![-1.1, -1.0, -0.9], vec![-1.0, -4.0, -0.9]);
        assert_eq!(none, [Pull::default(); 3], "{objective:?}");
    }
}

#[test]
fn a_rescored_anchor_makes_the_first_ratios_one_and_corrects_for_the_rest() {
    let samples = {
        let policy = policy(34);
        let mut samples = samples(&policy, 12, &sampling());
        // A sampler that is far off: every ratio is e^±1.
        for (index, sample) in samples.iter_mut().enumerate() {
            let off = if index % 2 == 0 { 1.0 } else { -1.0 };
            sample.completion.logprobs.iter_mut().for_each(|logprob| *logprob += off);
        }
        samples
    };
    let clipped = |anchor, importance| {
        let mut policy = policy(34);
        let config = TrainConfig { anchor, importance, minibatch_samples: 0, ..config() };
        let mut trainer = Trainer::new(&policy, &config).unwrap();
        let metrics =
            trainer.update(&mut policy, &rows(&samples), &by_role(), Seed::new(1)).unwrap();
        (metrics.clip_low_share + metrics.clip_high_share, weights(&policy))
    };
    let (sampled, _) = clipped(AnchorChoice::Sampled, Importance::None);
    assert!(sampled > 0.3, "{sampled}");
    let (rescored, plain) = clipped(AnchorChoice::Rescored, Importance::None);
    assert_eq!(rescored, 0.0);
    let (truncated, corrected) = clipped(AnchorChoice::Rescored, Importance::Truncate);
    assert_eq!(truncated, 0.0);
    assert_ne!(plain, corrected, "importance weights change the step");
}
