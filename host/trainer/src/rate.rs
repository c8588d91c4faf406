//! The learning rate that suits a policy.

use troupe_model::Policy;

/// Policies with fewer parameters are made for a game and learn it from
/// nothing; those with more know something that can be lost.
const TINY: usize = 10_000_000;

/// Peak learning rate of all weights of a tiny policy.
const TINY_RATE: f64 = 1e-3;
/// For an adapter.
const ADAPTER_RATE: f64 = 2e-4;
/// For all weights of a language model.
const FULL_RATE: f64 = 2e-5;
/// What is known to destroy a language model within a few steps begins above this.
const HIGHEST_FULL_RATE: f64 = 2e-4;

/// Whether a policy knows something that can be lost.
pub fn is_language_model(policy: &Policy) -> bool {
    policy.parameter_count() >= TINY
}

/// The peak learning rate that suits what of the policy is trained.
pub fn suitable_rate(policy: &Policy) -> f64 {
    if !is_language_model(policy) {
        TINY_RATE
    } else if policy.is_adapter() {
        ADAPTER_RATE
    } else {
        FULL_RATE
    }
}

/// Whether training at this peak learning rate is known to destroy the policy.
pub fn destroys(policy: &Policy, rate: f64) -> bool {
    suitable_rate(policy) == FULL_RATE && rate > HIGHEST_FULL_RATE
}
