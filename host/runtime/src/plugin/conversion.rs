//! Between the generated types of the contract and the SDK's, which are the
//! same words. What comes from a guest is checked here, and nowhere else:
//! lengths, counts, finite numbers, seats.

mod described;
mod outcome;
mod step;
mod told;

use plugin_sdk::types::{Action, Fault, Image, Part};

use super::bindings::troupe::plugin::types as wit;
use super::failure::Cause;

pub(super) use described::{
    environment_configuration, environment_description, interpreter_description,
    workflow_configuration, workflow_description,
};
pub(super) use outcome::outcome;
pub(super) use step::Casting;
pub(super) use told::{
    configured, to_action, to_briefing, to_event, to_kinds, to_moves, to_seat, to_task,
};

/// How much of each thing one answer may hold; a text is bounded by
/// `plugins.limits.text_kib`, and these keep many short ones from adding up.
const NAME_BYTES: usize = 64;
const PARTS: usize = 64;
/// Bytes of an answer that the expert demonstrates: policies are to say such.
const DEMONSTRATION_BYTES: usize = 64 << 10;
/// Rewards beyond this are faults, and would drown all others when averaged.
const MAX_REWARD: f64 = 1e12;
/// Bytes kept of a problem's text: it is for people to read.
const PROBLEM_BYTES: usize = 4096;

/// Refuses more than `most` of something.
pub(super) fn at_most(what: &str, count: usize, most: usize) -> Result<(), Cause> {
    if count <= most {
        return Ok(());
    }
    Err(Cause::invalid(format!("{what} come to {count}; {most} is the most")))
}

/// Checks what a guest returns against the limit on one text.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextLimit {
    pub(super) text_kib: usize,
}

impl TextLimit {
    pub(super) fn bytes(self, what: &str, bytes: &[u8]) -> Result<(), Cause> {
        if bytes.len() <= self.text_kib.saturating_mul(1 << 10) {
            return Ok(());
        }
        Err(Cause::TextTooLong { what: what.to_owned(), text_kib: self.text_kib })
    }

    pub(super) fn text(self, what: &str, text: String) -> Result<String, Cause> {
        self.bytes(what, text.as_bytes())?;
        Ok(text)
    }

    /// A state as the guest saved it, if it did.
    pub(super) fn saved(
        self,
        answer: Result<Option<Vec<u8>>, wit::Problem>,
    ) -> Result<Option<std::sync::Arc<[u8]>>, Cause> {
        let Some(bytes) = answer.map_err(|from| problem(from, self))? else { return Ok(None) };
        self.bytes("its saved state", &bytes)?;
        Ok(Some(bytes.into()))
    }

    /// What the expert says.
    pub(super) fn demonstration(self, what: &str, text: String) -> Result<String, Cause> {
        at_most(&format!("the bytes of {what}"), text.len(), DEMONSTRATION_BYTES)?;
        self.text(what, text)
    }

    /// What somebody is told: texts and pictures.
    pub(super) fn parts(self, what: &str, parts: Vec<wit::Part>) -> Result<Vec<Part>, Cause> {
        at_most(&format!("the parts of {what}"), parts.len(), PARTS)?;
        let most = self.text_kib.saturating_mul(1 << 10);
        if parts.iter().map(bytes_of).sum::<usize>() > most {
            return Err(Cause::TextTooLong { what: what.to_owned(), text_kib: self.text_kib });
        }
        Ok(parts.into_iter().map(part).collect())
    }

    fn texts<const N: usize>(self, texts: [(&str, &String); N]) -> Result<(), Cause> {
        texts.iter().try_for_each(|(what, text)| self.bytes(what, text.as_bytes()))
    }
}

fn bytes_of(part: &wit::Part) -> usize {
    match part {
        wit::Part::Text(text) => text.len(),
        wit::Part::Image(image) => image.data.len() + image.description.len(),
    }
}

fn part(from: wit::Part) -> Part {
    match from {
        wit::Part::Text(text) => Part::Text(text),
        wit::Part::Image(wit::Image { media_type, data, description }) => {
            Part::Image(Image { media_type, data, description })
        }
    }
}

/// What a guest says is wrong.
pub(super) fn problem(from: wit::Problem, limit: TextLimit) -> Cause {
    let fault = match from.fault {
        wit::Fault::Settings => Fault::Settings,
        wit::Fault::Task => Fault::Task,
        wit::Fault::State => Fault::State,
        wit::Fault::Order => Fault::Order,
        wit::Fault::Internal => Fault::Internal,
    };
    match limit.text("its problem", from.message) {
        Err(too_long) => too_long,
        Ok(text) => {
            // One line: it must not look like several messages of ours.
            let text = text[..text.floor_char_boundary(PROBLEM_BYTES)].replace(['\n', '\r'], " ");
            Cause::Problem { fault, message: text }
        }
    }
}

/// The expert's action.
pub(super) fn expert(
    answer: Result<Option<wit::Action>, wit::Problem>,
    limit: TextLimit,
) -> Result<Option<Action>, Cause> {
    let Some(action) = answer.map_err(|from| problem(from, limit))? else { return Ok(None) };
    Ok(Some(Action {
        kind: limit.demonstration("the expert's action", action.kind)?,
        text: limit.demonstration("the expert's action", action.text)?,
    }))
}

/// A reward that is a number, and no fault.
fn worth(what: &str, value: f64) -> Result<f64, Cause> {
    if value.abs() <= MAX_REWARD {
        return Ok(value);
    }
    Err(Cause::invalid(format!("{what} is {value}, not a number from -1e12 to 1e12")))
}

/// As much of a guest's text as an error message should carry.
fn brief(text: &str) -> &str {
    &text[..text.floor_char_boundary(64)]
}
