//! Chance that can be repeated: numbers that follow from a task alone.

use crate::types::Split;

/// A small deterministic generator (SplitMix64, <https://prng.di.unimi.it/splitmix64.c>).
///
/// It is seeded by everything that should make a difference: the split and the
/// seed of a task, and what the numbers are for. Two purposes give unrelated
/// numbers, so drawing more of one thing does not change another.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The numbers of one task for one purpose, such as `"walls"`.
    pub fn new(split: Split, seed: u32, purpose: &str) -> Self {
        let mut bytes = vec![split as u8];
        bytes.extend(seed.to_le_bytes());
        bytes.extend(purpose.bytes());
        Random { state: hash(&bytes) }
    }

    /// Sixty-four random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    /// A number below `bound`, all equally likely; 0 when `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        // The bias of this multiplication is bound / 2^64: nothing a game could show.
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// One of `items`, all equally likely; nothing when there are none.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// Bring `items` into a random order, all equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// A hash that is the same on every machine and in every version: FNV-1a with
/// SplitMix64's finalizer.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    mix(fnv(bytes))
}

/// FNV-1a of 64 bits.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, fold)
}

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_from_split_seed_and_purpose() {
        let first = |split, seed, purpose| Random::new(split, seed, purpose).bits();
        assert_eq!(first(Split::Train, 1, "a"), first(Split::Train, 1, "a"));
        assert_ne!(first(Split::Train, 1, "a"), first(Split::Test, 1, "a"));
        assert_ne!(first(Split::Train, 1, "a"), first(Split::Train, 2, "a"));
        assert_ne!(first(Split::Train, 1, "a"), first(Split::Train, 1, "b"));
    }

    /// The vectors of `docs/contract.md`, which other languages are held to.
    #[test]
    fn chance_and_splits_are_as_they_are_specified() {
        let draws = |split, seed| {
            let mut random = Random::new(split, seed, "walls");
            [random.bits(), random.bits()]
        };
        let owners = ["a", "b", "c", "d", "e", "f"].map(|name| Split::owning(name.as_bytes()));
        let shown = format!(
            "{:016x} {:016x} {:016x?} {:016x} {owners:?}",
            hash(b""),
            hash(b"troupe"),
            draws(Split::Train, 0),
            draws(Split::Test, 7)[0],
        );
        assert_eq!(
            shown,
            "f52a15e9a9b5e89b 8fa135807c3e489b \
             [57951e88f78934ef, 529b6c8585335f24] 15d16055d8f5cfe6 \
             [Split::Train, Split::Test, Split::Validation, Split::Train, Split::Train, \
             Split::Train]"
        );
    }

    #[test]
    fn numbers_stay_below_their_bound_and_reach_all_of_it() {
        let mut random = Random::new(Split::Train, 0, "test");
        let mut seen = [0; 6];
        for _ in 0..6000 {
            seen[random.below(6)] += 1;
        }
        assert!(seen.iter().all(|&count| (850..1150).contains(&count)), "{seen:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.choose::<u8>(&[]), None);
    }

    #[test]
    fn shuffling_keeps_the_items() {
        let mut items: Vec<u32> = (0..50).collect();
        Random::new(Split::Train, 0, "test").shuffle(&mut items);
        assert!(items.windows(2).any(|pair| pair[0] > pair[1]));
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
}
