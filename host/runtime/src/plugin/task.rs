//! What an answer is told to be worth, of what moves led to.

use plugin_sdk::environment::{Award, Outcome, Recipient};
use plugin_sdk::types::Seat;

use crate::trajectory::Reward;

/// The part of an outcome that is for a seat, whose moves have these places.
pub fn reward_of(outcome: &Outcome, seat: &Seat, moves: &[usize]) -> Reward {
    let mut reward = Reward::default();
    for Award { to, name, value } in &outcome.awards {
        let share = match to {
            Recipient::Team => &mut reward.team,
            Recipient::Mover(index) if moves.contains(&(*index as usize)) => &mut reward.local,
            Recipient::Seat(whose) if whose == seat => &mut reward.local,
            Recipient::Mover(_) | Recipient::Seat(_) => continue,
        };
        *share += value;
        *reward.parts.entry(name.clone()).or_default() += value;
    }
    reward
}
