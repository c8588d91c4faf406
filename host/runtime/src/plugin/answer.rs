//! What comes from a guest is checked here, and nowhere else: lengths, counts,
//! finite numbers, seats.

mod outcome;
mod step;

use plugin_sdk::types::{Action, Part, Problem};

use super::failure::Cause;

pub(super) use outcome::check_outcome;
pub(super) use step::Casting;

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
fn at_most(what: &str, count: usize, most: usize) -> Result<(), Cause> {
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
    fn most(self) -> usize {
        self.text_kib.saturating_mul(1 << 10)
    }

    pub(super) fn check(self, what: &str, bytes: usize) -> Result<(), Cause> {
        if bytes <= self.most() {
            return Ok(());
        }
        Err(Cause::TextTooLong { what: what.to_owned(), text_kib: self.text_kib })
    }

    /// What the expert says.
    pub(super) fn demonstration(self, what: &str, text: &str) -> Result<(), Cause> {
        at_most(&format!("the bytes of {what}"), text.len(), DEMONSTRATION_BYTES)?;
        self.check(what, text.len())
    }

    /// A state, if the guest saved one.
    pub(super) fn saved(self, state: &Option<Vec<u8>>) -> Result<(), Cause> {
        self.check("its saved state", state.as_ref().map_or(0, Vec::len))
    }

    /// What the expert does.
    pub(super) fn expert(self, Action { kind, text }: &Action) -> Result<(), Cause> {
        [kind, text].into_iter().try_for_each(|text| self.demonstration("the expert's action", text))
    }

    /// What somebody is told: texts and pictures.
    pub(super) fn parts(self, what: &str, parts: &[Part]) -> Result<(), Cause> {
        at_most(&format!("the parts of {what}"), parts.len(), PARTS)?;
        self.check(what, parts.iter().map(bytes_of).sum())
    }

    /// What the guest says is wrong.
    pub(super) fn problem(self, Problem { fault, message }: Problem) -> Cause {
        if let Err(too_long) = self.check("its problem", message.len()) {
            return too_long;
        }
        // One line: it must not look like several messages of ours.
        let message = &message[..message.floor_char_boundary(PROBLEM_BYTES)];
        Cause::Problem { fault, message: message.replace(['\n', '\r'], " ") }
    }
}

fn bytes_of(part: &Part) -> usize {
    match part {
        Part::Text(text) => text.len(),
        Part::Image(image) => image.data.len() + image.description.len(),
    }
}

/// Refuses what is no number, or too large to be meant.
fn check_worth(what: &str, name: &str, value: f64) -> Result<(), Cause> {
    at_most(&format!("the bytes of the {what}'s name"), name.len(), NAME_BYTES)?;
    if value.abs() <= MAX_REWARD {
        return Ok(());
    }
    Err(Cause::invalid(format!("the {what} `{name}` is {value}, not a number from -1e12 to 1e12")))
}

/// As much of a guest's text as an error message should carry.
pub(super) fn brief(text: &str) -> &str {
    &text[..text.floor_char_boundary(64)]
}
