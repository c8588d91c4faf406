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
    let near = |advantage: Option<f32>, expected: f32| (advantage.unwrap() - expected).abs() < 1e-3;
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
            tree_of(1, 1, &["solver"], sizes[task]).into_iter().map(move |s| Sample { task, ..s })
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
