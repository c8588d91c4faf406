//! Which completion of a group an episode continues with.

use troupe_core::config::{BranchChoice, RolloutConfig};
use troupe_core::seed::Seed;

/// Index of the branch to keep, given the branches' rewards.
pub fn choose_branch(rewards: &[f64], config: &RolloutConfig, seed: Seed) -> usize {
    match config.branch_choice {
        BranchChoice::Random => seed.index(rewards.len()),
        BranchChoice::Greedy => choose_greedily(rewards, seed),
        BranchChoice::Softmax => choose_by_softmax(rewards, config.branch_temperature, seed),
    }
}

fn choose_greedily(rewards: &[f64], seed: Seed) -> usize {
    let best = rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let tied: Vec<usize> =
        rewards.iter().enumerate().filter(|(_, r)| **r >= best).map(|(index, _)| index).collect();
    tied.get(seed.index(tied.len())).copied().unwrap_or(0)
}

fn choose_by_softmax(rewards: &[f64], temperature: f64, seed: Seed) -> usize {
    let best = rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = rewards.iter().map(|r| ((r - best) / temperature).exp()).collect();
    let mut left = seed.unit() * weights.iter().sum::<f64>();
    for (index, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return index;
        }
    }
    weights.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(choice: BranchChoice, rewards: &[f64]) -> Vec<f64> {
        let config =
            RolloutConfig { branch_choice: choice, branch_temperature: 0.5, ..Default::default() };
        let mut counts = vec![0.0; rewards.len()];
        for index in 0..20_000 {
            counts[choose_branch(rewards, &config, Seed::new(3).at(index))] += 1.0 / 20_000.0;
        }
        counts
    }

    #[test]
    fn greedy_keeps_the_best_and_breaks_ties_evenly() {
        let shares = shares(BranchChoice::Greedy, &[0.0, 1.0, 1.0, -3.0]);
        assert_eq!((shares[0], shares[3]), (0.0, 0.0));
        assert!((shares[1] - 0.5).abs() < 0.02, "{shares:?}");
    }

    #[test]
    fn random_does_not_look_at_rewards() {
        assert!(shares(BranchChoice::Random, &[9.0, 0.0]).iter().all(|s| (s - 0.5).abs() < 0.02));
    }

    #[test]
    fn softmax_prefers_by_the_exponential_of_the_reward() {
        let shares = shares(BranchChoice::Softmax, &[0.0, 0.5]);
        let expected = 1.0_f64.exp() / (1.0 + 1.0_f64.exp());
        assert!((shares[1] - expected).abs() < 0.02, "{shares:?}");
    }
}
