//! Answers that were drawn under a rule are scored under it.

use super::*;
use troupe_model::Constraint;

fn texts<const N: usize>(texts: [&str; N]) -> Arc<[String]> {
    texts.map(str::to_owned).to_vec().into()
}

fn confined(constraint: Constraint) -> Sampling {
    Sampling { constraint: Some(constraint), ..sampling() }
}

/// How far what the trainer says of answers is from what they were drawn with.
fn farthest(samples: &[Sample], scored: &[Vec<f32>]) -> f32 {
    let pairs = samples.iter().zip(scored);
    let of = |(sample, scored): (&Sample, &Vec<f32>)| {
        assert_eq!(sample.completion.logprobs.len(), scored.len());
        let pairs = sample.completion.logprobs.iter().zip(scored);
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    };
    pairs.map(of).fold(0.0, f32::max)
}

#[test]
fn the_training_graph_scores_as_the_sampler_did_under_any_rule() {
    let policy = policy(1);
    let words = Constraint::Words(texts(["w3", "w5", "w8", "w13"]));
    let choices = Constraint::Choices(texts(["w1", "w2 w3", "w2 w4 w5", "w2"]));
    for sampling in [
        confined(words.clone()),
        confined(choices.clone()),
        Sampling { temperature: 0.6, top_k: 2, ..confined(words.clone()) },
        Sampling { temperature: 1.4, top_p: 0.7, ..confined(choices) },
        Sampling { repetition_penalty: 1.7, min_p: 0.1, ..confined(words) },
    ] {
        let samples = samples(&policy, 30, &sampling);
        let all: Vec<&Sample> = samples.iter().collect();
        let worst = farthest(&samples, &logprobs(&policy, &all, &sampling));
        assert!(worst <= 1e-6, "{worst} at {sampling:?}");
        let free = Sampling { constraint: None, ..sampling };
        assert!(farthest(&samples, &logprobs(&policy, &all, &free)) > 0.5, "{free:?}");
    }
}

#[test]
fn under_a_rule_of_one_choice_nothing_is_uncertain_and_nothing_is_learned() {
    let mut policy = policy(6);
    let only = confined(Constraint::Choices(texts(["w4 w9"])));
    let samples = samples(&policy, 8, &only);
    let before = weights(&policy);
    let config = TrainConfig { kl_coefficient: 0.1, entropy_coefficient: 0.1, ..config() };
    let mut trainer = Trainer::new(&policy, &config).unwrap();
    let metrics = trainer.update(&mut policy, &rows(&samples), &only.into(), Seed::new(1)).unwrap();
    assert_eq!((metrics.entropy, metrics.kl, metrics.mismatch), (0.0, 0.0, 0.0));
    assert_eq!((metrics.gradient_norm, metrics.movement), (0.0, 0.0));
    assert_eq!(weights(&policy), before);
}

#[test]
fn entropy_kl_and_movement_are_of_what_could_be_drawn() {
    let mut policy = policy(7);
    let two = confined(Constraint::Choices(texts(["w4", "w9"])));
    let samples = samples(&policy, 40, &two);
    let mut trainer =
        Trainer::new(&policy, &TrainConfig { kl_coefficient: 0.01, ..config() }).unwrap();
    let mut update = |step| {
        trainer.update(&mut policy, &rows(&samples), &two.clone().into(), Seed::new(step)).unwrap()
    };
    // Two choices, then the only token that may follow, over two tokens an answer.
    let (first, second) = (update(1), update(2));
    let most = f64::from(2.0_f32.ln()) / 2.0;
    assert!((0.5 * most..=most + 1e-6).contains(&first.entropy), "{first:?}");
    assert!(first.mismatch.abs() < 1e-6 && first.movement > 0.0, "{first:?}");
    assert!(second.kl > 0.0 && second.kl < most, "{second:?}");
}

#[test]
fn a_roles_rule_is_its_own() {
    let policy = policy(23);
    let rule = confined(Constraint::Words(texts(["w1", "w2"])));
    let (mut ours, mut theirs) = (samples(&policy, 6, &sampling()), samples(&policy, 6, &rule));
    ours.iter_mut().for_each(|sample| sample.role = "free".to_owned());
    theirs.iter_mut().for_each(|sample| sample.role = "bound".to_owned());
    let by_role = SamplingByRole::new(sampling(), [("bound".to_owned(), rule)]);
    // Equal prompts, so that both lie in one sequence.
    let all = [ours, theirs].concat();
    let score = |samples: &[Sample]| {
        let samples = samples.iter().collect();
        rescore(&Ranks::alone(), &[(&policy, samples)], &by_role, 16_384)
    };
    assert!(farthest(&all, &score(&all).unwrap().remove(0)) < 1e-5);
    let mut exchanged = all;
    exchanged.iter_mut().for_each(|sample| sample.role = "bound".to_owned());
    let refused = score(&exchanged).unwrap_err().to_string();
    assert!(refused.contains("`allowed`"), "what was said freely is not what the rule allows");
}

#[test]
fn an_answer_that_its_rule_does_not_allow_is_not_learned_from() {
    let mut policy = policy(9);
    let samples = samples(&policy, 4, &sampling());
    let rule = confined(Constraint::Words(texts(["w1", "w2"])));
    let mut trainer = Trainer::new(&policy, &config()).unwrap();
    let refused = trainer.update(&mut policy, &rows(&samples), &rule.into(), Seed::new(1));
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("sample ") && refused.contains("`allowed`"), "{refused}");
}
