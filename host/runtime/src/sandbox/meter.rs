//! What the host's own work for a program costs it. WebAssembly's fuel counts
//! instructions of the guest, and a call of the host is none of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::state::Stop;

/// Fuel for a call that looks something up and copies little.
pub(super) const CALL: u64 = 10_000;
/// Bytes that are copied, zeroed or given back for one unit of fuel.
const BYTES_PER_UNIT: u64 = 1;

/// Counts the host's work in units of fuel. Clones are one meter.
#[derive(Clone)]
pub(super) struct Meter {
    charged: Arc<AtomicU64>,
    limit: u64,
}

impl Meter {
    pub(super) fn new(limit: u64) -> Self {
        Meter { charged: Arc::default(), limit }
    }

    /// Units charged so far.
    pub(super) fn charged(&self) -> u64 {
        self.charged.load(Ordering::Relaxed)
    }

    /// Charges a call that handles so many bytes. The guest's own fuel cannot be
    /// seen from everywhere, so a run is stopped here when the host's work alone
    /// is as much as it may use, and else judged by the sum at its end.
    ///
    /// # Errors
    ///
    /// The host has worked more than the whole run may.
    pub(super) fn charge(&self, bytes: u64) -> Result<(), Stop> {
        let units = CALL + bytes / BYTES_PER_UNIT;
        let before = self.charged.fetch_add(units, Ordering::Relaxed);
        if before.saturating_add(units) > self.limit { Err(Stop::OutOfFuel) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_what_was_charged_and_the_limit_stops() {
        let meter = Meter::new(3 * CALL);
        assert_eq!(meter.charge(0), Ok(()));
        assert_eq!(meter.clone().charge(CALL / 2), Ok(()));
        assert_eq!(meter.charged(), 2 * CALL + CALL / 2 / BYTES_PER_UNIT);
        assert_eq!(meter.charge(0), Err(Stop::OutOfFuel));
    }
}
