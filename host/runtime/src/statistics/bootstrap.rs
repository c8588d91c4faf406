//! Drawing again from what was measured.

use crate::seed::Seed;

/// The means over seeds of so many draws: as many seeds as there are, with replacement, and of
/// each as many of its tasks.
pub(super) fn resampled_means(measured: &[Vec<f64>], draws: usize, seed: Seed) -> Vec<f64> {
    (0..draws).map(|draw| resampled_mean(measured, seed.at(draw as u64))).collect()
}

fn resampled_mean(measured: &[Vec<f64>], seed: Seed) -> f64 {
    let mut stream = Stream(seed.value());
    let drawn = (0..measured.len()).map(|_| {
        let tasks = &measured[stream.index(measured.len())];
        let sum: f64 = (0..tasks.len()).map(|_| tasks[stream.index(tasks.len())]).sum();
        sum / tasks.len() as f64
    });
    drawn.sum::<f64>() / measured.len() as f64
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): millions of indices in a moment.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in `0..count`, by the high half of a product (Lemire, ACM TOMACS 29, 2019); the
    /// bias is `count` in 2⁶⁴.
    fn index(&mut self, count: usize) -> usize {
        ((u128::from(self.next()) * count as u128) >> 64) as usize
    }
}
