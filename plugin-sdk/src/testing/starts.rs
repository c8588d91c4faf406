//! Beginnings of tasks that were seen, and whose they are.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::types::Split;

/// Beginnings that are kept at most.
const MOST: usize = 1 << 20;

/// Beginnings of tasks that were seen. A clone knows what the other does.
#[derive(Clone, Debug, Default)]
pub struct Starts(Rc<RefCell<HashMap<u64, (Split, u32)>>>);

impl Starts {
    /// The task that was first seen to begin so.
    pub(super) fn owner(&self, state: u64, split: Split, seed: u32) -> (Split, u32) {
        let mut known = self.0.borrow_mut();
        if known.len() >= MOST && !known.contains_key(&state) {
            return (split, seed);
        }
        *known.entry(state).or_insert((split, seed))
    }

    /// How many are known.
    pub fn count(&self) -> usize {
        self.0.borrow().len()
    }
}
