//! Updates of several policies at once.

use super::*;

/// Take a step with both policies at once.
fn update_both(
    policies: &mut [Policy; 2],
    trainers: &mut [Trainer; 2],
    rows: [&[CreditedSample]; 2],
    seed: u64,
) -> Vec<UpdateMetrics> {
    let samples = rows.map(|rows| rows.iter().map(|row| row.sample).collect::<Vec<_>>());
    let members = policies.iter_mut().zip(trainers).zip(rows).zip(&samples).zip(0_u64..);
    let members = members.map(|((((policy, trainer), rows), samples), place)| Member {
        trainer,
        policy,
        rows,
        samples,
        seed: Seed::new(seed).at(place),
    });
    update_together(members.collect(), &by_role()).unwrap()
}

#[test]
fn adapters_that_learn_together_learn_as_each_would_alone() {
    for kl_coefficient in [0.0, 0.1] {
        let base = policy(11);
        let before = base.digest().unwrap();
        let config = TrainConfig { kl_coefficient, minibatch_samples: 16, epochs: 2, ..config() };
        let mut together = adapters(&base);
        let mut alone = adapters(&base);
        let samples = [0, 1].map(|index| samples(&together[index], [9, 5][index], &sampling()));
        let new = |policies: &[Policy; 2]| {
            policies.each_ref().map(|policy| Trainer::new(policy, &config).unwrap())
        };
        let (mut joint, mut single) = (new(&together), new(&alone));
        for step in 0..2 {
            let both = [&rows(&samples[0])[..], &rows(&samples[1])];
            let metrics = update_both(&mut together, &mut joint, both, step);
            for index in [0, 1] {
                let seed = Seed::new(step).at(index as u64);
                let expected =
                    single[index].update(&mut alone[index], both[index], &by_role(), seed).unwrap();
                assert!((metrics[index].loss - expected.loss).abs() < 1e-5);
                assert!((metrics[index].gradient_norm / expected.gradient_norm - 1.0).abs() < 1e-3);
                assert_eq!(metrics[index].tokens, expected.tokens);
                assert_eq!(metrics[index].optimizer_steps, expected.optimizer_steps);
            }
        }
        for index in [0, 1] {
            let difference = distance(&together[index], &alone[index]);
            assert!(difference < 1e-4, "{difference}");
            assert!(distance(&together[index], &adapters(&base)[index]) > 1e-3);
        }
        assert_ne!(together[0].digest().unwrap(), together[1].digest().unwrap());
        assert_eq!(base.digest().unwrap(), before);
    }
}

#[test]
fn an_adapter_is_moved_by_its_own_samples_alone() {
    let base = policy(12);
    let mut policies = adapters(&base);
    let config = TrainConfig { entropy_coefficient: 0.0, ..config() };
    let mut trainers = policies.each_ref().map(|policy| Trainer::new(policy, &config).unwrap());
    let before = policies.each_ref().map(|policy| policy.digest().unwrap());
    let drawn = [0, 1].map(|index| samples(&policies[index], 6, &sampling()));
    let worthless: Vec<CreditedSample> = drawn[1]
        .iter()
        .map(|s| CreditedSample { sample: s, advantage: None, weight: 1.0 })
        .collect();
    for others in [&[][..], &worthless] {
        let digest = policies[0].digest().unwrap();
        update_both(&mut policies, &mut trainers, [&rows(&drawn[0]), others], 3);
        assert_ne!(policies[0].digest().unwrap(), digest);
        assert_eq!(policies[1].digest().unwrap(), before[1]);
    }
    update_both(&mut policies, &mut trainers, [&[], &rows(&drawn[1])], 4);
    assert_ne!(policies[1].digest().unwrap(), before[1]);
}

#[test]
fn adapters_are_rescored_together_as_each_alone() {
    let base = policy(13);
    let policies = adapters(&base);
    let drawn = [0, 1].map(|index| samples(&policies[index], 7, &sampling()));
    let pairs = [0, 1].map(|index| (&policies[index], drawn[index].iter().collect()));
    let together = rescore(&Ranks::alone(), &pairs, &by_role(), 100).unwrap();
    for ((policy, samples), together) in pairs.iter().zip(together) {
        for (sample, logprobs) in samples.iter().zip(together) {
            let pairs = sample.completion.logprobs.iter().zip(&logprobs);
            assert!(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) < 1e-4);
        }
        assert!(policy.shares_base(pairs[0].0));
    }
}

#[test]
fn an_adapters_trainer_is_saved_and_goes_on_bit_by_bit() {
    let base = policy(14);
    let config = TrainConfig { kl_coefficient: 0.05, ..config() };
    let mut policies = adapters(&base);
    let mut trainers = policies.each_ref().map(|policy| Trainer::new(policy, &config).unwrap());
    let samples = samples(&policies[0], 6, &sampling());
    let credited = rows(&samples);
    let rows = [&credited[..]; 2];
    update_both(&mut policies, &mut trainers, rows, 0);
    let folder = tempfile::tempdir().unwrap();
    let place = |index: usize| folder.path().join(index.to_string());
    for index in [0, 1] {
        trainers[index].save(&place(index).join("optimizer")).unwrap();
        policies[index].save(&place(index).join("policy")).unwrap();
    }
    let mut resumed =
        [0, 1].map(|index| policies[index].restore(&place(index).join("policy")).unwrap());
    let mut copies = [0, 1].map(|index| {
        let mut trainer = Trainer::new(&resumed[index], &config).unwrap();
        trainer.load(&place(index).join("optimizer")).unwrap();
        trainer
    });
    let expected = update_both(&mut policies, &mut trainers, rows, 1);
    assert_eq!(update_both(&mut resumed, &mut copies, rows, 1), expected);
    for index in [0, 1] {
        assert_eq!(resumed[index].digest().unwrap(), policies[index].digest().unwrap());
    }
}

#[test]
fn policies_of_their_own_are_updated_beside_each_other() {
    let mut policies = [policy(15), policy(16)];
    let samples = samples(&policies[0], 4, &sampling());
    let mut trainers = policies.each_ref().map(|policy| Trainer::new(policy, &config()).unwrap());
    update_both(&mut policies, &mut trainers, [&rows(&samples), &[]], 0);
    assert_ne!(policies[0].digest().unwrap(), policy(15).digest().unwrap());
    assert_eq!(policies[1].digest().unwrap(), policy(16).digest().unwrap());
}
