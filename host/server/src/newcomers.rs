//! Connections that have said nothing yet.
//!
//! When all places are taken, the connection silent for longest makes room, so
//! that thousands of silent connections cannot keep clients out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot::{self, Receiver, Sender};

/// Those who have said nothing yet, by their numbers; clones are the same.
#[derive(Clone, Default)]
pub(super) struct Newcomers(Arc<Mutex<BTreeMap<u64, Sender<()>>>>);

impl Newcomers {
    /// One more, of a number above all others; what it gets says `Ok` when it has to leave.
    pub(super) fn admit(&self, number: u64) -> Receiver<()> {
        let (leave, told) = oneshot::channel();
        self.lock().insert(number, leave);
        told
    }

    /// Has the longest silent one leave, if one is silent.
    pub(super) fn make_room(&self) {
        if let Some((_, leave)) = self.lock().pop_first() {
            // Whoever has left meanwhile has made room as well.
            let _ = leave.send(());
        }
    }

    /// It has spoken, or has left.
    pub(super) fn settle(&self, number: u64) {
        self.lock().remove(&number);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_been_silent_for_longest_makes_room_and_who_has_spoken_stays() {
        let newcomers = Newcomers::default();
        let [mut first, mut second, mut third] = [1, 2, 3].map(|number| newcomers.admit(number));
        newcomers.settle(1);
        newcomers.make_room();
        let has_to_leave = |told: &mut Receiver<()>| told.try_recv().is_ok();
        assert_eq!([&mut first, &mut second, &mut third].map(has_to_leave), [false, true, false]);
        newcomers.settle(3);
        newcomers.make_room();
        assert!(!has_to_leave(&mut third));
    }

    #[test]
    fn those_who_have_settled_are_forgotten() {
        let newcomers = Newcomers::default();
        let _silent = newcomers.admit(0);
        (1..10_000).for_each(|number| {
            newcomers.admit(number);
            newcomers.settle(number);
        });
        assert_eq!(newcomers.lock().len(), 1);
    }
}
