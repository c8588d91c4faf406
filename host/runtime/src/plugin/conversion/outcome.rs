//! What moves led to.

use plugin_sdk::environment::{Award, Effect, Outcome, Recipient};
use plugin_sdk::types::{Seat, Status};

use super::super::bindings::exports::troupe::plugin::environment as env;
use super::super::failure::Cause;
use super::{NAME_BYTES, TextLimit, at_most, brief, wit, worth};

/// Awards of one outcome.
const AWARDS: usize = 64;

/// What so many moves led to.
pub(in crate::plugin) fn outcome(
    from: env::Outcome,
    moves: usize,
    limit: TextLimit,
) -> Result<Outcome, Cause> {
    if from.effects.len() != moves {
        let effects = from.effects.len();
        return Err(Cause::invalid(format!("{moves} moves had {effects} effects")));
    }
    at_most("the awards of an outcome", from.awards.len(), AWARDS)?;
    let effect = |env::Effect { accepted, feedback }| {
        Ok(Effect { accepted, feedback: limit.text("its feedback", feedback)? })
    };
    let award = |from| award(from, moves);
    Ok(Outcome {
        effects: from.effects.into_iter().map(effect).collect::<Result<_, Cause>>()?,
        awards: from.awards.into_iter().map(award).collect::<Result<_, Cause>>()?,
        status: match from.status {
            wit::Status::Ongoing => Status::Ongoing,
            wit::Status::Solved => Status::Solved,
            wit::Status::Failed => Status::Failed,
        },
    })
}

fn award(env::Award { to, name, value }: env::Award, moves: usize) -> Result<Award, Cause> {
    at_most("the bytes of an award's name", name.len(), NAME_BYTES)?;
    let value = worth(&format!("the award `{}`", brief(&name)), value)?;
    let to = match to {
        env::Recipient::Team => Recipient::Team,
        env::Recipient::Mover(index) if (index as usize) < moves => Recipient::Mover(index),
        env::Recipient::Mover(index) => {
            return Err(Cause::invalid(format!(
                "an award is for move {index}, but there were {moves}"
            )));
        }
        env::Recipient::Seat(from) => {
            at_most("the bytes of a role", from.role.len(), NAME_BYTES)?;
            Recipient::Seat(Seat { role: from.role, instance: from.instance })
        }
    };
    Ok(Award { to, name, value })
}
