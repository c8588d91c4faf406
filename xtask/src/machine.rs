//! What this machine is, for pages whose figures are of it.

use std::fs;
use std::thread;

/// Its processor, and how many there are.
pub fn machine() -> String {
    let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        information.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("an unknown processor", |(_, model)| model);
    match thread::available_parallelism() {
        Ok(count) => format!("{model}, {count} processors"),
        Err(_) => format!("{model}, an unknown number of processors"),
    }
}
