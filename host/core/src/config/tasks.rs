//! `[tasks]`: records that tasks are built from.

use std::path::PathBuf;

use super::table::table;

table! {
    /// Records of a data set, one line of JSON each, for environments that build
    /// their tasks from them.
    pub struct TasksConfig {
        /// Files whose records are dealt out: by `split_field`, or, eight in ten to training and
        /// one each to validation and test, by a digest of the record.
        pub files: Vec<PathBuf> = Vec::new();
        /// Files whose records are all for training.
        pub train: Vec<PathBuf> = Vec::new();
        /// Files whose records are all for validation.
        pub validation: Vec<PathBuf> = Vec::new();
        /// Files whose records are all for the final figures.
        pub test: Vec<PathBuf> = Vec::new();
        /// Field of the records of `files` that names the split: `train`, `validation` or `test`.
        pub split_field: String = String::new();
        /// Whether training goes through the records in an order of its own, another each time.
        pub shuffle: bool = true;
        /// Records of each split that are used at most, the first ones; 0 uses all.
        pub limit: usize = 0, 0..=1_000_000_000;
    }
}
