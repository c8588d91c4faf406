//! Steps that go too far.

use super::*;
use crate::caution::ATTEMPTS;
use troupe_core::config::{AnchorChoice, Decay, DtypeChoice, Objective};

/// Always the same learning rate.
fn steady(learning_rate: f64, max_movement: f64) -> TrainConfig {
    TrainConfig { learning_rate, max_movement, decay: Decay::Constant, ..config() }
}

/// What a policy becomes by an update, and what is said of it.
fn updated(config: &TrainConfig, updates: u64) -> (Policy, Trainer, Vec<UpdateMetrics>) {
    let mut policy = policy(41);
    let samples = samples(&policy, 6, &sampling());
    let mut trainer = Trainer::new(&policy, config).unwrap();
    let update =
        |seed| trainer.update(&mut policy, &rows(&samples), &by_role(), Seed::new(seed)).unwrap();
    let metrics = (0..updates).map(update).collect();
    (policy, trainer, metrics)
}

fn movement(rate: f64) -> f64 {
    updated(&steady(rate, 0.0), 1).2[0].movement
}

#[test]
fn a_step_that_goes_too_far_is_taken_back_and_made_more_slowly() {
    let rate = 0.001;
    let [whole, half, quarter] = [rate, rate / 2.0, rate / 4.0].map(movement);
    assert!(whole > half && half > quarter && quarter > 0.0, "{whole} {half} {quarter}");
    for (limit, taken_back) in [(whole * 1.01, 0), (half * 1.01, 1), (quarter * 1.01, 2)] {
        let (policy, trainer, metrics) = updated(&steady(rate, limit), 1);
        let factor = f64::from(1 << taken_back);
        let (slower, its_trainer, plain) = updated(&steady(rate / factor, 0.0), 1);
        assert_eq!(metrics[0].taken_back, taken_back);
        assert_eq!(metrics[0].overshoot.is_some(), taken_back > 0);
        assert_eq!(weights(&policy), weights(&slower), "as if that had been its rate");
        let expected =
            UpdateMetrics { taken_back, overshoot: metrics[0].overshoot, ..plain[0].clone() };
        assert_eq!(metrics[0], expected);
        assert_eq!(trainer.optimizer.steps(), its_trainer.optimizer.steps());
        assert_eq!(trainer.learning_rate(), rate / factor, "the next step begins at what passed");
    }
}

#[test]
fn after_a_restart_the_next_step_begins_at_the_rate_that_passed_and_at_twice_it_if_that_leaves_room()
 {
    let rate = 0.001;
    let (policy, trainer, metrics) = updated(&steady(rate, movement(rate / 4.0) * 1.01), 1);
    assert_eq!((metrics[0].taken_back, trainer.learning_rate()), (2, rate / 4.0));
    let folder = tempfile::tempdir().unwrap();
    trainer.save(folder.path()).unwrap();
    let mut resumed = Trainer::new(&policy, &steady(rate, 1e3)).unwrap();
    resumed.load(folder.path()).unwrap();
    let (mut policy, samples) = (policy, samples(&self::policy(41), 6, &sampling()));
    let rates: Vec<f64> = (2..5)
        .map(|seed| {
            let update =
                resumed.update(&mut policy, &rows(&samples), &by_role(), Seed::new(seed)).unwrap();
            update.learning_rate
        })
        .collect();
    assert_eq!(rates, [rate / 4.0, rate / 2.0, rate]);
}

#[test]
fn a_step_that_is_too_much_at_an_eighth_of_its_rate_is_given_up_and_leaves_no_trace() {
    let (policy, trainer, metrics) = updated(&steady(0.02, 1e-12), 1);
    assert!(metrics[0].is_given_up() && !metrics[0].moved);
    assert_eq!(
        (metrics[0].taken_back, metrics[0].movement, metrics[0].optimizer_steps),
        (ATTEMPTS, 0.0, 0)
    );
    assert!(metrics[0].overshoot.unwrap() > 1e-12);
    let start = self::policy(41);
    assert_eq!(weights(&policy), weights(&start));
    let state = |trainer: &Trainer| -> Vec<(String, Vec<f32>)> {
        let numbers = |tensor: &Tensor| Vec::<f32>::try_from(tensor.reshape([-1])).unwrap();
        let state = trainer.optimizer.state().unwrap().into_iter();
        state.map(|(name, tensor)| (name, numbers(&tensor))).collect()
    };
    let fresh = Trainer::new(&start, &config()).unwrap();
    assert_eq!(state(&trainer), state(&fresh), "moments, too");
    assert_eq!(trainer.optimizer.steps(), 0);
}

#[test]
fn of_two_that_learn_together_only_the_one_that_goes_too_far_is_taken_back() {
    let base = policy(42);
    let samples = samples(&base, 6, &sampling());
    let learn = |limit: f64| {
        let mut policies = adapters(&base);
        let configs = [0.3, 0.001].map(|rate| steady(rate, limit));
        let mut trainers: Vec<Trainer> =
            policies.iter().zip(&configs).map(|(p, c)| Trainer::new(p, c).unwrap()).collect();
        let rows = rows(&samples);
        let all: Vec<&Sample> = samples.iter().collect();
        let members = policies.iter_mut().zip(&mut trainers).map(|(policy, trainer)| Member {
            trainer,
            policy,
            rows: &rows,
            samples: &all,
            seed: Seed::new(1),
        });
        let metrics = update_together(members.collect(), &by_role()).unwrap();
        (policies.map(|policy| weights(&policy)), metrics)
    };
    let (free, plain) = learn(0.0);
    let limit = (plain[0].movement + plain[1].movement) / 2.0;
    assert!(plain[0].movement > 2.0 * plain[1].movement, "{plain:?}");
    let (held, metrics) = learn(limit);
    assert!(metrics[0].taken_back > 0 && metrics[0].movement <= limit);
    assert_ne!(held[0], free[0]);
    assert_eq!((metrics[1].taken_back, metrics[1].movement), (0, plain[1].movement));
    assert_eq!(held[1], free[1]);
}

#[test]
fn one_ratio_for_an_answer_is_exactly_one_before_anything_is_learned_in_16_bits_too() {
    let config = PolicyConfig { dtype: Some(DtypeChoice::Bfloat16), ..PolicyConfig::default() };
    let words: Vec<String> = (0..30).map(|word| format!("w{word}")).collect();
    let mut policy = Policy::random(&config, &words, Seed::new(43), Device::cpu()).unwrap();
    let samples = samples(&policy, 24, &sampling());
    for minibatch_samples in [0, 24] {
        let config = TrainConfig {
            objective: Objective::Gspo,
            anchor: AnchorChoice::Rescored,
            clip_low: 1e-9,
            clip_high: 1e-9,
            minibatch_samples,
            // So small that no weight of 16 bits changes from one mini-batch to the next.
            ..steady(1e-12, 0.0)
        };
        let mut trainer = Trainer::new(&policy, &config).unwrap();
        let metrics =
            trainer.update(&mut policy, &rows(&samples), &by_role(), Seed::new(1)).unwrap();
        assert_eq!(
            (metrics.clip_low_share, metrics.clip_high_share),
            (0.0, 0.0),
            "{minibatch_samples}"
        );
        assert!(metrics.optimizer_steps > 0);
    }
}
