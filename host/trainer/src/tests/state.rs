//! Trainers on disk.

use super::*;

#[test]
fn saved_and_loaded_it_goes_on_bit_by_bit() {
    let config = TrainConfig { kl_coefficient: 0.05, weight_decay: 0.1, ..config() };
    let mut policy = policy(9);
    let samples = samples(&policy, 12, &sampling());
    let mut trainer = Trainer::new(&policy, &config).unwrap();
    let learn = |trainer: &mut Trainer, policy: &mut Policy, step| {
        trainer.update(policy, &rows(&samples), &by_role(), Seed::new(step)).unwrap()
    };
    learn(&mut trainer, &mut policy, 0);
    trainer.halve_learning_rate();
    let folder = tempfile::tempdir().unwrap();
    trainer.save(&folder.path().join("optimizer")).unwrap();
    policy.save(&folder.path().join("policy")).unwrap();
    let mut copy = (trainer.duplicate().unwrap(), policy.duplicate().unwrap());
    let expected = learn(&mut trainer, &mut policy, 1);

    assert_eq!(learn(&mut copy.0, &mut copy.1, 1), expected);
    let mut resumed = Policy::load(&folder.path().join("policy"), Device::cpu()).unwrap();
    let mut trainer = Trainer::new(&resumed, &config).unwrap();
    trainer.load(&folder.path().join("optimizer")).unwrap();
    assert_eq!(learn(&mut trainer, &mut resumed, 1), expected);
    assert_eq!(resumed.digest().unwrap(), policy.digest().unwrap());
    assert_eq!(copy.1.digest().unwrap(), policy.digest().unwrap());
}

#[test]
fn state_of_another_policy_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    Trainer::new(&policy(1), &config()).unwrap().save(folder.path()).unwrap();
    let words = vec!["other".to_owned()];
    let other =
        Policy::random(&PolicyConfig::default(), &words, Seed::new(1), Device::cpu()).unwrap();
    let error =
        Trainer::new(&other, &config()).unwrap().load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("`first.model.embed_tokens.weight` has shape"), "{error}");
}
