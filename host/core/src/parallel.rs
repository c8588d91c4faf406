//! Several threads at one list: each takes the next item, results keep the
//! items' order.
//!
//! The calling thread is one of them, and the only one where one is enough;
//! the others live no longer than the call.

use std::convert::Infallible;
use std::panic;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Maps items on at most `threads` threads; results are in the items' order.
pub fn in_order<T, R: Send>(
    threads: usize,
    items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator + Send>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let Ok(results) = try_in_order(threads, items, |item| Ok::<_, Infallible>(work(item)));
    results
}

/// The same with work that can fail. After a failure no more items are taken.
///
/// # Errors
/// The failure of the first item that failed, in the items' order.
pub fn try_in_order<T, R: Send, E: Send>(
    threads: usize,
    items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator + Send>,
    work: impl Fn(T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let items = items.into_iter();
    let workers = vec![(); threads.min(items.len()).max(1)];
    try_with(workers, items, |(), item| work(item))
}

/// The same with one thread for each of the workers, which it works with; the
/// calling thread has the first.
///
/// # Errors
/// As [`try_in_order`].
pub fn try_with<W: Send, T, R: Send, E: Send>(
    workers: Vec<W>,
    items: impl IntoIterator<Item = T, IntoIter: Send>,
    work: impl Fn(&mut W, T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let items = Mutex::new(items.into_iter().enumerate());
    let items = || items.lock().unwrap_or_else(PoisonError::into_inner);
    let take = || items().next();
    let run = |mut worker: W| {
        let mut results = Vec::new();
        while let Some((index, item)) = take() {
            let result = work(&mut worker, item);
            if result.is_err() {
                items().by_ref().for_each(drop);
            }
            results.push((index, result));
        }
        results
    };
    let mut workers = workers.into_iter();
    let mut results = thread::scope(|scope| {
        let first = workers.next();
        let others: Vec<_> = workers.map(|worker| scope.spawn(|| run(worker))).collect();
        let mut results = first.map(run).unwrap_or_default();
        for other in others {
            results.extend(other.join().unwrap_or_else(|cause| panic::resume_unwind(cause)));
        }
        results
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items_whoever_takes_them() {
        // Two threads go in step, so that each takes one of every two items.
        let together = Barrier::new(2);
        let work = |item: usize| {
            together.wait();
            10 * item
        };
        assert_eq!(in_order(2, 0..6, work), [0, 10, 20, 30, 40, 50]);
        assert!(in_order(2, Vec::new(), work).is_empty());
    }

    #[test]
    fn one_thread_is_the_calling_one() {
        let here = thread::current().id();
        for (threads, items) in [(0, 3), (1, 3), (8, 1)] {
            let ids = in_order(threads, 0..items, |_| thread::current().id());
            assert!(ids.iter().all(|id| *id == here), "{threads} threads, {items} items");
        }
    }

    #[test]
    fn each_thread_works_with_a_worker_of_its_own() {
        let together = Barrier::new(3);
        let work = |worker: &mut usize, _: usize| {
            together.wait();
            Ok::<_, Infallible>(*worker)
        };
        let Ok(mut workers) = try_with(vec![7, 8, 9], 0..3, work);
        workers.sort_unstable();
        assert_eq!(workers, [7, 8, 9]);
    }

    #[test]
    fn after_a_failure_no_more_items_are_taken_and_the_first_one_is_told() {
        let begun = AtomicUsize::new(0);
        let together = Barrier::new(2);
        let work = |item: usize| {
            begun.fetch_add(1, Ordering::Relaxed);
            if (3..5).contains(&item) {
                together.wait();
                return Err(item);
            }
            Ok(())
        };
        assert_eq!(try_in_order(2, 0..1000, work), Err(3));
        assert_eq!(begun.into_inner(), 5);
    }

    #[test]
    fn a_panic_of_any_thread_is_one_of_the_caller() {
        for culprit in [0, 1] {
            let together = Barrier::new(2);
            let work = |item: usize| {
                together.wait();
                assert_ne!(item, culprit, "as expected");
            };
            let caught = panic::catch_unwind(panic::AssertUnwindSafe(|| in_order(2, 0..2, work)));
            assert!(caught.is_err());
        }
    }
}
