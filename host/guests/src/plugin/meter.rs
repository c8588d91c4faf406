//! What the instances of a component have done together, to tell what a run cost.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the work of a component's instances.
#[derive(Debug, Default)]
pub struct Meter {
    acts: AtomicU64,
    fuel: AtomicU64,
}

/// Work that was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Calls of `act`; where a state is restored by replaying moves, those too.
    pub acts: u64,
    /// Fuel of all calls. It may differ a little from run to run: an instance that is used again
    /// finds its memory as the episode before it left it.
    pub fuel: u64,
}

impl Meter {
    /// A call took so much fuel.
    pub(crate) fn count(&self, function: &str, fuel: u64) {
        if function == "act" {
            self.acts.fetch_add(1, Ordering::Relaxed);
        }
        self.fuel.fetch_add(fuel, Ordering::Relaxed);
    }

    /// The work so far.
    pub fn read(&self) -> Work {
        Work { acts: self.acts.load(Ordering::Relaxed), fuel: self.fuel.load(Ordering::Relaxed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_costs_fuel_and_only_an_act_is_one() {
        let meter = Meter::default();
        meter.count("start", 5);
        meter.count("act", 7);
        assert_eq!(meter.read(), Work { acts: 1, fuel: 12 });
    }
}
