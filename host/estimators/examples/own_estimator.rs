//! An estimator of one's own beside AT-GRPO, on the same answers.
//!
//! `cargo run --release -p troupe-estimators --example own_estimator`

#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use troupe_core::config::AdvantageConfig;
use troupe_core::example::tree_of;
use troupe_core::trajectory::Sample;
use troupe_estimators::advantage::{Memory, compare};
use troupe_estimators::group::Group;

/// A sample's rank within its group, from -1 to 1: a reward ten times as large as the next best is
/// no better than one that is a little larger.
fn by_rank(samples: &[Sample], groups: &[Group]) -> Vec<f64> {
    let mut advantages = vec![0.0; samples.len()];
    for group in groups {
        let rivals = (group.units.len() - 1).max(1) as f64;
        for unit in &group.units {
            let beaten = group.units.iter().filter(|rival| rival.worth < unit.worth).count();
            for &sample in &unit.members {
                advantages[sample] = 2.0 * beaten as f64 / rivals - 1.0;
            }
        }
    }
    advantages
}

fn main() {
    // Two tasks, one turn, one role, four answers each; the second task has an outlier.
    let mut samples = tree_of(2, 1, &["solver"], 4);
    let rewards = [0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 30.0];
    for (sample, reward) in samples.iter_mut().zip(rewards) {
        sample.reward.local = reward;
    }
    let compared = compare(&samples, &AdvantageConfig::default(), &mut Memory::default(), |_| true);
    let ranks = by_rank(&samples, &compared.kept);
    println!("task  reward  AT-GRPO  by rank");
    for (index, sample) in samples.iter().enumerate() {
        let standardized = compared.credits.advantages[index].unwrap_or_default();
        println!(
            "{:>4}  {:>6}  {standardized:>7.2}  {:>7.2}",
            sample.task, rewards[index], ranks[index]
        );
    }
    assert_eq!(ranks[..4], ranks[4..], "ranks do not see how far away an outlier is");
    let second_best = [2, 6].map(|index| compared.credits.advantages[index]);
    assert!(second_best[1] < Some(0.0) && second_best[0] > Some(0.0), "standard deviations do");
}
