//! What was seen in little, carried on.

/// A straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Where it begins.
    pub base: f64,
    /// How it rises.
    pub slope: f64,
}

impl Line {
    /// The line with the least squares of differences.
    pub fn through(points: &[(f64, f64)]) -> Self {
        let count = points.len().max(1) as f64;
        let mean = |part: fn(&(f64, f64)) -> f64| points.iter().map(part).sum::<f64>() / count;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
        let together: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
        let slope = if spread > 0.0 { together / spread } else { 0.0 };
        Line { base: y - slope * x, slope }
    }

    /// Its height at `x`.
    pub fn at(self, x: f64) -> f64 {
        self.base + self.slope * x
    }

    /// Where it reaches `height`.
    pub fn reaches(self, height: f64) -> f64 {
        (height - self.base) / self.slope
    }
}

/// Jobs a second of a station where each takes `work` seconds of one of many processors, with one
/// thread that spends `alone` seconds on each: by mean value analysis of a closed network of a
/// queue and a delay (Reiser and Lavenberg 1980).
pub fn throughput(processors: usize, work: f64, alone: f64) -> f64 {
    let (mut waiting, mut rate) = (0.0, 0.0);
    for jobs in 1..=processors {
        let at_queue = alone * (1.0 + waiting);
        rate = jobs as f64 / (work + at_queue);
        waiting = rate * at_queue;
    }
    rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_carried_on_from_what_was_seen() {
        let line = Line::through(&[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)]);
        assert_eq!((line.base, line.slope), (3.0, 2.0));
        assert_eq!((line.at(10.0), line.reaches(103.0)), (23.0, 50.0));
    }

    #[test]
    fn many_processors_are_as_fast_as_they_are_many_until_the_one_thread_is_full() {
        assert!((throughput(1, 0.9, 0.1) - 1.0).abs() < 1e-12, "one waits for nobody");
        assert!((throughput(64, 1.0, 0.0) - 64.0).abs() < 1e-9, "nothing that all wait for");
        let few = throughput(4, 0.9, 0.1);
        assert!(few > 3.5 && few < 4.0, "{few}");
        let full = throughput(64, 0.9, 0.1);
        assert!((full - 10.0).abs() < 0.01, "a thread of 0.1 s a job does ten: {full}");
    }
}
