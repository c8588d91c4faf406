//! Lines in the run's log, for the people who debug a plugin. The host cuts
//! long lines and drops lines past a fixed number per call. Outside a host, in
//! a native test, they go to standard error.

/// A line that is shown only on request.
pub fn debug(line: &str) {
    write(Level::Debug, line);
}

/// A line worth keeping.
pub fn info(line: &str) {
    write(Level::Info, line);
}

/// A line worth reading.
pub fn warning(line: &str) {
    write(Level::Warning, line);
}

#[cfg(target_family = "wasm")]
use crate::bindings::environment_plugin::troupe::plugin::log::{Level, write};

#[cfg(not(target_family = "wasm"))]
#[derive(Debug)]
enum Level {
    Debug,
    Info,
    Warning,
}

#[cfg(not(target_family = "wasm"))]
fn write(level: Level, line: &str) {
    eprintln!("{level:?}: {line}");
}
