//! What one comparison may cost, and where its random numbers come from.

use std::cell::Cell;

/// What a pair may cost: some milliseconds.
const ALLOWANCE: u64 = 6_000_000;

/// The work of one comparison.
#[derive(Debug)]
pub struct Work {
    left: Cell<u64>,
    seed: u64,
}

/// The allowance is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent;

impl Work {
    /// The work of comparing these two texts. The random numbers depend on both, so that no
    /// answer can be written with the points in mind at which it will be tried.
    pub fn comparing(gold: &str, answer: &str) -> Work {
        let hash = |text: &str, seed: u64| {
            text.bytes().fold(seed, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            })
        };
        let seed = hash(answer, hash(gold, 0xcbf2_9ce4_8422_2325) ^ 0x5bd1_e995);
        Work { left: Cell::new(ALLOWANCE), seed }
    }

    /// Spend some of the allowance.
    ///
    /// # Errors
    /// If there is not that much left.
    pub fn spend(&self, amount: u64) -> Result<(), Spent> {
        let left = self.left.get().checked_sub(amount);
        self.left.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(Spent)
    }

    /// A random number for the thing of this name and index.
    pub fn random(&self, name: &str, index: u64) -> u64 {
        let named = name.bytes().fold(self.seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let mut mixed = named ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
