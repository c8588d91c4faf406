//! What the host's own work for a program costs it. WebAssembly's fuel counts
//! instructions of the guest, and a call of the host is none of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::state::Stop;

/// Fuel for a look at the clock or a draw, so that a program of nothing else
/// uses about as much of it in a second as an endless loop.
pub(super) const LOOK: u64 = 5_000;
/// The same for any other call.
const CALL: u64 = 30_000;
/// The same for a byte that is copied, zeroed or given back.
const BYTE: u64 = 3;

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

    /// Charges a call that handles `bytes` bytes.
    ///
    /// # Errors
    ///
    /// As [`Meter::charge_units`].
    pub(super) fn charge(&self, bytes: u64) -> Result<(), Stop> {
        self.charge_units(CALL.saturating_add(bytes.saturating_mul(BYTE)))
    }

    /// Charges so much. The guest's own fuel cannot be
    /// seen from everywhere, so a run is stopped here when the host's work alone
    /// is as much as it may use, and else judged by the sum at its end.
    ///
    /// # Errors
    ///
    /// The host has worked more than the whole run may.
    pub(super) fn charge_units(&self, units: u64) -> Result<(), Stop> {
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
        assert_eq!(meter.clone().charge(CALL / 6), Ok(()));
        assert_eq!(meter.charged(), 2 * CALL + CALL / 6 * BYTE);
        assert_eq!(meter.charge(0), Err(Stop::OutOfFuel));
    }
}
