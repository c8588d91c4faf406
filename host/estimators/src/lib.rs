//! From answers to advantages: pure functions of the sample table.
//!
//! Knows nothing of plugins, models, files or processes: its one dependency of
//! ours is `troupe-core`, for the samples and the configuration.
//!
//! `lineage` says which answers an episode is made of, `worth` what each was
//! worth, `group` which are compared, `advantage` what the difference comes to,
//! `credit` what is done to advantages afterwards, and `audit` what other
//! estimators would have said of the same answers. Each uses only those above it.
//!
//! ```
//! use troupe_core::config::AdvantageConfig;
//! use troupe_core::example::tree_of;
//! use troupe_estimators::advantage::{Memory, compare};
//!
//! // Three answers of one role to one state, which earned 0, 1 and 2.
//! let mut samples = tree_of(1, 1, &["solver"], 3);
//! for (sample, reward) in samples.iter_mut().zip([0.0, 1.0, 2.0]) {
//!     sample.reward.local = reward;
//! }
//! let compared =
//!     compare(&samples, &AdvantageConfig::default(), &mut Memory::default(), |_| true);
//! // AT-GRPO: (reward - mean) / standard deviation.
//! let advantages: Vec<f32> = compared.credits.advantages.iter().map(|a| a.unwrap()).collect();
//! assert!(advantages[0] < -0.99 && advantages[1].abs() < 1e-6 && advantages[2] > 0.99);
//! ```

pub mod lineage;
pub mod worth;
pub mod group;
pub mod credit;
pub mod advantage;
pub mod audit;
