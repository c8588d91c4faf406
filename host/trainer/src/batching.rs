//! Cutting work into batches of about the same size.
//!
//! The cut depends on the work alone, never on the machine, and batches are
//! computed independently of each other: that is how results come out the
//! same on any number of threads.

use std::ops::Range;

/// Cut `sizes`, sorted from large to small, into runs that go through the
/// model together. A run costs its length times its first size, as the others
/// are padded to it; that stays within `limit`, unless one item alone exceeds
/// it. When there are several runs, they are made an even number of about
/// equal runs, so that the common numbers of cores are all kept busy.
pub(super) fn cut_evenly(sizes: &[usize], limit: usize) -> Vec<Range<usize>> {
    let total: usize = sizes.iter().sum();
    let count = match total.div_ceil(limit.max(1)) {
        0 | 1 => 1,
        more => more.next_multiple_of(2),
    };
    let mut runs: Vec<Range<usize>> = Vec::new();
    let (mut start, mut taken, mut share) = (0, 0, 1);
    for (index, size) in sizes.iter().enumerate() {
        let full = (index + 1 - start) * sizes[start] > limit;
        let even = taken * count >= share * total;
        if index > start && (full || even) {
            runs.push(start..index);
            start = index;
            share = taken * count / total.max(1) + 1;
        }
        taken += size;
    }
    if start < sizes.len() {
        runs.push(start..sizes.len());
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_even_in_number_and_size() {
        assert_eq!(cut_evenly(&[10; 12], 120).len(), 1);
        assert_eq!(cut_evenly(&[10; 12], 119), [0..6, 6..12]);
        assert_eq!(cut_evenly(&[10; 12], 50), [0..3, 3..6, 6..9, 9..12]);
        assert!(cut_evenly(&[], 50).is_empty());
    }

    #[test]
    fn padding_counts_and_a_large_item_is_alone() {
        assert_eq!(cut_evenly(&[100, 9, 9, 9], 50), [0..1, 1..4]);
        let sizes: Vec<usize> = (1..60).rev().collect();
        let runs = cut_evenly(&sizes, 200);
        assert!(runs.iter().all(|run| run.len() * sizes[run.start] <= 200));
        assert_eq!(runs.iter().map(ExactSizeIterator::len).sum::<usize>(), sizes.len());
    }
}
