//! The chance that one of k samples passes.

/// The usual k for a number of samples: 1, 2, 4 and so on, and all of them.
pub fn usual_ks(samples: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(1), |k| Some(k * 2)).take_while(|&k| k < samples);
    powers.chain((samples > 0).then_some(samples)).collect()
}

/// The unbiased estimate of the probability, from 0 to 1, that at least one of k samples passes,
/// when `passed` of `samples` did; k is at most `samples`.
pub fn chance_of_one(samples: usize, passed: usize, k: usize) -> f64 {
    if samples - passed < k {
        return 1.0;
    }
    // As a product, because the binomials overflow.
    1.0 - (samples - passed + 1..=samples).map(|i| 1.0 - k as f64 / i as f64).product::<f64>()
}
