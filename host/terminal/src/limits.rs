//! What one run of a program may use, as arguments.

use clap::Args;

use troupe_core::program::RunLimits;

/// What one run of a program may use.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits of one run")]
pub struct LimitArgs {
    /// Deterministic work, in WebAssembly instructions, roughly.
    #[arg(long, value_name = "N", default_value_t = RunLimits::default().fuel)]
    pub fuel: u64,
    /// Guard behind the fuel, in milliseconds of processor time.
    #[arg(long, value_name = "N", default_value_t = RunLimits::default().timeout_ms)]
    pub timeout_ms: u64,
    /// Memory, the interpreter's own included.
    #[arg(long, value_name = "N", default_value_t = RunLimits::default().memory_mib)]
    pub memory_mib: u64,
    /// Standard output and standard error together.
    #[arg(long, value_name = "N", default_value_t = RunLimits::default().output_bytes >> 10)]
    pub output_kib: u64,
}

impl LimitArgs {
    /// The limits.
    pub fn limits(&self) -> RunLimits {
        RunLimits {
            fuel: self.fuel,
            timeout_ms: self.timeout_ms,
            memory_mib: self.memory_mib,
            output_bytes: self.output_kib.saturating_mul(1 << 10),
        }
    }
}
