//! From answers to advantages: pure functions of the sample table.
//!
//! Knows nothing of plugins, models, files or processes: its one dependency of
//! ours is `troupe-core`, for the samples and the configuration.
//!
//! `lineage` says which answers an episode is made of, `worth` what each was
//! worth, `group` which are compared, `advantage` what the difference comes to,
//! `credit` what is done to advantages afterwards, and `audit` what other
//! estimators would have said of the same answers. Each uses only those above it.

pub mod lineage;
pub mod worth;
pub mod group;
pub mod credit;
pub mod advantage;
pub mod audit;
