//! `[[mix]]`: the kinds of tasks of a run that has more than one.

use super::table::table;
use super::{CurriculumConfig, TasksConfig};

table! {
    /// One family of tasks: an environment, a workflow, and what is theirs alone.
    pub struct MixConfig {
        /// What it is called in figures; by default like its environment.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub family: Option<String> = None;
        /// Name of its environment.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub environment: Option<String> = None;
        /// Name of its workflow; by default the environment's first choice.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub workflow: Option<String> = None;
        /// Its share of the training tasks, in proportion to those of the others. With 0 nothing
        /// is learned from it, and it is played on test tasks alone.
        pub weight: f64 = 1.0, 0.0..=1e6;
        /// The environment's own settings.
        pub settings: toml::Table = toml::Table::new();
        /// The workflow's own settings.
        pub workflow_settings: toml::Table = toml::Table::new();
        /// Records that its tasks are built from.
        pub tasks: TasksConfig = TasksConfig::default();
        /// How its settings follow its success.
        pub curriculum: CurriculumConfig = CurriculumConfig::default();
    }
}
