//! What answers may be, over a policy's token ids: which may come next.
//!
//! `llguidance` does the work: it follows a grammar of bytes and finds all tokens that go on with
//! it. A token is the bytes that it is in a text, so any way to cut a text into tokens is allowed.

mod grammar;
mod spelling;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use llguidance::earley::SlicedBiasComputer;
use llguidance::toktrie::{ApproximateTokEnv, InferenceCapabilities};
use llguidance::{Matcher, ParserFactory};

use super::tokenizer::{ThoughtMarks, TokenCodec};
use crate::constraint::Constraint;
use crate::error::PolicyError;
use grammar::{Around, grammar};
use spelling::{Form, check_spelling, trie};

/// What answers may be, over a policy's token ids.
pub struct Automaton {
    /// Before an answer's first token.
    first: Matcher,
    /// After a thought.
    after_thought: Matcher,
    ends: Arc<[u32]>,
    thoughts: Option<ThoughtMarks>,
    /// Numbers of 32 bits that hold one for each token.
    width: usize,
}

/// An answer's way so far.
pub struct Walk {
    automaton: Arc<Automaton>,
    phase: Phase,
}

enum Phase {
    /// In a thought, where anything may be said.
    Thought,
    /// In the answer, before which there may still be a thought if this is the first token.
    Answer { matcher: Box<Matcher>, may_think: bool },
}

impl Automaton {
    /// For a policy with logits of `vocabulary` tokens.
    ///
    /// # Errors
    /// If the constraint makes no sense, or has texts that the policy's tokens do not spell.
    pub(crate) fn new(
        constraint: &Constraint,
        codec: &TokenCodec,
        vocabulary: usize,
    ) -> Result<Automaton, PolicyError> {
        let form = Form::of(&codec.tokenizer)?;
        check_spelling(constraint, &codec.tokenizer)?;
        let environment = Arc::new(ApproximateTokEnv::new(trie(codec, vocabulary)?)) as _;
        let slices = SlicedBiasComputer::general_slices();
        let mut factory =
            ParserFactory::new(&environment, InferenceCapabilities::default(), &slices)
                .map_err(refuse)?;
        factory.quiet();
        let matcher = |around: Around| {
            let mut matcher = Matcher::new(factory.create_parser(grammar(constraint, around)));
            matcher.compute_mask().map_err(refuse).map(|_| matcher)
        };
        Ok(Automaton {
            first: matcher(form.around_first())?,
            after_thought: matcher(form.around_later())?,
            ends: codec.ends.clone(),
            thoughts: codec.thoughts,
            width: vocabulary.div_ceil(32),
        })
    }

    /// Before the first token of an answer to `prompt`, which may have begun a thought.
    pub fn begin(self: &Arc<Self>, prompt: &[u32]) -> Walk {
        let open = self.thoughts.and_then(|marks| marks.is_open_after(prompt, &self.ends));
        let phase = match open {
            Some(true) => Phase::Thought,
            said => {
                let may_think = said.is_none() && self.begins_thought().is_some();
                Phase::Answer { matcher: Box::new(self.first.deep_clone()), may_think }
            }
        };
        Walk { automaton: self.clone(), phase }
    }

    fn begins_thought(&self) -> Option<u32> {
        self.thoughts?.begin
    }
}

impl Walk {
    /// Which tokens may come next: a bit for each, 32 in a number, the first the lowest.
    ///
    /// # Errors
    /// If none may.
    pub fn allowed(&mut self) -> Result<Vec<u32>, PolicyError> {
        let automaton = &self.automaton;
        match &mut self.phase {
            Phase::Thought => {
                let mut allowed = vec![u32::MAX; automaton.width];
                automaton.ends.iter().for_each(|&end| set(&mut allowed, end, false));
                Ok(allowed)
            }
            Phase::Answer { matcher, may_think } => {
                let found = matcher.compute_mask_or_eos().map_err(refuse)?;
                let mut allowed = Vec::from(found);
                allowed.resize(automaton.width, 0);
                if let Some(begin) = automaton.begins_thought().filter(|_| *may_think) {
                    set(&mut allowed, begin, true);
                }
                Ok(allowed)
            }
        }
    }

    /// Take the next token.
    ///
    /// # Errors
    /// If it may not come.
    pub fn push(&mut self, token: u32) -> Result<(), PolicyError> {
        let automaton = &self.automaton;
        match &mut self.phase {
            Phase::Thought => {
                if automaton.thoughts.is_some_and(|marks| token == marks.end) {
                    let matcher = Box::new(automaton.after_thought.deep_clone());
                    self.phase = Phase::Answer { matcher, may_think: false };
                }
            }
            Phase::Answer { may_think: true, .. } if automaton.begins_thought() == Some(token) => {
                self.phase = Phase::Thought;
            }
            Phase::Answer { matcher, may_think } => {
                *may_think = false;
                matcher.consume_token(token).map_err(refuse)?;
            }
        }
        Ok(())
    }
}

/// What `llguidance` says, without the state that it was in.
fn refuse(error: impl fmt::Display) -> PolicyError {
    let said = error.to_string();
    PolicyError::Allowed(match said.lines().next().unwrap_or_default() {
        "NoExtensionBias" => "the policy has no token that may come next".to_owned(),
        first => first.to_owned(),
    })
}

fn set(allowed: &mut [u32], token: u32, to: bool) {
    let (place, bit) = (token as usize / 32, 1 << (token % 32));
    if let Some(bits) = allowed.get_mut(place) {
        *bits = if to { *bits | bit } else { *bits & !bit };
    }
}

impl fmt::Debug for Automaton {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.debug_struct("Automaton").field("width", &self.width).finish_non_exhaustive()
    }
}

impl fmt::Debug for Walk {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.debug_struct("Walk").field("automaton", &self.automaton).finish_non_exhaustive()
    }
}

/// The automata of a tokenizer, each made once.
#[derive(Clone, Debug, Default)]
pub(super) struct Automata {
    known: Arc<Mutex<Vec<KnownRules>>>,
}

#[derive(Debug)]
struct KnownRules {
    constraint: Constraint,
    ends: Arc<[u32]>,
    automaton: Arc<Automaton>,
}

impl TokenCodec {
    /// What answers may be, over its token ids, for a policy with logits of `vocabulary` tokens.
    ///
    /// # Errors
    /// As [`Automaton::new`].
    pub(crate) fn automaton(
        &self,
        constraint: &Constraint,
        vocabulary: usize,
    ) -> Result<Arc<Automaton>, PolicyError> {
        // What is known is whole at any moment.
        let mut known =
            self.tokenizer.automata().known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &&KnownRules| {
            known.constraint == *constraint
                && known.ends == self.ends
                && known.automaton.width == vocabulary.div_ceil(32)
        };
        if let Some(found) = known.iter().find(is_it) {
            return Ok(found.automaton.clone());
        }
        let automaton = Arc::new(Automaton::new(constraint, self, vocabulary)?);
        let (constraint, ends) = (constraint.clone(), self.ends.clone());
        known.push(KnownRules { constraint, ends, automaton: automaton.clone() });
        Ok(automaton)
    }
}
