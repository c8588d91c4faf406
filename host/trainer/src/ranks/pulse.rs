//! Which ranks are alive: each counts up and watches the others' counts.
//!
//! Where a rank has ended, the others' next exchange with it fails at once, but does not say of
//! whom; and one that stands still, or whose machine is gone, fails nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use troupe_process_group::Store;

use super::RanksError;

/// Between two counts.
const BEAT: Duration = Duration::from_millis(250);
/// A rank whose count has stood still for so long is why an exchange failed.
const SILENCE: Duration = Duration::from_secs(2);
/// After so long a rank will not come back, though nothing has failed yet.
const LOST: Duration = Duration::from_secs(30);

/// Has a thread of its own, as long as it is there.
#[derive(Debug)]
pub(super) struct Pulse {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    rank: usize,
    beats: Mutex<Vec<Beats>>,
    /// The server of the counts is gone.
    deaf: AtomicBool,
    ended: AtomicBool,
}

/// What is known of a rank.
#[derive(Clone, Copy, Debug)]
struct Beats {
    count: i64,
    last: Instant,
}

impl Pulse {
    /// From now on. `abandon` is called once if a rank stands still.
    pub(super) fn begin(
        store: Store,
        (rank, world): (usize, usize),
        abandon: impl FnOnce(RanksError) + Send + 'static,
    ) -> Self {
        let beats = vec![Beats { count: 0, last: Instant::now() }; world];
        let shared = Arc::new(Shared {
            rank,
            beats: Mutex::new(beats),
            deaf: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        });
        let pulse = Pulse { shared: shared.clone() };
        thread::spawn(move || {
            if let Some(lost) = shared.beat(&store)
                && !shared.ended.load(Ordering::Relaxed)
            {
                abandon(lost);
            }
        });
        pulse
    }

    /// The missing ranks, when an exchange has failed.
    pub(super) fn missing(&self) -> RanksError {
        let shared = &self.shared;
        let began = Instant::now();
        loop {
            thread::sleep(BEAT);
            let silent = shared.silent_for(SILENCE);
            let deaf = shared.deaf.load(Ordering::Relaxed);
            if !silent.is_empty() || deaf || began.elapsed() > 3 * SILENCE {
                if shared.rank == 0 {
                    // The others ask here who it is.
                    thread::sleep(SILENCE);
                }
                // The server of the counts is rank 0, or ended them all.
                return shared.lost(if silent.is_empty() && deaf { &[0] } else { &silent });
            }
        }
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    /// Count and listen until it is no longer of use; who stands still, if anybody does.
    fn beat(&self, store: &Store) -> Option<RanksError> {
        while !self.ended.load(Ordering::Relaxed) {
            let began = Instant::now();
            if self.count(store).is_none() {
                self.deaf.store(true, Ordering::Relaxed);
                return None;
            }
            let lost = self.silent_for(LOST);
            if !lost.is_empty() {
                return Some(self.lost(&lost));
            }
            thread::sleep(BEAT);
            // What was not heard while this process itself stood still says nothing.
            if began.elapsed() > 8 * BEAT {
                let now = Instant::now();
                self.beats().iter_mut().for_each(|beats| beats.last = now);
            }
        }
        None
    }

    fn count(&self, store: &Store) -> Option<()> {
        let world = self.beats().len();
        for rank in 0..world {
            let count = store.add(&format!("pulse/{rank}"), i64::from(rank == self.rank)).ok()?;
            let beats = &mut self.beats()[rank];
            if beats.count != count {
                *beats = Beats { count, last: Instant::now() };
            }
        }
        Some(())
    }

    /// Others who have not counted for so long.
    fn silent_for(&self, long: Duration) -> Vec<usize> {
        let beats = self.beats();
        let silent = |rank: &usize| *rank != self.rank && beats[*rank].last.elapsed() > long;
        (0..beats.len()).filter(silent).collect()
    }

    fn lost(&self, ranks: &[usize]) -> RanksError {
        let world = self.beats().len();
        let beats = self.beats();
        let seconds = ranks.iter().map(|rank| beats[*rank].last.elapsed().as_secs()).max();
        let named: Vec<String> = ranks.iter().map(|rank| format!("rank {rank}")).collect();
        let who = if named.is_empty() { "another rank".to_owned() } else { named.join(" and ") };
        RanksError::Lost { who, world, seconds: seconds.unwrap_or(0) }
    }

    fn beats(&self) -> MutexGuard<'_, Vec<Beats>> {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
