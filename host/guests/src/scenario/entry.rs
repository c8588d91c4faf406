//! The record of a data set that a task is built from.

use crate::plugin::{Cause, Fault, PluginFailure, Split};
use crate::records::{Record, Records};

/// The record of a task, if its environment builds tasks from records.
pub(super) fn read(
    records: Option<&Records>,
    split: Split,
    seed: u32,
) -> Result<Option<Record>, Cause> {
    let record = records.map(|records| records.read(split, seed)).transpose();
    record.map_err(|error| Cause::Problem { fault: Fault::Task, message: error.to_string() })
}

/// Names the record that an environment refuses.
pub(super) fn placed(failure: PluginFailure, record: Option<&Record>) -> PluginFailure {
    match (failure.cause, record) {
        (Cause::Problem { fault: Fault::Task, message }, Some(record)) => {
            let message = format!("{message} ({})", record.place);
            PluginFailure { cause: Cause::Problem { fault: Fault::Task, message }, ..failure }
        }
        (cause, _) => PluginFailure { cause, ..failure },
    }
}
