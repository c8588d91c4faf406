//! The records that a checked environment makes its tasks of.

use troupe_core::config::TasksConfig;
use troupe_guests::plugin::{EnvironmentPlugin, Settings, Split};
use troupe_guests::records::Records;
use troupe_guests::scenario::ScenarioError;

/// The first of those to learn from, as many as there are tasks of a split; none if no files of
/// them are named.
pub(super) fn read(
    environment: &EnvironmentPlugin,
    settings: &Settings,
    tasks: &TasksConfig,
    count: u32,
) -> Result<Vec<String>, ScenarioError> {
    let Some(records) = Records::open(tasks)? else { return Ok(Vec::new()) };
    // Whatever else is wrong with the settings, the check finds.
    let configured = environment.configure(settings);
    if configured.is_ok_and(|it| !it.needs_records && !it.may_have_records()) {
        return Err(ScenarioError::UselessRecords { environment: environment.name().to_owned() });
    }
    let read = |seed| records.read(Split::Train, seed).map(|record| record.text);
    Ok((0..count).map(read).collect::<Result<_, _>>()?)
}
