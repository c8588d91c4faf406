//! From answers to advantages: pure functions of the sample table.
//!
//! It may know `troupe-core`'s samples and configuration, and nothing else: no
//! plugins, models, files or clocks, and no randomness but what a state's digest seeds.
//!
//! In reading order, each using only those above it:
//! - [`lineage`]: which episodes were forked from which;
//! - [`worth`]: what a completion, or several together, was worth;
//! - [`group`]: which are compared;
//! - [`band`]: which tasks teach a role;
//! - [`credit`]: what is done to advantages afterwards, in the order of `advantage.then`;
//! - [`forks`]: how many answers each state is given, where not all are given as many;
//! - [`advantage`]: A = (r − mean) / (std + ε) or another scale, and [`advantage::compare`],
//!   which is the whole way;
//! - [`critique`]: what critics learn from a table, and what becomes of their verdicts;
//! - [`audit`]: what other estimators would say of the same answers.
//!
//! `examples/own_estimator.rs` compares an estimator that is not among these with AT-GRPO.
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
//! // AT-GRPO: (r − mean) / (std + ε) with mean 1 and standard deviation 1.
//! for (advantage, expected) in compared.credits.advantages.into_iter().zip([-1.0, 0.0, 1.0]) {
//!     assert!((advantage.unwrap() - expected).abs() < 1e-3_f32);
//! }
//! ```

pub mod lineage;
pub mod worth;
pub mod group;
pub mod band;
pub mod credit;
pub mod forks;
pub mod advantage;
pub mod critique;
pub mod audit;
