//! The machine that an experiment was made on, and what else it did.

use std::fs;

/// The machine, looked at when a call began.
#[derive(Clone, Debug)]
pub struct Machine {
    processor: String,
    processors: String,
    load: String,
}

impl Machine {
    /// This machine, now.
    pub fn now() -> Self {
        let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let named = |line: &str| {
            Some(line.strip_prefix("model name")?.split_once(':')?.1.trim().to_owned())
        };
        let processor = information.lines().find_map(named);
        Machine {
            processor: processor.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            processors: match std::thread::available_parallelism() {
                Ok(count) => format!("{count} processors"),
                Err(_) => "an unknown number of processors".to_owned(),
            },
            load: load(),
        }
    }

    /// In words, with what it did meanwhile.
    pub fn after(&self) -> String {
        format!(
            "{}, {}; load before {} and after {}",
            self.processor,
            self.processors,
            self.load,
            load()
        )
    }
}

/// Programs that wanted to run, on average over one minute and over five.
fn load() -> String {
    let averages = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut words = averages.split_whitespace();
    match (words.next(), words.next()) {
        (Some(one), Some(five)) => format!("{one} (one minute), {five} (five)"),
        _ => "unknown".to_owned(),
    }
}
