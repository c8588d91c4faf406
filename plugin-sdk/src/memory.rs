//! What a role's seats are reminded of: what became of their last answers, and
//! their last turns.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::tool::{RUN, Run};
use crate::workflow::{Event, Request, ResultOfMove, Returned};

/// Before what the environment said of an answer that it refused at least a part of.
const REFUSED: &str = "It was not accepted in full: ";
/// Before what stopped a program.
const FAILED: &str = "The program failed: ";

/// What is remembered of the seats of a role, of each only its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// The last own turns that a prompt holds.
    history: usize,
    seats: BTreeMap<u32, Remembered>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Remembered {
    asked: u32,
    /// What became of the last answer, in sentences.
    became: Vec<String>,
    /// What the seat was told last; kept only where turns are.
    told: String,
    /// What it was told and what it said then, the oldest first.
    turns: VecDeque<(String, String)>,
}

impl Memory {
    /// One that keeps so many turns of each seat.
    pub fn of(history: usize) -> Self {
        Memory { history, seats: BTreeMap::new() }
    }

    /// How often the seat was asked in its conversation.
    pub fn asked(&self, instance: u32) -> u32 {
        self.seats.get(&instance).map_or(0, |seat| seat.asked)
    }

    /// What became of the seat's last answer, but for what it `sees` anyway.
    pub fn feedback(&self, instance: u32, sees: &str) -> String {
        let became = self.seats.get(&instance).map_or(&[][..], |seat| &seat.became);
        let news = became.iter().filter(|sentence| !sees.contains(bare(sentence)));
        news.map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// The request with the seat's last turns.
    pub fn remind(&self, instance: u32, request: Request) -> Request {
        let turns = self.seats.get(&instance).into_iter().flat_map(|seat| &seat.turns);
        turns.fold(request, |request, (told, said)| request.user(told).assistant(said))
    }

    /// The seat is told this.
    pub fn tell(&mut self, instance: u32, told: &str) {
        let seat = self.seats.entry(instance).or_default();
        seat.asked += 1;
        if self.history > 0 {
            told.clone_into(&mut seat.told);
        }
    }

    /// Take in what the role's seats have said and what became of it.
    pub fn note(&mut self, role: &str, event: &Event) {
        match event {
            Event::Replied(reply) if reply.seat.role == role => {
                let seat = self.seats.entry(reply.seat.instance).or_default();
                seat.became.clear();
                // A message that holds nothing is what many servers refuse.
                if self.history > 0 && !reply.answer().is_empty() {
                    let told = std::mem::take(&mut seat.told);
                    seat.turns.push_back((told, reply.answer().to_owned()));
                    let older = seat.turns.len().saturating_sub(self.history);
                    seat.turns.drain(..older);
                }
            }
            Event::Acted(seen) => {
                let own = seen.results.iter().filter(|result| result.seat.role == role);
                own.for_each(|result| self.learn(result.seat.instance, sentence(result)));
            }
            Event::Returned(returned) => {
                let failed =
                    |one: &&Returned| one.seat.role == role && one.tool == RUN && !one.succeeded;
                for one in returned.iter().filter(failed) {
                    let told = |run: Run| run.told().to_owned();
                    let why = Run::of(one).map_or_else(|problem| problem.message, told);
                    self.learn(one.seat.instance, format!("{FAILED}{why}"));
                }
            }
            Event::Begun(_) | Event::Replied(_) => {}
        }
    }

    /// The seat begins a new conversation.
    pub fn forget(&mut self, instance: u32) {
        self.seats.remove(&instance);
    }

    /// The seat's last answer came to this, too.
    pub fn learn(&mut self, instance: u32, sentence: String) {
        let became = &mut self.seats.entry(instance).or_default().became;
        // A proposal that is done afterwards is often said the same of.
        if !sentence.is_empty() && !became.contains(&sentence) {
            became.push(sentence);
        }
    }
}

fn sentence(result: &ResultOfMove) -> String {
    match (result.accepted, result.feedback.trim()) {
        (true, told) => told.to_owned(),
        (false, "") => "It was not accepted in full.".to_owned(),
        (false, told) => format!("{REFUSED}{told}"),
    }
}

/// What others said in the sentence.
fn bare(sentence: &str) -> &str {
    sentence.strip_prefix(REFUSED).unwrap_or(sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Seat, Status};
    use crate::workflow::Consequence;

    fn acted(seat: &str, accepted: bool, feedback: &str) -> Event {
        let (seat, feedback) = (Seat::new(seat), feedback.to_owned());
        let results = vec![ResultOfMove { seat, accepted, feedback }];
        let status = Status::Ongoing;
        Event::Acted(Consequence { results, views: Vec::new(), revealed: None, status })
    }

    #[test]
    fn what_became_of_a_proposal_and_of_doing_it_is_said_once_and_only_to_its_author() {
        let mut memory = Memory::of(0);
        memory.note("solver", &acted("solver", true, "Two left."));
        memory.note("solver", &acted("solver", true, "Two left."));
        memory.note("solver", &acted("verifier", false, "That is not yours."));
        assert_eq!(memory.feedback(0, ""), "Two left.");
        memory.note("solver", &acted("solver", false, "A wall."));
        assert_eq!(memory.feedback(0, "Two left."), "It was not accepted in full: A wall.");
        assert_eq!(memory.feedback(0, "A wall."), "Two left.");
        assert_eq!((memory.feedback(1, ""), memory.asked(1)), (String::new(), 0));
        memory.forget(0);
        assert_eq!(memory.feedback(0, ""), "");
    }

    #[test]
    fn what_was_not_accepted_is_told_even_if_nothing_was_said_of_it() {
        let mut memory = Memory::of(0);
        memory.note("solver", &acted("solver", true, ""));
        assert_eq!(memory.feedback(0, ""), "");
        memory.note("solver", &acted("solver", false, ""));
        assert_eq!(memory.feedback(0, ""), "It was not accepted in full.");
    }
}
