//! What was run before: the same program on the same input within the same
//! limits is run once.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use sha2::{Digest, Sha256};

use troupe_core::program::{Ending, Execution, Program, RunLimits, SandboxError};

/// Bytes of output that are remembered.
const REMEMBERED_BYTES: usize = 256 << 20;
/// Runs that are remembered.
const REMEMBERED_RUNS: NonZeroUsize = NonZeroUsize::new(20_000).expect("it is not zero");

type Key = [u8; 32];
/// Locked while its run takes place, so that a second one waits for the first.
type Slot = Arc<Mutex<Option<Arc<Execution>>>>;

/// Remembers runs; the least recently used are forgotten first.
pub(super) struct Memo {
    slots: Mutex<Slots>,
}

struct Slots {
    by_key: LruCache<Key, Remembered>,
    /// The sum of what all of them count.
    bytes: usize,
    most_bytes: usize,
}

struct Remembered {
    slot: Slot,
    /// What its execution counts; nothing while it takes place.
    bytes: usize,
}

impl Memo {
    pub(super) fn new() -> Self {
        Self::of(REMEMBERED_RUNS, REMEMBERED_BYTES)
    }

    fn of(most_runs: NonZeroUsize, most_bytes: usize) -> Self {
        let by_key = LruCache::new(most_runs);
        Memo { slots: Mutex::new(Slots { by_key, bytes: 0, most_bytes }) }
    }

    /// The execution remembered, or else the one that `run` brings about.
    pub(super) fn recall(
        &self,
        program: &Program,
        stdin: &[u8],
        limits: &RunLimits,
        run: impl FnOnce() -> Result<Execution, SandboxError>,
    ) -> Result<Arc<Execution>, SandboxError> {
        let key = key(program, stdin, limits);
        let slot = lock(&self.slots).slot(key);
        let mut remembered = lock(&slot);
        if let Some(execution) = &*remembered {
            return Ok(execution.clone());
        }
        let execution = Arc::new(run()?);
        // Whether the clock stops a program is the one thing that may change.
        if execution.ending != Ending::OutOfTime {
            *remembered = Some(execution.clone());
            drop(remembered);
            lock(&self.slots).count(&key, &slot, size(&execution));
        }
        Ok(execution)
    }
}

impl Slots {
    /// The slot of a run; a new one may take the place of the oldest.
    fn slot(&mut self, key: Key) -> Slot {
        if let Some(remembered) = self.by_key.get(&key) {
            return remembered.slot.clone();
        }
        let slot = Slot::default();
        let remembered = Remembered { slot: slot.clone(), bytes: 0 };
        if let Some((_, forgotten)) = self.by_key.push(key, remembered) {
            self.bytes -= forgotten.bytes;
        }
        slot
    }

    /// Counts the execution that a slot now has, unless it was forgotten meanwhile.
    fn count(&mut self, key: &Key, slot: &Slot, bytes: usize) {
        let kept = self.by_key.peek_mut(key).filter(|kept| Arc::ptr_eq(&kept.slot, slot));
        let Some(kept) = kept else { return };
        self.bytes = self.bytes - kept.bytes + bytes;
        kept.bytes = bytes;
        while self.bytes > self.most_bytes {
            let Some((_, forgotten)) = self.by_key.pop_lru() else { return };
            self.bytes -= forgotten.bytes;
        }
    }
}

/// A panic elsewhere leaves what is remembered as it is.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn size(execution: &Execution) -> usize {
    execution.stdout.len() + execution.stderr.len() + size_of::<Execution>()
}

/// A digest of everything an execution depends on; each part with its length
/// in front, so that no two can be taken for each other.
fn key(program: &Program, stdin: &[u8], limits: &RunLimits) -> Key {
    let mut digest = Sha256::new();
    let mut add = |bytes: &[u8]| {
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    };
    add(program.language.as_bytes());
    add(&program.source);
    add(stdin);
    program.arguments.iter().for_each(|argument| add(argument.as_bytes()));
    let RunLimits { fuel, timeout_ms, memory_mib, output_bytes } = *limits;
    [fuel, timeout_ms, memory_mib, output_bytes].iter().for_each(|n| add(&n.to_le_bytes()));
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn execution(ending: Ending) -> Execution {
        let (stdout, stderr) = (b"out".to_vec(), Vec::new());
        Execution { ending, stdout, stderr, fuel: 1, memory_bytes: 1, wall: Duration::ZERO }
    }

    #[test]
    fn the_same_program_on_the_same_input_runs_once() {
        let memo = Memo::new();
        let mut runs = 0;
        let mut run = |source: &str, stdin: &[u8]| {
            let program = Program::new("python", source.as_bytes());
            memo.recall(&program, stdin, &RunLimits::default(), || {
                runs += 1;
                Ok(execution(Ending::Exited { code: 0 }))
            })
            .unwrap()
        };
        let first = run("a", b"1");
        assert_eq!(run("a", b"1"), first);
        run("a", b"2");
        run("a1", b"");
        assert_eq!(runs, 3);
    }

    /// Bytes that are counted, and those that are held.
    fn counted(memo: &Memo) -> (usize, usize) {
        let slots = lock(&memo.slots);
        let held = |kept: &Remembered| lock(&kept.slot).as_deref().map_or(0, size);
        (slots.bytes, slots.by_key.iter().map(|(_, kept)| held(kept)).sum())
    }

    /// Runs the `n`th program, unless it is remembered; says whether it is.
    fn is_remembered(memo: &Memo, n: usize) -> bool {
        let program = Program::new("python", n.to_string().into_bytes());
        let mut ran = false;
        let run = || {
            ran = true;
            Ok(execution(Ending::Exited { code: 0 }))
        };
        memo.recall(&program, b"", &RunLimits::default(), run).unwrap();
        !ran
    }

    #[test]
    fn what_is_forgotten_is_not_counted_however_much_was_run() {
        let one = size(&execution(Ending::OutOfFuel));
        let three = NonZeroUsize::new(3).unwrap();
        // More runs than there are places, and more bytes than there may be.
        for (memo, kept) in [(Memo::of(three, 10 * one), 3), (Memo::of(three, 2 * one), 2)] {
            for n in 0..100 {
                assert!(!is_remembered(&memo, n));
                let most = kept.min(n + 1) * one;
                assert_eq!(counted(&memo), (most, most), "after {n}");
            }
            assert!(is_remembered(&memo, 99) && is_remembered(&memo, 98));
            assert!(!is_remembered(&memo, 90));
        }
    }

    #[test]
    fn a_run_that_is_forgotten_while_it_takes_place_is_not_counted() {
        let memo = Memo::of(NonZeroUsize::MIN, 1 << 20);
        let program = Program::new("python", b"slow".as_slice());
        let run = || {
            assert!(!is_remembered(&memo, 1));
            Ok(execution(Ending::Exited { code: 0 }))
        };
        memo.recall(&program, b"", &RunLimits::default(), run).unwrap();
        let one = size(&execution(Ending::OutOfFuel));
        assert_eq!(counted(&memo), (one, one));
        assert!(is_remembered(&memo, 1));
    }

    #[test]
    fn a_failure_of_the_harness_and_a_time_out_are_not_remembered() {
        let memo = Memo::new();
        let program = Program::new("python", Vec::new());
        let recall = |result: Result<Execution, SandboxError>| {
            memo.recall(&program, b"", &RunLimits::default(), || result)
        };
        assert!(recall(Err(SandboxError::harness("lost"))).is_err());
        assert_eq!(recall(Ok(execution(Ending::OutOfTime))).unwrap().ending, Ending::OutOfTime);
        let ending = Ending::Exited { code: 0 };
        assert_eq!(recall(Ok(execution(ending.clone()))).unwrap().ending, ending);
    }
}
