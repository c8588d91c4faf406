//! A critic of values, against numbers worked out by hand.

use super::*;
use crate::tests::policy;
use troupe_core::config::{DtypeChoice, PolicyConfig};
use troupe_model::Device;

const PROMPTS: [&[u32]; 3] = [&[5, 6, 7], &[5, 6, 9, 4], &[8]];
const ANSWERS: [&[u32]; 3] = [&[10, 2], &[10, 11, 2], &[12]];

fn answered(prompt: usize, answer: usize) -> Answered<'static> {
    Answered { prompt: PROMPTS[prompt], answer: ANSWERS[answer] }
}

fn config() -> ValueCriticConfig {
    ValueCriticConfig { updates: 1, minibatch_samples: 1, ..ValueCriticConfig::default() }
}

fn train() -> TrainConfig {
    TrainConfig { learning_rate: 1e-3, ..TrainConfig::default() }
}

fn critic(encoder: &Policy, config: &ValueCriticConfig) -> ValueCritic {
    ValueCritic::new(encoder, config, &train(), Seed::new(1)).unwrap()
}

/// Heads that find things worth something, all of them something else; the copy differs.
fn stir(critic: &mut ValueCritic) {
    for (heads, by) in [(&critic.heads, 0.31), (&critic.moving.1, 0.17)] {
        let mut buffer = heads.parameters().buffer().shallow_clone();
        let places = Tensor::arange(buffer.numel() as i64, (Kind::Float, buffer.device()));
        tch::no_grad(|| buffer.copy_(&(&buffer + (places * by).sin() * 0.1)));
    }
}

/// The four estimates for one text, read alone.
fn alone(of: (&Policy, &ValueHeads), answered: Answered) -> [f32; 4] {
    let text = [(answered.prompt, answered.answer)];
    read(of, &Texts::of(text.into_iter()), 4096).unwrap()[0]
}

#[test]
fn texts_that_are_read_together_are_read_as_each_alone() {
    let encoder = policy(1);
    let mut critic = critic(&encoder, &config());
    stir(&mut critic);
    let all: Vec<Answered> =
        (0..3).flat_map(|p| (0..3).map(move |a| answered(p, a))).chain([answered(1, 1)]).collect();
    let texts = Texts::of(all.iter().map(|a| (a.prompt, a.answer)));
    let together = read((&encoder, &critic.heads), &texts, 4096).unwrap();
    for (answered, together) in all.iter().zip(&together) {
        let alone = alone((&encoder, &critic.heads), *answered);
        assert!(alone.iter().zip(together).all(|(a, b)| (a - b).abs() < 1e-5));
    }
    // What a state is worth does not depend on the answer, and what an answer is does.
    assert_eq!(together[0][2..], together[1][2..]);
    assert_ne!(together[0][..2], together[1][..2]);
    let estimates = critic.judge(&encoder, &all).unwrap();
    for (estimate, [q, other_q, v, other_v]) in estimates.iter().zip(together) {
        assert_eq!(estimate.answer, f64::from(q.min(other_q)));
        assert_eq!(estimate.state, f64::from(v.min(other_v)));
    }
}

#[test]
fn what_is_minimized_is_what_the_equations_say() {
    for next in [None, Some(PROMPTS[2])] {
        let mut encoder = policy(1);
        let config = ValueCriticConfig { discount: 0.75, ..config() };
        let mut critic = critic(&encoder, &config);
        stir(&mut critic);
        let (acted, fresh) = (answered(0, 1), answered(1, 2));
        let copy = (&critic.moving.0, &critic.moving.1);
        let online = (&encoder, &critic.heads);
        let later = next.map_or([0.0; 4], |prompt| alone(copy, Answered { prompt, answer: &[] }));
        let (of_acted, of_fresh) = (alone(online, acted), alone(online, fresh));
        let aims = alone(copy, fresh);
        let expected: f32 = (0..2)
            .map(|head| {
                let aim = 0.5 + 0.75 * later[2 + head];
                (of_acted[head] - aim).powi(2) + (of_fresh[2 + head] - aims[head]).powi(2)
            })
            .sum();
        let outcome = Outcome { answered: acted, reward: 0.5, next };
        let metrics = critic.learn(&mut encoder, &[outcome], &[fresh], Seed::new(2)).unwrap();
        assert!((metrics.loss - f64::from(expected)).abs() < 1e-5, "{metrics:?} {expected}");
        assert_eq!((metrics.optimizer_steps, critic.steps()), (1, 1));
    }
}

#[test]
fn gradients_are_those_of_what_is_minimized() {
    let encoder = policy(1);
    let mut critic = critic(&encoder, &config());
    stir(&mut critic);
    let texts = || {
        Texts::of(
            [answered(0, 0), answered(0, 1), answered(2, 1)]
                .map(|a| (a.prompt, a.answer))
                .into_iter(),
        )
    };
    let aims = [
        Aim { answer: Some([0.5, 0.25]), state: None },
        Aim { answer: None, state: Some([1.0, -1.0]) },
        Aim { answer: Some([-0.5, 1.0]), state: Some([0.0, 0.5]) },
    ];
    let slopes = |encoder: &Policy, heads: &ValueHeads| {
        slopes((encoder, heads), &texts(), &aims, 4096).unwrap()
    };
    let at = slopes(&encoder, &critic.heads);
    let mut apart = Vec::new();
    for (index, gradient) in [&at.encoder, &at.heads].into_iter().enumerate() {
        let direction = gradient / gradient.norm();
        let slope = gradient.dot(&direction).double_value(&[]);
        let loss = |by: f64| {
            let (encoder, heads) =
                (encoder.duplicate().unwrap(), critic.heads.duplicate().unwrap());
            let buffer = match index {
                0 => encoder.trainable().buffer(),
                _ => heads.parameters().buffer(),
            };
            let mut buffer = buffer.shallow_clone();
            tch::no_grad(|| buffer.copy_(&(&buffer + &direction * by)));
            slopes(&encoder, &heads).loss
        };
        let difference = (loss(5e-4) - loss(-5e-4)) / 1e-3;
        assert!((difference / slope - 1.0).abs() < 0.02, "{difference} for {slope}");
        apart.push(slope);
    }
    assert!(apart.iter().all(|slope| *slope > 1e-3), "{apart:?}");
}

#[test]
fn what_comes_later_is_worth_less_and_is_learned_from_the_end_on() {
    let mut encoder = policy(3);
    let config = ValueCriticConfig {
        discount: 0.5,
        updates: 300,
        minibatch_samples: 16,
        ..ValueCriticConfig::default()
    };
    let mut critic = critic(&encoder, &config);
    // From state 0 answer 0 leads to state 1, whose answer 1 ends it with a reward of 1; answer
    // 2 ends it at once with nothing.
    let acted = |prompt, answer, reward, next: Option<usize>| Outcome {
        answered: answered(prompt, answer),
        reward,
        next: next.map(|next| PROMPTS[next]),
    };
    let outcomes = [acted(0, 0, 0.0, Some(1)), acted(1, 1, 1.0, None), acted(0, 2, 0.0, None)];
    let fresh = [answered(0, 0), answered(0, 2), answered(1, 1)];
    critic.learn(&mut encoder, &outcomes, &fresh, Seed::new(4)).unwrap();
    let judged = critic.judge(&encoder, &fresh).unwrap();
    let near = |actual: f64, expected: f64| (actual - expected).abs() < 0.08;
    assert!(near(judged[0].answer, 0.5) && near(judged[1].answer, 0.0), "{judged:?}");
    // Of the first state both answers are as likely.
    assert!(near(judged[0].state, 0.25) && near(judged[2].state, 1.0), "{judged:?}");
    assert!(near(judged[2].answer, 1.0), "{judged:?}");
}

#[test]
fn the_copy_follows_as_far_as_is_said_and_at_once_if_there_is_none() {
    for mixing in [0.25, 1.0] {
        let mut encoder = policy(1);
        let mut critic = critic(&encoder, &ValueCriticConfig { mixing, ..config() });
        stir(&mut critic);
        let copy = |critic: &ValueCritic| {
            let (policy, heads) = &critic.moving;
            [policy.trainable().buffer().copy(), heads.parameters().buffer().copy()]
        };
        let before = copy(&critic);
        let outcome = Outcome { answered: answered(0, 0), reward: 1.0, next: None };
        critic.learn(&mut encoder, &[outcome], &[answered(1, 1)], Seed::new(1)).unwrap();
        let online = [encoder.trainable().buffer(), critic.heads.parameters().buffer()];
        for ((after, before), online) in copy(&critic).iter().zip(before).zip(online) {
            let expected = &before * (1.0 - mixing) + online * mixing;
            assert!((after - expected).abs().max().double_value(&[]) < 1e-6);
            assert!((after - &before).abs().max().double_value(&[]) > 0.0);
        }
    }
}

#[test]
fn a_copy_in_16_bits_follows_by_steps_that_would_be_lost_in_them_and_resumes_to_the_bit() {
    let shape = PolicyConfig { dtype: Some(DtypeChoice::Bfloat16), ..PolicyConfig::default() };
    let encoder = Policy::random(&shape, &[], Seed::new(1), Device::cpu()).unwrap();
    let set = |number: f64| {
        for (_, mut tensor) in encoder.trainable().tensors() {
            let _ = tensor.fill_(number);
        }
    };
    let config = ValueCriticConfig { mixing: 0.01, ..config() };
    set(1.0);
    let mut first = critic(&encoder, &config);
    set(1.0625);
    // In 16 bits what comes after 1 is 1.0078: a step of 0.0006 would be none.
    let follow = |critic: &mut ValueCritic| (0..50).for_each(|_| critic.follow(&encoder).unwrap());
    follow(&mut first);
    let expected = 1.0625 - 0.0625 * 0.99_f64.powi(50);
    for (slot, tensor) in first.moving.0.trainable().tensors() {
        assert_eq!(tensor.kind(), Kind::BFloat16);
        let furthest = (tensor.to_kind(Kind::Float) - expected).abs().max().double_value(&[]);
        assert!(furthest < 0.004, "{}: {furthest}", slot.name());
    }
    let folder = tempfile::tempdir().unwrap();
    first.save(folder.path()).unwrap();
    let mut second = critic(&encoder, &config);
    second.load(folder.path()).unwrap();
    let numbers = |critic: &ValueCritic| Vec::<f32>::try_from(critic.numbers()).unwrap();
    assert_eq!(numbers(&first), numbers(&second));
    follow(&mut first);
    follow(&mut second);
    assert_eq!(numbers(&first), numbers(&second));
    let digest = |critic: &ValueCritic| critic.moving.0.trained_digest().unwrap();
    assert_eq!(digest(&first), digest(&second));
}

#[test]
fn a_critic_that_was_saved_goes_on_to_the_bit() {
    let config = ValueCriticConfig { updates: 3, minibatch_samples: 4, ..config() };
    let outcomes = [
        Outcome { answered: answered(0, 0), reward: 0.5, next: Some(PROMPTS[1]) },
        Outcome { answered: answered(1, 1), reward: 1.0, next: None },
    ];
    let fresh = [answered(0, 1), answered(1, 2)];
    let learn = |critic: &mut ValueCritic, encoder: &mut Policy, seed| {
        critic.learn(encoder, &outcomes, &fresh, Seed::new(seed)).unwrap()
    };
    let mut encoder = policy(1);
    let mut first = critic(&encoder, &config);
    learn(&mut first, &mut encoder, 1);
    let folder = tempfile::tempdir().unwrap();
    first.save(folder.path()).unwrap();
    let mut restored = encoder.duplicate().unwrap();
    let mut second = critic(&policy(9), &config);
    second.load(folder.path()).unwrap();
    let metrics = [learn(&mut first, &mut encoder, 2), learn(&mut second, &mut restored, 2)];
    assert_eq!(metrics[0], metrics[1]);
    assert_eq!(encoder.digest().unwrap(), restored.digest().unwrap());
    let judged = |critic: &ValueCritic, encoder: &Policy| critic.judge(encoder, &fresh).unwrap();
    assert_eq!(judged(&first, &encoder), judged(&second, &restored));
    assert_eq!(second.steps(), 2);
}

#[test]
fn what_is_known_is_learned() {
    let mut encoder = policy(5);
    let config = ValueCriticConfig { minibatch_samples: 2, ..config() };
    let mut critic = critic(&encoder, &config);
    let known: Vec<Appraised> = [(0, 0, 0.5, 0.25), (0, 1, 0.0, 0.25), (1, 1, 1.0, 1.0)]
        .map(|(prompt, answer, of_answer, state)| Appraised {
            answered: answered(prompt, answer),
            answer: of_answer,
            state,
        })
        .into();
    critic.fit(&mut encoder, &known, 150, Seed::new(1)).unwrap();
    let all: Vec<Answered> = known.iter().map(|known| known.answered).collect();
    for (known, judged) in known.iter().zip(critic.judge(&encoder, &all).unwrap()) {
        assert!((known.answer - judged.answer).abs() < 0.1, "{known:?} {judged:?}");
        assert!((known.state - judged.state).abs() < 0.1, "{known:?} {judged:?}");
    }
}
