//! Seeds: the only source of randomness.
//!
//! A seed is derived from the run's seed and the coordinates of the draw
//! (step, task, role, turn, sample), never from a clock, a counter shared
//! between threads or the order in which work happens to finish.

use serde::{Deserialize, Serialize};

/// A 64-bit seed that can be refined by naming what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Seed(u64);

impl Seed {
    /// The root of a run.
    pub const fn new(run: u64) -> Self {
        Seed(mix(run ^ 0x7472_6f75_7065_0001))
    }

    /// The seed for one of the things counted by `index`.
    #[must_use]
    pub fn at(self, index: u64) -> Self {
        Seed(mix(self.0.rotate_left(25) ^ mix(index ^ 0x9e37_79b9_7f4a_7c15)))
    }

    /// The seed for the purpose called `name`.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        // FNV-1a keeps the value the same on every platform and Rust version.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        self.at(hash)
    }

    /// The seed as a number, for generators that take one.
    pub fn value(self) -> u64 {
        self.0
    }

    /// The seed cut to 32 bits, as the plugin contract carries it.
    pub fn value_u32(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// A number drawn uniformly from `[0, 1)`.
    pub fn unit(self) -> f64 {
        (mix(self.0) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// An index drawn uniformly from `0..count`; 0 when there is nothing to choose from.
    pub fn index(self, count: usize) -> usize {
        ((self.unit() * count as f64) as usize).min(count.saturating_sub(1))
    }

    /// Brings `items` into an order that the seed decides (Fisher and Yates).
    pub fn shuffle<T>(self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.at(last as u64).index(last + 1));
        }
    }
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_depends_on_every_coordinate_and_on_their_order() {
        let root = Seed::new(1);
        assert_eq!(root.at(2).named("planner"), Seed::new(1).at(2).named("planner"));
        assert_ne!(root.at(2).named("planner"), root.named("planner").at(2));
        assert_ne!(root.at(1), root.at(2));
        assert_ne!(Seed::new(1).at(1), Seed::new(2).at(1));
    }

    #[test]
    fn draws_are_spread_evenly_over_the_unit_interval() {
        let mean = (0..10_000).map(|i| Seed::new(7).at(i).unit()).sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.02, "mean {mean}");
        assert!((0..1000).all(|i| Seed::new(7).at(i).index(3) < 3));
        assert_eq!(Seed::new(7).index(0), 0);
    }
}
