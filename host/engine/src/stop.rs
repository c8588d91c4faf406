//! Ctrl-C and its like: the first asks a run to stop once it has saved, the
//! second ends it at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::report;

/// Whether the run was asked to stop.
pub struct StopSignal {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// The signal that asked for it; 0 if none did.
    asked: AtomicI32,
    /// Whether the run comes to a place where it can be stopped.
    heeded: AtomicBool,
}

impl StopSignal {
    /// From now on, signals are listened to. `farewell` is what to say when
    /// one ends the process at once.
    pub fn listen(farewell: String) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let ignored = ignored_signals();
        // What `nohup` shields from stays ignored.
        // SIGUSR1 is what schedulers send some time before they end a job.
        let heard = [SIGINT, SIGTERM, SIGHUP, SIGUSR1]
            .into_iter()
            .filter(|signal| ignored >> (signal - 1) & 1 == 0);
        let mut signals = Signals::new(heard)?;
        let listener = shared.clone();
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                let first = listener.asked.swap(signal, Ordering::Relaxed) == 0;
                if first && listener.heeded.load(Ordering::Relaxed) {
                    report::note("stopping after this step; once more to stop at once");
                    continue;
                }
                report::note(&farewell);
                // If that fails, there is nothing left to try.
                let _ = emulate_default_handler(signal);
            }
        })?;
        Ok(StopSignal { shared })
    }

    /// From now on, [`StopSignal::asked`] is looked at.
    pub fn heed(&self) {
        self.shared.heeded.store(true, Ordering::Relaxed);
    }

    /// The exit code to stop with, if asked to: 128 and the signal.
    pub fn asked(&self) -> Option<u8> {
        match self.shared.asked.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(128 + signal as u8),
        }
    }
}

/// Signals this process was started with the order to ignore, a bit for each.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
