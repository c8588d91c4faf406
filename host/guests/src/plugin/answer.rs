//! What comes from a guest is checked before anything is done with it: by the
//! SDK for what every host refuses, and here for how long texts may be.

use plugin_sdk::environment::Outcome;
use plugin_sdk::types::{Action, Move, Part, Problem};
use plugin_sdk::workflow::{Directive, Role, Step};

use super::failure::Cause;

/// A text is bounded by `plugins.limits.text_kib`; this keeps many short ones
/// from adding up.
const PARTS: usize = 64;
/// Texts that all messages of a directive may come to.
const TEXTS_PER_DIRECTIVE: usize = 4;
/// Bytes of an answer that the expert demonstrates: policies are to say such.
const DEMONSTRATION_BYTES: usize = 64 << 10;
/// Bytes kept of a problem's text: it is for people to read.
const PROBLEM_BYTES: usize = 4096;

/// Refuses more than `most` of something.
fn at_most(what: &str, count: usize, most: usize) -> Result<(), Cause> {
    if count <= most {
        return Ok(());
    }
    Err(Cause::invalid(format!("{what} come to {count}; {most} is the most")))
}

/// Checks what a guest returns, with the limit on one text.
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

    /// A state, if the guest saved one.
    pub(super) fn saved(self, state: &Option<Vec<u8>>) -> Result<(), Cause> {
        self.check("its saved state", state.as_ref().map_or(0, Vec::len))
    }

    /// What the expert says.
    pub(super) fn demonstration(self, what: &str, text: &str) -> Result<(), Cause> {
        at_most(&format!("the bytes of {what}"), text.len(), DEMONSTRATION_BYTES)?;
        self.check(what, text.len())
    }

    /// What the expert does.
    pub(super) fn expert(self, Action { kind, text }: &Action) -> Result<(), Cause> {
        let mut texts = [kind, text].into_iter();
        texts.try_for_each(|text| self.demonstration("the expert's action", text))
    }

    /// Checks the parts of a message: texts and pictures.
    pub(super) fn parts(self, what: &str, parts: &[Part]) -> Result<(), Cause> {
        at_most(&format!("the parts of {what}"), parts.len(), PARTS)?;
        self.check(what, parts.iter().map(bytes_of).sum())
    }

    /// Checks the outcome of that many moves.
    pub(super) fn outcome(self, outcome: &Outcome, moves: usize) -> Result<(), Cause> {
        outcome.check(moves).map_err(Cause::invalid)?;
        let mut effects = outcome.effects.iter();
        effects.try_for_each(|effect| self.check("its feedback", effect.feedback.len()))
    }

    /// Checks the next step of a workflow with these roles.
    pub(super) fn step(self, step: &Step, roles: &[Role]) -> Result<(), Cause> {
        step.check(roles).map_err(Cause::invalid)?;
        match &step.directive {
            Directive::Ask(requests) => {
                let messages = || requests.iter().flat_map(|request| &request.messages);
                let bytes = messages().flat_map(|message| &message.parts).map(bytes_of).sum();
                let most = self.most().saturating_mul(TEXTS_PER_DIRECTIVE);
                at_most("the bytes of its messages", bytes, most)?;
                messages().try_for_each(|message| self.parts("a message", &message.parts))
            }
            Directive::Act(moves) => moves.iter().try_for_each(|Move { action, .. }| {
                self.check("an action's kind", action.kind.len())?;
                self.check("an action", action.text.len())
            }),
            Directive::Call(calls) => calls.iter().try_for_each(|call| {
                self.check("a tool's name", call.tool.len())?;
                self.check("a tool's arguments", call.arguments.len())
            }),
            Directive::Wait | Directive::Finish => Ok(()),
        }
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
