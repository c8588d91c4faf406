//! Another thread that does not sleep while one works.

use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::Yield;

/// Works on a worker of rayon's while another one waits for parts of that work without sleeping:
/// what lies between two products of a decoding step is shorter than waking takes. If there is
/// no other, or all are busy, nobody waits.
pub(super) fn with_another_awake<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let (own, finished) = (rayon::current_thread_index(), AtomicBool::new(false));
    let wait = || {
        // Who works may come to this, and would wait for itself.
        let is_another = rayon::current_thread_index() != own;
        while is_another && !finished.load(Ordering::Acquire) {
            if rayon::yield_now() != Some(Yield::Executed) {
                hint::spin_loop();
            }
        }
    };
    let working = || {
        let _finished = Finished(&finished);
        work()
    };
    rayon::join(working, wait).0
}

/// Says so when it goes, in a panic too.
struct Finished<'a>(&'a AtomicBool);

impl Drop for Finished<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread::{ThreadId, current};

    use rayon::ThreadPoolBuilder;

    use super::*;

    /// The threads of both halves of many joins.
    fn halves() -> Vec<(ThreadId, ThreadId)> {
        let id = || current().id();
        let meet = |_| {
            let met = AtomicBool::new(rayon::current_num_threads() == 1);
            let far = || {
                met.store(true, Ordering::Release);
                id()
            };
            let near = || {
                while !met.load(Ordering::Acquire) {
                    hint::spin_loop();
                }
                id()
            };
            rayon::join(near, far)
        };
        (0..100).map(meet).collect()
    }

    #[test]
    fn the_other_takes_part_and_one_alone_does_all_of_it() {
        for threads in [1, 2, 3] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let halves = pool.install(|| with_another_awake(halves));
            assert_eq!(halves.len(), 100);
            assert!(halves.iter().all(|(near, far)| (near != far) == (threads > 1)), "{threads}");
        }
    }

    #[test]
    fn nobody_waits_for_work_that_panics() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let ended = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| with_another_awake(|| panic!("so after {}", halves().len())));
        }));
        assert_eq!(*ended.unwrap_err().downcast::<String>().unwrap(), "so after 100");
        assert_eq!(pool.install(|| with_another_awake(halves)).len(), 100);
    }
}
