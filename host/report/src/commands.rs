//! `host report`, `host watch` and `host compare`.

mod args;
pub mod compare;
pub mod report;
pub mod watch;

pub use args::{CompareArgs, ReportArgs, WatchArgs};
