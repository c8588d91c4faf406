//! Experiments: a file says the rows of a table, and runs of `host train`, `host eval` and `host
//! imitate` fill it. Nothing of the loop is here; this only schedules child processes and reads
//! what they left.
//!
//! [`ExperimentFile`] → [`Plan`] → [`Schedule`] → [`Results`] → tables, curves and a page.

pub mod command;

mod address;
mod builds;
mod children;
mod claims;
mod curves;
mod error;
mod estimates;
mod examined;
mod file;
mod folder;
mod guard;
mod job;
mod kept;
mod machine;
mod page;
mod plan;
mod planned;
mod progress;
mod results;
mod row;
mod schedule;
mod setup;
mod sitting;
mod table;
mod tuning;
#[cfg(test)]
mod tests;

pub use address::Addresses;
pub use children::{Children, LEASH, heed_leash};
pub use claims::ClaimResult;
pub use error::ExperimentError;
pub use file::ExperimentFile;
pub use folder::Folder;
pub use job::{Job, Work, shell_line};
pub use kept::{KeptCell, KeptCells};
pub use machine::Machine;
pub use page::Origin;
pub use plan::Plan;
pub use results::{Results, RowResult};
pub use schedule::{Event, Failure, Schedule, Standing, State};
pub use setup::{Program, RESOLVE_COMMAND, Resolution};
pub use table::Table;
pub use tuning::{Trial, Tune, Tuned};

use troupe_core::error::{Asked, ask};
use troupe_core::storage::{StorageError, write_file, write_json};

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[ask::<ExperimentError>];

/// Write everything that shows what came of an experiment: tables, curves and a page.
///
/// # Errors
/// If a file cannot be written.
pub fn write_tables(
    results: &Results,
    plan: &Plan,
    folder: &Folder,
    origin: &Origin,
) -> Result<(), StorageError> {
    write_json(&folder.file("results.json"), results)?;
    for (name, text) in [
        ("table.md", results.markdown()),
        ("table.csv", results.csv()),
        ("claims.csv", results.claims_csv()),
        ("table.tex", results.latex()),
        ("curves.svg", curves::curves(results)),
        ("index.html", page::page(results, plan, folder, origin)),
    ] {
        write_file(&folder.file(name), text.as_bytes())?;
    }
    Ok(())
}
