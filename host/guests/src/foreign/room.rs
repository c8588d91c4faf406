//! How many sessions there are at a time. One that waits in a state gives way, if
//! the state can be gone back to without it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::session::Session;
use super::trouble::Trouble;

/// Sessions that have to begin one after the other before there may be one more again; or as many
/// as there may be, if these are more.
const GROWTH: usize = 8;

/// Where a state keeps the session that stands in it, until it is taken.
pub(super) type Slot = Mutex<Option<Session>>;

/// Room for so many sessions: for one less whenever the server refuses one, and for one more
/// again once it has begun some.
#[derive(Clone, Debug)]
pub(super) struct Room {
    shared: Arc<(Mutex<Taken>, Condvar)>,
}

#[derive(Debug)]
struct Taken {
    /// At a time, as far as is known.
    most: usize,
    /// What `most` never exceeds.
    limit: usize,
    /// Sessions that have begun since `most` changed.
    begun: usize,
    open: usize,
    /// Sessions that wait in a state, the oldest first.
    parked: VecDeque<Weak<Slot>>,
}

/// The place of one session, free again when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    room: Room,
}

impl Room {
    pub(super) fn new(most: usize) -> Self {
        let taken = Taken { most, limit: most, begun: 0, open: 0, parked: VecDeque::new() };
        Room { shared: Arc::new((Mutex::new(taken), Condvar::new())) }
    }

    /// A session waits in this slot.
    pub(super) fn park(&self, slot: &Arc<Slot>) {
        let mut taken = self.taken();
        if taken.parked.len() >= 2 * taken.most {
            taken.parked.retain(|slot| slot.upgrade().is_some_and(|slot| is_taken(&slot)));
        }
        taken.parked.push_back(Arc::downgrade(slot));
        if let Some(session) = &mut *slot.lock().unwrap_or_else(PoisonError::into_inner) {
            session.has_waited = true;
        }
        self.shared.1.notify_all();
    }

    /// A place for one more session. Where there is none, one that waits gives its
    /// own up, if `gives_way`; else one that is being played is waited for.
    pub(super) fn place(&self, gives_way: bool, patience: Duration) -> Result<Place, Trouble> {
        let until = Instant::now() + patience;
        let mut taken = self.taken();
        loop {
            if taken.open < taken.most {
                taken.open += 1;
                return Ok(Place { room: self.clone() });
            }
            let given_up = if gives_way { taken.oldest() } else { None };
            let is_hopeless = given_up.is_none() && !gives_way && taken.waiting() >= taken.open;
            let left = until.saturating_duration_since(Instant::now());
            if is_hopeless || left.is_zero() {
                return Err(Trouble::Full(format!(
                    "all {} are taken; raise `environment.sessions` and what the server allows \
                     (max_concurrent_envs of OpenEnv's, --sessions of ours), or play fewer \
                     episodes at a time (rollout.tasks_per_step × rollout.branches)",
                    taken.most
                )));
            }
            drop(given_up);
            let waited = self.shared.1.wait_timeout(taken, left.min(Duration::from_millis(100)));
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The server has room for one session less than there are now.
    pub(super) fn shrink(&self) {
        let mut taken = self.taken();
        taken.most = taken.most.min(taken.open.saturating_sub(1)).max(1);
        taken.begun = 0;
    }

    /// A session has begun. The server may have been slow to free others when it refused one.
    pub(super) fn grow(&self) {
        let mut taken = self.taken();
        taken.begun += 1;
        if taken.most < taken.limit && taken.begun >= GROWTH.max(taken.most) {
            taken.most += 1;
            taken.begun = 0;
            self.shared.1.notify_all();
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// The session that has waited for the longest time.
    fn oldest(&mut self) -> Option<Session> {
        while let Some(slot) = self.parked.pop_front() {
            let session = slot.upgrade().and_then(|slot| taken_out(&slot));
            if session.is_some() {
                return session;
            }
        }
        None
    }

    /// Sessions that wait.
    fn waiting(&self) -> usize {
        self.parked.iter().filter_map(Weak::upgrade).filter(|slot| is_taken(slot)).count()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.taken().open -= 1;
        self.room.shared.1.notify_all();
    }
}

/// What is in a slot, which is empty afterwards.
pub(super) fn taken_out(slot: &Slot) -> Option<Session> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn is_taken(slot: &Slot) -> bool {
    slot.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places that are free at once.
    fn places(room: &Room) -> usize {
        std::iter::from_fn(|| room.place(true, Duration::ZERO).ok()).collect::<Vec<_>>().len()
    }

    #[test]
    fn room_that_was_lost_comes_back_one_by_one_and_never_exceeds_what_was_set() {
        let room = Room::new(10);
        let open: Vec<Place> = (0..10).map(|_| room.place(true, Duration::ZERO).unwrap()).collect();
        room.shrink();
        drop(open);
        assert_eq!(places(&room), 9);
        (1..9).for_each(|_| room.grow());
        assert_eq!(places(&room), 9, "as many as there is room for have to begin");
        room.grow();
        assert_eq!(places(&room), 10);
        (0..100).for_each(|_| room.grow());
        assert_eq!(places(&room), 10);
    }

    #[test]
    fn a_refusal_has_the_sessions_counted_anew() {
        let room = Room::new(4);
        room.shrink();
        assert_eq!(places(&room), 1, "one is left in any case");
        (1..GROWTH).for_each(|_| room.grow());
        room.shrink();
        (1..GROWTH).for_each(|_| room.grow());
        assert_eq!(places(&room), 1);
        room.grow();
        assert_eq!(places(&room), 2);
    }
}
