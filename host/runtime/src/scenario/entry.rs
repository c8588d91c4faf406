//! The record of a data set that a task is built from.

use crate::plugin::{Cause, EnvironmentPlugin, Fault, PluginFailure, Split};
use crate::records::{Record, Records};

/// The record of a task, if its environment builds tasks from records.
pub(super) fn read(
    records: Option<&Records>,
    environment: &EnvironmentPlugin,
    split: Split,
    seed: u32,
) -> Result<Option<Record>, PluginFailure> {
    let record = records.map(|records| records.read(split, seed)).transpose();
    record.map_err(|error| {
        let (fault, message) = (Fault::Task, error.to_string());
        environment.failed("start", Cause::Problem { fault, message })
    })
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
