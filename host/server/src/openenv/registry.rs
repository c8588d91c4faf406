//! All sessions: how many there may be, and those that have a name.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as Turnstile, OwnedSemaphorePermit, Semaphore};
use tokio::task::{AbortHandle, JoinError, spawn_blocking};
use tokio::time::{Instant, sleep, sleep_until};

use super::session::Session;

/// All sessions.
pub(super) struct Registry {
    places: Arc<Semaphore>,
    most: usize,
    /// Requests of one session in a second.
    rate: u32,
    named: Mutex<HashMap<String, Named>>,
}

/// A session that is found by its name.
struct Named {
    session: Arc<Seated>,
    /// What ends it when it is idle.
    watch: AbortHandle,
}

/// A session that has a place, for as long as anybody works with it.
pub(super) struct Seated {
    session: Arc<Turnstile<Session>>,
    pace: Mutex<Pace>,
    rate: u32,
    is_attached: AtomicBool,
    _place: OwnedSemaphorePermit,
}

/// A session that a socket has, for as long as it has it.
pub(super) struct Attached {
    session: Arc<Seated>,
}

/// When requests came.
struct Pace {
    last: Instant,
    /// When the requests so far would have come, had they kept to the rate.
    due: Instant,
}

impl Registry {
    /// One for so many sessions at a time.
    pub(super) fn new(most: usize, rate: u32) -> Self {
        let most = most.min(Semaphore::MAX_PERMITS);
        let places = Arc::new(Semaphore::new(most));
        Registry { places, most, rate, named: Mutex::default() }
    }

    /// One with names of its own, whose sessions take the same places.
    pub(super) fn beside(&self) -> Self {
        let Registry { places, most, rate, .. } = self;
        Registry { places: places.clone(), most: *most, rate: *rate, named: Mutex::default() }
    }

    /// Sessions that there are.
    pub(super) fn active(&self) -> usize {
        self.most - self.places.available_permits()
    }

    /// Sessions that there may be.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// A new session, if there is a place.
    pub(super) fn enter(&self) -> Option<Arc<Seated>> {
        let place = self.places.clone().try_acquire_owned().ok()?;
        let now = Instant::now();
        Some(Arc::new(Seated {
            session: Arc::default(),
            pace: Mutex::new(Pace { last: now, due: now }),
            rate: self.rate,
            is_attached: AtomicBool::new(false),
            _place: place,
        }))
    }

    /// Has a session found by a name from now on, until it was idle for so long.
    pub(super) fn name(self: &Arc<Self>, name: String, session: Arc<Seated>, idle: Duration) {
        let mut named = self.lock();
        let watch = tokio::spawn(end_when_idle(Arc::downgrade(self), name.clone(), idle));
        named.insert(name, Named { session, watch: watch.abort_handle() });
    }

    /// The session of this name.
    pub(super) fn find(&self, name: &str) -> Option<Arc<Seated>> {
        self.lock().get(name).map(|named| named.session.clone())
    }

    /// Ends the session of this name, if there is one.
    pub(super) fn end(&self, name: &str) -> bool {
        let ended = self.lock().remove(name);
        ended.inspect(|named| named.watch.abort()).is_some()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Named>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn end_when_idle(registry: std::sync::Weak<Registry>, name: String, idle: Duration) {
    loop {
        let Some(session) = registry.upgrade().and_then(|registry| registry.find(&name)) else {
            return;
        };
        let is_attached = session.is_attached.load(Ordering::Relaxed);
        let since = if is_attached { Instant::now() } else { session.last_request() };
        drop(session);
        if since.elapsed() >= idle {
            if let Some(registry) = registry.upgrade() {
                registry.end(&name);
            }
            return;
        }
        sleep_until(since + idle).await;
    }
}

impl Seated {
    /// Gives the session to a socket, if none has it.
    pub(super) fn attach(self: Arc<Self>) -> Option<Attached> {
        let is_free = !self.is_attached.swap(true, Ordering::Relaxed);
        is_free.then(|| Attached { session: self })
    }

    /// When the last request came.
    pub(super) fn last_request(&self) -> Instant {
        self.pace().last
    }

    /// Has the session do something, on a worker, as soon as its rate allows it and
    /// it does nothing else.
    pub(super) async fn work<R: Send + 'static>(
        self: Arc<Self>,
        work: impl FnOnce(&mut Session) -> R + Send + 'static,
    ) -> Result<R, JoinError> {
        sleep(self.wait()).await;
        let mut session = self.session.clone().lock_owned().await;
        let done = spawn_blocking(move || {
            let result = work(&mut session);
            drop(session);
            // Only now is the place free, even if the client has left.
            drop(self);
            result
        });
        done.await
    }

    /// How long the next request has to wait; a second's worth may come at once.
    fn wait(&self) -> Duration {
        let mut pace = self.pace();
        let now = Instant::now();
        pace.last = now;
        pace.due = pace.due.max(now) + Duration::from_secs(1) / self.rate.max(1);
        pace.due.saturating_duration_since(now + Duration::from_secs(1))
    }

    fn pace(&self) -> std::sync::MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attached {
    /// The session.
    pub(super) fn session(&self) -> Arc<Seated> {
        self.session.clone()
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.session.is_attached.store(false, Ordering::Relaxed);
        self.session.pace().last = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Builder;
    use tokio::task::yield_now;

    use super::*;

    #[test]
    fn there_are_as_many_sessions_as_there_are_places() {
        let registry = Registry::new(2, 1);
        let first = registry.enter().unwrap();
        let _second = registry.enter().unwrap();
        assert!(registry.enter().is_none());
        drop(first);
        assert_eq!((registry.active(), registry.most()), (1, 2));
        assert!(registry.enter().is_some());
    }

    #[test]
    fn registries_side_by_side_share_their_places_and_not_their_names() {
        // Who names a session has it watched.
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let _within = runtime.enter();
        let here = Arc::new(Registry::new(2, 1));
        let there = Arc::new(here.beside());
        let session = here.enter().unwrap();
        here.name("a".to_owned(), session, Duration::from_secs(60));
        assert!(here.find("a").is_some() && there.find("a").is_none());
        assert!(!there.end("a"));
        let _second = there.enter().unwrap();
        assert!(here.enter().is_none() && there.enter().is_none());
        assert_eq!((here.active(), there.active(), there.most()), (2, 2, 2));
        assert!(here.end("a"));
    }

    #[test]
    fn nobody_watches_a_session_any_more_that_was_closed() {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let registry = Arc::new(Registry::new(1, 1));
            let session = registry.enter().unwrap();
            registry.name("a".to_owned(), session, Duration::from_secs(60));
            let watch = registry.lock()["a"].watch.clone();
            yield_now().await;
            assert!(!watch.is_finished());
            assert!(registry.end("a"));
            for _ in 0..8 {
                yield_now().await;
            }
            assert!(watch.is_finished());
        });
    }

    #[test]
    fn a_seconds_worth_of_requests_comes_at_once_and_the_next_wait() {
        let registry = Registry::new(1, 4);
        let session = registry.enter().unwrap();
        let waits: Vec<Duration> = (0..6).map(|_| session.wait()).collect();
        assert_eq!(waits[..4], [Duration::ZERO; 4]);
        assert!(waits[4] > Duration::from_millis(200) && waits[5] > waits[4], "{waits:?}");
    }

    #[test]
    fn a_session_has_one_socket_at_a_time() {
        let registry = Registry::new(1, 1);
        let session = registry.enter().unwrap();
        let attached = session.clone().attach().unwrap();
        assert!(session.clone().attach().is_none());
        drop(attached);
        assert!(session.attach().is_some());
    }
}
