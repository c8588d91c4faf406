//! Published data sets, read from the user's own files and written as records.
//!
//! The files are untrusted: a row that is not what its set's rows are is
//! dropped, with a reason and its place, and the rest goes on. Nothing in them
//! is run, and what a row may take is bounded before it is held.

pub mod commands;

mod boxed;
mod bounds;
mod columns;
mod compressed;
mod import;
mod json;
mod layout;
mod logical;
mod pages;
mod row_group;
mod parquet_file;
mod record_file;
mod refusal;
mod report;
mod row;
mod seen;
mod set;
mod source;
mod split;
mod statistics;
mod writer;

pub use bounds::Bounds;
pub use import::{ImportError, Order, import};
pub use record_file::{RecordFile, RecordFileError, StoredRecord};
pub use report::{Dropped, Report, SourceEntry};
pub use set::DataSet;
pub use split::SplitChoice;
pub use statistics::Statistics;

use troupe_core::error::{Asked, ask};

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[ask::<ImportError>, ask::<RecordFileError>];
