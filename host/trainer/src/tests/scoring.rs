//! The trainer gives answers the log-probabilities that they were drawn with.

use super::*;

#[test]
fn long_answers_score_as_each_alone() {
    let policy = policy(18);
    let mut samples = samples(&policy, 2, &sampling());
    for (index, sample) in samples.iter_mut().enumerate() {
        sample.prompt = prompt(Seed::new(index as u64 / 4), 300 + index / 4);
        sample.completion.tokens = prompt(Seed::new(index as u64).named("long"), 150).to_vec();
        sample.completion.tokens[0] = 5;
        sample.completion.logprobs = vec![0.0; 150];
    }
    let together = logprobs(&policy, &samples.iter().collect::<Vec<_>>(), &sampling());
    for (sample, together) in samples.iter().zip(&together) {
        let alone = logprobs(&policy, &[sample], &sampling()).remove(0);
        assert!(alone.iter().zip(together).all(|(a, b)| (a - b).abs() < 1e-4));
    }
}

#[test]
fn the_training_graph_scores_as_the_sampler_did() {
    let policy = policy(1);
    for (temperature, top_k, top_p, min_p) in
        [(1.0, 0, 1.0, 0.0), (0.6, 4, 1.0, 0.0), (1.4, 0, 0.7, 0.0), (1.0, 12, 0.9, 0.1)]
    {
        let sampling = Sampling { temperature, top_k, top_p, min_p, ..sampling() };
        let samples = samples(&policy, 30, &sampling);
        let samples: Vec<&Sample> = samples.iter().collect();
        let logprobs = logprobs(&policy, &samples, &sampling);
        for (sample, logprobs) in samples.iter().zip(logprobs) {
            assert_eq!(sample.completion.logprobs.len(), logprobs.len());
            let pairs = sample.completion.logprobs.iter().zip(&logprobs);
            let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst < 1e-4, "{worst} at {sampling:?}");
        }
    }
}

#[test]
fn every_role_is_scored_in_the_way_it_was_sampled() {
    let policy = policy(23);
    let (hot, cold) = (sampling(), Sampling { temperature: 0.3, top_k: 9, ..sampling() });
    let (mut ours, mut theirs) = (samples(&policy, 6, &hot), samples(&policy, 6, &cold));
    ours.iter_mut().for_each(|sample| sample.role = "hot".to_owned());
    theirs.iter_mut().for_each(|sample| sample.role = "cold".to_owned());
    let by_role = SamplingByRole::new(hot.clone(), [("cold".to_owned(), cold.clone())]);
    // Equal prompts, so that both lie in one sequence.
    let all: Vec<&Sample> = ours.iter().chain(&theirs).collect();
    let together =
        rescore(&Ranks::alone(), &[(&policy, all.clone())], &by_role, 16_384).unwrap().remove(0);
    for (sample, scored) in all.iter().zip(&together) {
        for (there, here) in sample.completion.logprobs.iter().zip(scored) {
            assert!((there - here).abs() < 1e-4, "{}: {there} {here}", sample.role);
        }
    }
    let mixed_up = SamplingByRole::new(hot, [("hot".to_owned(), cold)]);
    let wrong = rescore(&Ranks::alone(), &[(&policy, all)], &mixed_up, 16_384).unwrap().remove(0);
    assert!(
        wrong.iter().flatten().zip(together.iter().flatten()).any(|(a, b)| (a - b).abs() > 0.1)
    );
}

#[test]
fn what_was_said_before_counts_in_training_as_it_did_in_sampling() {
    let policy = policy(19);
    let sampling = Sampling { repetition_penalty: 1.7, temperature: 0.8, ..sampling() };
    let samples = samples(&policy, 10, &sampling);
    let all_scored = logprobs(&policy, &samples.iter().collect::<Vec<_>>(), &sampling);
    for (sample, scored) in samples.iter().zip(all_scored) {
        let pairs = sample.completion.logprobs.iter().zip(&scored);
        let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst < 1e-4, "{worst}");
    }
}

#[test]
fn packed_answers_score_as_each_alone() {
    let policy = policy(2);
    let mut samples = samples(&policy, 6, &sampling());
    // Equal beginnings, one answer within another, and the same answer twice.
    for (index, tokens) in
        [&[5, 6, 7, 2][..], &[5, 6, 2], &[5, 6], &[5, 6, 7, 2]].into_iter().enumerate()
    {
        samples[index].completion.tokens = tokens.to_vec();
        samples[index].completion.logprobs = vec![0.0; tokens.len()];
    }
    let together = logprobs(&policy, &samples.iter().collect::<Vec<_>>(), &sampling());
    for (sample, together) in samples.iter().zip(&together) {
        let alone = logprobs(&policy, &[sample], &sampling()).remove(0);
        assert!(
            alone.iter().zip(together).all(|(a, b)| (a - b).abs() < 1e-5),
            "{alone:?} {together:?}"
        );
    }
}
