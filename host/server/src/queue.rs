//! Which requests are admitted, and whose turn it is.
//!
//! A request takes a place when it arrives and keeps it until it is answered;
//! there are as many places as requests may run and wait together. Its programs
//! take turns, as many at a time as programs may run, first come
//! first served. Dropping a place or a turn gives it back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What `Semaphore::acquire_many` can count and a semaphore holds anywhere.
const MOST_PLACES: u32 = 1 << 28;

/// The queue; clones are the same queue.
#[derive(Clone)]
pub(super) struct Queue {
    state: Arc<QueueState>,
}

struct QueueState {
    jobs: usize,
    capacity: usize,
    places: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    /// Requests with a place that have had a turn.
    begun: AtomicUsize,
}

/// A request that is in.
pub(super) struct Place {
    state: Arc<QueueState>,
    begun: AtomicBool,
    _permit: OwnedSemaphorePermit,
}

/// A program that may run.
pub(super) struct Turn {
    _permit: OwnedSemaphorePermit,
    // Kept while the program runs, even if the client has left.
    _place: Arc<Place>,
}

/// How full it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Occupancy {
    /// Programs that are running.
    pub running: usize,
    /// Requests none of whose programs has had a turn yet.
    pub waiting: usize,
}

impl Queue {
    /// A queue for `jobs` programs at a time, behind which `waiting` requests
    /// may wait.
    pub(super) fn new(jobs: usize, waiting: usize) -> Self {
        let capacity = jobs.saturating_add(waiting).min(MOST_PLACES as usize);
        let state = QueueState {
            jobs,
            capacity,
            places: Arc::new(Semaphore::new(capacity)),
            turns: Arc::new(Semaphore::new(jobs)),
            begun: AtomicUsize::new(0),
        };
        Queue { state: Arc::new(state) }
    }

    /// Programs at a time.
    pub(super) fn jobs(&self) -> usize {
        self.state.jobs
    }

    /// Requests that may be in at a time.
    pub(super) fn capacity(&self) -> usize {
        self.state.capacity
    }

    /// A place, if there is one.
    pub(super) fn enter(&self) -> Option<Arc<Place>> {
        let permit = self.state.places.clone().try_acquire_owned().ok()?;
        let state = self.state.clone();
        Some(Arc::new(Place { state, begun: AtomicBool::new(false), _permit: permit }))
    }

    /// No further turns: who waits for one learns that there will be none.
    pub(super) fn close(&self) {
        self.state.turns.close();
    }

    /// Waits until no request is left.
    pub(super) async fn emptied(&self) {
        let all = self.state.capacity as u32;
        // The places are never closed, so this waits for them alone.
        let _ = self.state.places.acquire_many(all).await;
    }

    /// How full it is now.
    pub(super) fn occupancy(&self) -> Occupancy {
        let state = &*self.state;
        let inside = state.capacity - state.places.available_permits();
        Occupancy {
            running: state.jobs - state.turns.available_permits(),
            waiting: inside.saturating_sub(state.begun.load(Ordering::Relaxed)),
        }
    }
}

impl Place {
    /// A turn for one program; none if the queue is closed.
    pub(super) async fn turn(self: &Arc<Self>) -> Option<Turn> {
        let permit = self.state.turns.clone().acquire_owned().await.ok()?;
        if !self.begun.swap(true, Ordering::Relaxed) {
            self.state.begun.fetch_add(1, Ordering::Relaxed);
        }
        Some(Turn { _permit: permit, _place: self.clone() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if *self.begun.get_mut() {
            self.state.begun.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn poll<F: Future>(future: F) -> Poll<F::Output> {
        pin!(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    fn turn(place: &Arc<Place>) -> Option<Turn> {
        match poll(place.turn()) {
            Poll::Ready(turn) => turn,
            Poll::Pending => None,
        }
    }

    #[test]
    fn as_many_come_in_as_may_run_and_wait() {
        let queue = Queue::new(1, 2);
        let places: Vec<_> = (0..3).map(|_| queue.enter().unwrap()).collect();
        assert!(queue.enter().is_none());
        let running = turn(&places[0]).unwrap();
        assert!(turn(&places[1]).is_none());
        assert_eq!(queue.occupancy(), Occupancy { running: 1, waiting: 2 });
        drop(running);
        assert!(turn(&places[1]).is_some());
        drop(places);
        assert_eq!(queue.occupancy(), Occupancy { running: 0, waiting: 0 });
        assert!(queue.enter().is_some());
    }

    #[test]
    fn who_leaves_while_waiting_frees_a_place_and_who_leaves_while_running_does_not() {
        let queue = Queue::new(1, 1);
        let first = queue.enter().unwrap();
        let running = turn(&first).unwrap();
        let second = queue.enter().unwrap();
        drop(second);
        let second = queue.enter().unwrap();
        drop(first);
        assert!(queue.enter().is_none(), "the program still runs");
        drop(running);
        assert!(queue.enter().is_some());
        drop(second);
    }

    #[test]
    fn a_closed_queue_gives_no_turn_and_is_empty_when_the_last_has_left() {
        let queue = Queue::new(1, 1);
        let (first, second) = (queue.enter().unwrap(), queue.enter().unwrap());
        let running = turn(&first).unwrap();
        queue.close();
        assert!(matches!(poll(second.turn()), Poll::Ready(None)));
        drop((first, second));
        assert!(poll(queue.emptied()).is_pending());
        drop(running);
        assert!(poll(queue.emptied()).is_ready());
    }
}
