//! Proposals: plans that are scored without being carried out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::types::Seat;

/// What each seat's last proposal was worth, and has been paid for.
///
/// What a seat's proposals earn in an episode adds up to the worth of its last
/// one, so they earn by being good, not by being many; and only who proposes is
/// paid or charged for it.
///
/// ```
/// use plugin_sdk::{Proposals, Seat};
///
/// let (mut proposals, seat) = (Proposals::default(), Seat::new("planner"));
/// let paid = [0.5, 1.0, 1.0, 0.25].map(|worth| proposals.pay(&seat, worth));
/// assert_eq!(paid, [0.5, 0.5, 0.0, -0.75]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Proposals(BTreeMap<(String, u32), f64>);

impl Proposals {
    /// What the seat is paid for a proposal of this worth: the difference to its
    /// last one, whatever happened in between.
    pub fn pay(&mut self, seat: &Seat, worth: f64) -> f64 {
        let before = self.0.insert((seat.role.clone(), seat.instance), worth);
        worth - before.unwrap_or(0.0)
    }
}
