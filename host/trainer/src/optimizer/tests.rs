//! Steps of AdamW, alone and shared out among processes.

use super::*;
use crate::ranks::threads;
use troupe_core::config::{DtypeChoice, PolicyConfig};
use troupe_core::seed::Seed;
use troupe_model::{Device, Policy};

fn policy() -> Policy {
    Policy::random(&PolicyConfig::default(), &[], Seed::new(1), Device::cpu()).unwrap()
}

fn config() -> TrainConfig {
    TrainConfig {
        beta1: 0.9,
        beta2: 0.98,
        epsilon: 1e-8,
        max_gradient_norm: 1e9,
        ..TrainConfig::default()
    }
}

fn alone(policy: &Policy, config: &TrainConfig) -> AdamW {
    AdamW::new(policy.trainable(), config, &Ranks::alone()).unwrap()
}

/// What is left after some steps of so many processes together: each one's weights, and the
/// state that the first has to save.
fn trained(
    world: usize,
    dtype: DtypeChoice,
    from: &Saved,
    steps: std::ops::Range<i64>,
) -> (Vec<Vec<f32>>, Saved) {
    let stepped = threads(world, |ranks| {
        let config = PolicyConfig { dtype: Some(dtype), ..PolicyConfig::default() };
        let mut policy = Policy::random(&config, &[], Seed::new(1), Device::cpu()).unwrap();
        let config = TrainConfig { max_gradient_norm: 1.0, weight_decay: 0.1, ..self::config() };
        let mut optimizer = AdamW::new(policy.trainable(), &config, &ranks).unwrap();
        if let Some((weights, state)) = from {
            let weights = Tensor::from_slice(weights);
            policy.trainable().buffer().shallow_clone().copy_(&weights);
            let state = state.iter().map(|(name, shape, numbers)| {
                (name.clone(), Tensor::from_slice(numbers).reshape(shape))
            });
            optimizer.restore(&state.collect(), steps.start as u64).unwrap();
        }
        for step in steps.clone() {
            let like = policy.trainable().buffer();
            let gradient = like.zeros_like().to_kind(Kind::Float);
            for slot in policy.trainable().slots() {
                let mut part = slot.view(&gradient);
                let numbers = Tensor::arange(part.numel() as i64, (Kind::Float, like.device()));
                part.copy_(&(numbers * (step + 1)).sin().view_as(&part));
            }
            let fingerprint = optimizer.fingerprint(policy.trainable()).unwrap();
            optimizer.step(policy.trainable_mut(), gradient, 0.01, 2).unwrap();
            assert_ne!(optimizer.fingerprint(policy.trainable()).unwrap(), fingerprint);
        }
        let numbers = |tensor: &Tensor| {
            Vec::<f32>::try_from(tensor.to_kind(Kind::Float).reshape([-1])).unwrap()
        };
        let state = optimizer.state().unwrap().into_iter();
        let state: Vec<_> =
            state.map(|(name, tensor)| (name, tensor.size(), numbers(&tensor))).collect();
        assert_eq!(state.is_empty(), !ranks.leads());
        let share = policy.trainable().buffer().numel().div_ceil(world) + 64;
        assert!(optimizer.first.numel() <= share && optimizer.second.numel() <= share);
        assert!(optimizer.master.is_none_or(|master| master.numel() <= share));
        (numbers(policy.trainable().buffer()), state)
    });
    let (weights, mut states): (Vec<_>, Vec<_>) = stepped.into_iter().unzip();
    let state = Some((weights[0].clone(), states.remove(0)));
    (weights, state)
}

/// Weights and state; nothing at the start.
type Saved = Option<(Vec<f32>, Vec<(String, Vec<i64>, Vec<f32>)>)>;

#[test]
fn processes_that_share_the_state_come_to_the_bits_of_one_and_may_be_fewer_or_more_later() {
    for dtype in [DtypeChoice::Float32, DtypeChoice::Bfloat16] {
        let (whole, saved) = trained(1, dtype, &None, 0..4);
        let (_, half) = trained(3, dtype, &None, 0..2);
        for world in [1, 2, 4] {
            let (weights, state) = trained(world, dtype, &half, 2..4);
            assert!(weights.iter().all(|weights| *weights == whole[0]), "{world} {dtype:?}");
            assert!(state == saved, "{world} {dtype:?}");
        }
    }
}

#[test]
fn two_steps_are_those_worked_out_by_hand() {
    let mut policy = policy();
    let _ = policy.trainable().buffer().shallow_clone().fill_(1.0);
    let mut optimizer = alone(&policy, &TrainConfig { weight_decay: 0.1, ..config() });
    let (mut weight, mut first, mut second) = (1.0_f64, 0.0, 0.0);
    for (step, gradient) in [(1, 0.5_f64), (2, -2.0)] {
        let full = policy.trainable().buffer().full_like(gradient);
        optimizer.step(policy.trainable_mut(), full, 0.01, 2).unwrap();
        first = 0.9 * first + 0.1 * gradient;
        second = 0.98 * second + 0.02 * gradient * gradient;
        let (m, v) = (first / (1.0 - 0.9_f64.powi(step)), second / (1.0 - 0.98_f64.powi(step)));
        weight = weight * (1.0 - 0.01 * 0.1) - 0.01 * m / (v.sqrt() + 1e-8);
        let stepped = policy.trainable().buffer().get(0).double_value(&[]);
        assert!((stepped - weight).abs() < 1e-6, "{stepped} {weight}");
    }
    assert_eq!(optimizer.steps(), 2);
}

#[test]
fn decay_leaves_norms_alone() {
    let mut policy = policy();
    let _ = policy.trainable().buffer().shallow_clone().fill_(1.0);
    let mut optimizer = alone(&policy, &TrainConfig { weight_decay: 0.5, ..config() });
    let none = policy.trainable().buffer().zeros_like();
    optimizer.step(policy.trainable_mut(), none, 0.1, 1).unwrap();
    for (slot, tensor) in policy.trainable().tensors() {
        let expected = if slot.name().contains("norm") { 1.0 } else { 0.95 };
        assert!((tensor.min().double_value(&[]) - expected).abs() < 1e-6, "{}", slot.name());
    }
}

#[test]
fn gradients_are_clipped_and_broken_ones_skipped() {
    let mut policy = policy();
    let mut optimizer = alone(&policy, &TrainConfig { max_gradient_norm: 1.0, ..config() });
    let full = policy.trainable().buffer().full_like(0.3);
    let norm = full.norm().double_value(&[]);
    let made = optimizer.step(policy.trainable_mut(), full, 0.0, 1).unwrap();
    let Step::Made { gradient_norm } = made else { panic!("{made:?}") };
    assert!((gradient_norm / norm - 1.0).abs() < 1e-3, "{gradient_norm} {norm}");
    let clipped = optimizer.first.norm().double_value(&[]) / 0.1;
    assert!((clipped - 1.0).abs() < 1e-3, "{clipped}");
    let before = policy.digest().unwrap();
    let broken = policy.trainable().buffer().full_like(f64::NAN);
    assert_eq!(optimizer.step(policy.trainable_mut(), broken, 0.1, 1).unwrap(), Step::Skipped);
    assert_eq!((policy.digest().unwrap(), optimizer.steps()), (before, 1));
}
