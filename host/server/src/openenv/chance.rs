//! Random names and numbers.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// A source of them: numbers in a row, hashed under keys that the system drew.
#[derive(Debug, Default)]
pub(super) struct Chance {
    keys: [RandomState; 2],
    next: AtomicU64,
}

impl Chance {
    /// A number of 32 bits.
    pub(super) fn number(&self) -> u32 {
        (self.draw()[0] >> 32) as u32
    }

    /// A name that cannot be guessed.
    pub(super) fn name(&self) -> String {
        let [high, low] = self.draw();
        format!("{high:016x}{low:016x}")
    }

    fn draw(&self) -> [u64; 2] {
        let count = self.next.fetch_add(1, Ordering::Relaxed);
        [self.keys[0].hash_one(count), self.keys[1].hash_one(count)]
    }
}
