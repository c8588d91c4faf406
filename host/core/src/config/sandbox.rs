//! `[sandbox]`: which plugins may run model-written programs, and what a run may use.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::table::{Kind, Setting, describe_range, in_range, join, table};
use super::{ConfigError, Grantee};
use crate::program::RunLimits;

table! {
    /// How model-written programs are run.
    pub struct SandboxConfig {
        /// Plugins that may run programs: names of their files, without `.wasm`, perhaps with a
        /// digest.
        pub grant: Vec<Grantee> = Vec::new();
        /// Interpreters' components, or bare names looked up in the plugin path. A
        /// language that is not among them is looked up under its own name.
        pub interpreters: Vec<PathBuf> = Vec::new();
        /// Worker processes, and so runs at a time; 0 means one per core.
        pub jobs: usize = 0, 0..=1024;
        /// What one run may use at most, whatever a plugin asks for.
        pub limits: RunLimits = RunLimits::default();
    }
}

/// A limit's name, how it is read, what it may be, and what it means.
type RunLimit = (&'static str, fn(&RunLimits) -> u64, RangeInclusive<u64>, &'static str);

/// What one run of a program may be given. The struct itself belongs to
/// `program`, which knows nothing of configurations.
const RUN_LIMITS: [RunLimit; 4] = [
    (
        "fuel",
        |limits| limits.fuel,
        1..=1_000_000_000_000_000,
        "Units of deterministic work; about one per WebAssembly instruction.",
    ),
    (
        "timeout_ms",
        |limits| limits.timeout_ms,
        1..=86_400_000,
        "Guard against a slow machine, in milliseconds of processor time; four times as much in \
         wall-clock time makes the run a harness failure.",
    ),
    (
        "memory_mib",
        |limits| limits.memory_mib,
        1..=4096,
        "Memory, the interpreter's included, in MiB.",
    ),
    (
        "output_bytes",
        |limits| limits.output_bytes,
        0..=1 << 30,
        "Bytes of standard output and standard error together.",
    ),
];

impl Kind for RunLimits {
    fn accepts() -> String {
        "a table".to_owned()
    }

    fn settings() -> Vec<Setting> {
        let default = RunLimits::default();
        let setting = |(name, value, range, meaning): RunLimit| {
            Setting::of(name, &value(&default), &describe_range::<u64>(&range), &[meaning])
        };
        RUN_LIMITS.into_iter().flat_map(setting).collect()
    }

    fn check_ranges(&self, key: &str) -> Result<(), ConfigError> {
        let check =
            |(name, value, range, _): RunLimit| in_range(value(self), &range, join(key, name));
        RUN_LIMITS.into_iter().try_for_each(check)
    }
}
