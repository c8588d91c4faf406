//! What may still be tried.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// A number of actions and an end, whichever comes first. Parts of a quota draw from it.
pub struct Quota<'w> {
    acts: usize,
    used: Cell<usize>,
    begun: Instant,
    time: Option<Duration>,
    whole: Option<&'w Quota<'w>>,
}

impl Quota<'_> {
    pub fn new(acts: usize, time: Option<Duration>) -> Self {
        Quota { acts, used: Cell::new(0), begun: Instant::now(), time, whole: None }
    }

    /// A share of the whole, from now on.
    pub fn part(&self, share: f64) -> Quota<'_> {
        let acts = (share * self.acts as f64).ceil() as usize;
        let time = self.time.map(|time| time.mul_f64(share));
        Quota { acts, used: Cell::new(0), begun: Instant::now(), time, whole: Some(self) }
    }

    /// Say that so much was tried.
    pub fn use_up(&self, acts: usize) {
        self.used.set(self.used.get() + acts);
        self.whole.into_iter().for_each(|whole| whole.use_up(acts));
    }

    /// Whether there is something left.
    pub fn is_left(&self) -> bool {
        let in_time = self.time.is_none_or(|time| self.begun.elapsed() < time);
        self.used.get() < self.acts && in_time && self.whole.is_none_or(Quota::is_left)
    }

    /// What was tried.
    pub fn used(&self) -> usize {
        self.used.get()
    }
}
