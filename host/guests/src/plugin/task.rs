//! Moves and awards as the record of an episode has them: actions, and rewards of the team and of
//! seats.

use plugin_sdk::environment::{Award, Outcome, Recipient};
use plugin_sdk::types::{Move, Seat};

use troupe_core::trajectory::{Action, Reward};

/// The action of a move.
pub fn action_of(Move { seat, action }: &Move) -> Action {
    Action {
        role: seat.role.clone(),
        instance: seat.instance,
        kind: action.kind.clone(),
        text: action.text.clone(),
    }
}

/// The team's reward of an outcome.
pub fn team_reward(outcome: &Outcome) -> Reward {
    let mut reward = Reward::default();
    for Award { name, value, .. } in of(outcome, |to| *to == Recipient::Team) {
        reward.team += value;
        *reward.parts.entry(name.clone()).or_default() += value;
    }
    reward
}

/// The local reward of a seat. `moves` are the indices of its moves.
pub fn seat_reward(outcome: &Outcome, seat: &Seat, moves: &[usize]) -> Reward {
    let is_paid = |to: &Recipient| match to {
        Recipient::Team => false,
        Recipient::Mover(index) => moves.contains(&(*index as usize)),
        Recipient::Seat(recipient) => recipient == seat,
    };
    let mut reward = Reward::default();
    of(outcome, is_paid).for_each(|award| reward.credit(&award.name, award.value));
    reward
}

fn of(outcome: &Outcome, is_meant: impl Fn(&Recipient) -> bool) -> impl Iterator<Item = &Award> {
    outcome.awards.iter().filter(move |award| is_meant(&award.to))
}
