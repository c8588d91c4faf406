//! The time between two looks at the clocks.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Since when time is counted.
pub(super) struct Lap {
    began: Instant,
    processor: Duration,
}

impl Lap {
    /// From now on.
    pub(super) fn begin() -> Self {
        Lap { began: Instant::now(), processor: processor_time() }
    }

    /// Wall-clock and processor seconds since it began; it begins anew.
    pub(super) fn turn(&mut self) -> (f64, f64) {
        let earlier = std::mem::replace(self, Lap::begin());
        let wall = self.began.duration_since(earlier.began);
        let processor = self.processor.saturating_sub(earlier.processor);
        (wall.as_secs_f64(), processor.as_secs_f64())
    }
}

/// What all threads of this process have worked so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lap_has_what_was_worked_since_the_last() {
        let mut lap = Lap::begin();
        while lap.began.elapsed() < Duration::from_millis(30) {}
        let (wall, _) = lap.turn();
        assert!(wall >= 0.03, "{wall}");
        let work = Instant::now();
        let before = processor_time();
        while processor_time() - before < Duration::from_millis(20) {
            assert!(work.elapsed() < Duration::from_secs(60));
        }
        let (_, processor) = lap.turn();
        assert!(processor >= 0.02, "{processor}");
    }
}
