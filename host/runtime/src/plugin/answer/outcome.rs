//! What moves led to.

use plugin_sdk::environment::{Award, Outcome, Recipient};

use super::super::failure::Cause;
use super::{NAME_BYTES, TextLimit, at_most, check_worth};

/// Awards of one outcome.
const AWARDS: usize = 64;

/// Checks what so many moves led to.
pub(in crate::plugin) fn check_outcome(
    outcome: &Outcome,
    moves: usize,
    limit: TextLimit,
) -> Result<(), Cause> {
    let Outcome { effects, awards, .. } = outcome;
    if effects.len() != moves {
        let effects = effects.len();
        return Err(Cause::invalid(format!("{moves} moves had {effects} effects")));
    }
    at_most("the awards of an outcome", awards.len(), AWARDS)?;
    effects.iter().try_for_each(|effect| limit.check("its feedback", effect.feedback.len()))?;
    awards.iter().try_for_each(|award| check_award(award, moves))
}

fn check_award(Award { to, name, value }: &Award, moves: usize) -> Result<(), Cause> {
    check_worth("award", name, *value)?;
    match to {
        Recipient::Mover(index) if *index as usize >= moves => Err(Cause::invalid(format!(
            "an award is for move {index}, but there were {moves}"
        ))),
        Recipient::Team | Recipient::Mover(_) => Ok(()),
        Recipient::Seat(seat) => at_most("the bytes of a role", seat.role.len(), NAME_BYTES),
    }
}
