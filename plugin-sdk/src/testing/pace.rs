//! How much is looked at in the time that there is.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// What is looked at even when there is no time left.
const LEAST: usize = 6;

/// A stretch of time that is shared by what is done in it, one after the other.
pub(super) struct Pace {
    /// When all must be done; never, if there is no limit.
    end: Option<Instant>,
    /// When what is done now must be done.
    until: Cell<Option<Instant>>,
    /// After how many of its kind something was broken off.
    broken_off: Cell<Option<usize>>,
}

impl Pace {
    pub fn new(budget: Option<Duration>) -> Self {
        let end = budget.map(|budget| Instant::now() + budget);
        Pace { end, until: Cell::new(end), broken_off: Cell::default() }
    }

    /// Begin what may take one of so many equal parts of the time that is left.
    pub fn begin(&self, parts: usize) {
        let share = |end: Instant| {
            let left = end.saturating_duration_since(Instant::now());
            Instant::now() + left / u32::try_from(parts.max(1)).unwrap_or(u32::MAX)
        };
        self.until.set(self.end.map(share));
        self.broken_off.set(None);
    }

    /// Whether there is time for more after so many.
    pub fn goes_on(&self, done: usize) -> bool {
        let goes_on = done < LEAST || self.until.get().is_none_or(|until| Instant::now() < until);
        if !goes_on {
            self.broken_off.set(Some(self.broken_off.get().map_or(done, |least| least.min(done))));
        }
        goes_on
    }

    /// As many as there is time for.
    pub fn of<'p, T>(
        &'p self,
        items: impl Iterator<Item = T> + 'p,
    ) -> impl Iterator<Item = T> + 'p {
        items.enumerate().take_while(|(done, _)| self.goes_on(*done)).map(|(_, item)| item)
    }

    /// After how many it was broken off, if it was.
    pub fn broken_off(&self) -> Option<usize> {
        self.broken_off.get()
    }
}
