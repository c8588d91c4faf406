//! Stand-ins for the environment, the sandbox and the roles.

use std::collections::{HashSet, VecDeque};

use super::{ANSWERS, SAID, SEEN, SessionUnderTest};
use crate::Random;
use crate::random::fnv;
use crate::testing::report::{Objection, require};
use crate::types::{Action, Move, Part, Problem, Seat, Split, Status};
use crate::workflow::{
    Briefing, Call, Consequence, Credit, Directive, Event, Reply, Request, ResultOfMove, Returned,
    View,
};

/// Says how a seat would phrase a text of the expert.
pub type Phrase<'p> = &'p mut dyn FnMut(&str) -> Result<Option<String>, Problem>;

/// What is answered to a request, the answer's number given.
pub type Say<'m> = &'m dyn Fn(u32, &Request, Phrase<'_>) -> Result<String, Problem>;

/// How the roles answer and what becomes of it.
#[derive(Clone, Copy)]
pub enum Manner<'m> {
    /// Anything.
    ByChance,
    /// So, for so many answers; the limit cuts the one with this number.
    Scripted { say: Say<'m>, answers: u32, solved_at_once: bool, cut: Option<u32> },
}

/// Stand-ins for the environment, the sandbox and the roles.
pub struct Stage<'m> {
    random: Random,
    manner: Manner<'m>,
    pub briefing: Briefing,
    eyes: Vec<Option<Seat>>,
    /// Requests whose answers are due.
    pub due: VecDeque<Request>,
    asked: u32,
    pub answers: u32,
    /// Answers whose worth is still open, given or not.
    open: HashSet<u32>,
    /// Directives since the last answer.
    pub unasked: usize,
    moments: usize,
    status: Status,
}

impl<'m> Stage<'m> {
    pub fn new(seed: u32, manner: Manner<'m>, briefing: Briefing, eyes: Vec<Option<Seat>>) -> Self {
        Stage {
            random: Random::new(Split::Train, seed, "stage"),
            manner,
            briefing,
            eyes,
            due: VecDeque::new(),
            asked: 0,
            answers: 0,
            open: HashSet::new(),
            unasked: 0,
            moments: 0,
            status: Status::Ongoing,
        }
    }

    /// Whether the word was said by a stand-in.
    pub fn says(word: &str) -> bool {
        word.starts_with(SEEN) || word.starts_with(SAID)
    }

    pub fn is_over(&self) -> bool {
        self.status != Status::Ongoing
    }

    pub fn views(&mut self) -> Vec<View> {
        self.moments += 1;
        let view = |(place, seat): (usize, &Option<Seat>)| {
            let text = format!("{SEEN} {SEEN}{}-{place}", self.moments);
            View { seat: seat.clone(), parts: vec![Part::Text(text)] }
        };
        self.eyes.iter().enumerate().map(view).collect()
    }

    /// As a host does: credits are for answers that are open.
    pub fn take_credits(&mut self, credits: &[Credit]) -> Result<(), Objection> {
        for Credit { answer, is_last, .. } in credits {
            require(answer < &self.asked, || {
                format!("it credits answer {answer}, which nobody gave")
            })?;
            require(self.open.contains(answer), || {
                format!("it credits answer {answer}, which it did not ask for as open, or closed")
            })?;
            if *is_last {
                self.open.remove(answer);
            }
        }
        Ok(())
    }

    pub fn check_tool(&self, does: &str, name: &str) -> Result<(), Objection> {
        let known = self.briefing.tools.iter().any(|tool| tool.name == name);
        require(known, || format!("it {does} a tool `{name}`, which the briefing does not name"))
    }

    /// The next event; nothing when the session is over or the host would end it.
    pub fn respond(
        &mut self,
        session: &mut dyn SessionUnderTest,
        directive: Directive,
    ) -> Result<Option<Event>, Problem> {
        self.unasked += 1;
        match directive {
            Directive::Ask(requests) => {
                for request in requests {
                    if request.is_open {
                        self.open.insert(self.asked);
                    }
                    self.asked += 1;
                    self.due.push_back(request);
                }
                self.answer(session)
            }
            Directive::Wait => self.answer(session),
            Directive::Act(moves) => Ok(Some(Event::Acted(self.consequence(moves)))),
            Directive::Call(calls) => {
                let returned = calls.into_iter().map(|call| self.returned(call)).collect();
                Ok(Some(Event::Returned(returned)))
            }
            Directive::Finish => Ok(None),
        }
    }

    /// Where the roles know what they say, so do the tools.
    fn returned(&mut self, call: Call) -> Returned {
        let (succeeded, stdout) = match self.manner {
            Manner::ByChance => (self.random.below(2) == 0, SEEN.to_owned()),
            Manner::Scripted { .. } => (true, format!("{SEEN}{}", fnv(call.arguments.as_bytes()))),
        };
        let answer = format!("{{\"stdout\": \"{stdout}\"}}");
        Returned { seat: call.seat, tool: call.tool, succeeded, answer }
    }

    fn consequence(&mut self, moves: Vec<Move>) -> Consequence {
        let by_chance = matches!(self.manner, Manner::ByChance);
        // Half of the rehearsals come to a good end before the host's limit.
        let ends = match &self.manner {
            Manner::ByChance => self.moments > ANSWERS as usize / 2 && self.random.below(8) == 0,
            Manner::Scripted { solved_at_once, .. } => *solved_at_once,
        };
        if ends {
            self.status = Status::Solved;
        }
        let mut result = |Move { seat, .. }| {
            let accepted = !by_chance || self.random.below(4) > 0;
            ResultOfMove { seat, accepted, feedback: SAID.to_owned() }
        };
        let results = moves.into_iter().map(&mut result).collect();
        let revealed = self.briefing.revealed.clone();
        Consequence { results, views: self.views(), revealed, status: self.status }
    }

    /// The next answer that is due.
    fn answer(&mut self, session: &mut dyn SessionUnderTest) -> Result<Option<Event>, Problem> {
        let most = match &self.manner {
            Manner::ByChance => ANSWERS,
            Manner::Scripted { answers, .. } => *answers,
        };
        let Some(request) = self.due.pop_front().filter(|_| self.answers < most) else {
            return Ok(None);
        };
        let answer = self.answers;
        self.answers += 1;
        self.unasked = 0;
        let (text, complete) = match &self.manner {
            Manner::ByChance => self.by_chance(session, &request.seat)?,
            Manner::Scripted { say, cut, .. } => {
                let mut phrase = |text: &str| {
                    // The expert may know how to say one kind of action and not another.
                    let kinds = self.briefing.actions.iter();
                    let mut phrased = kinds.map(|kind| {
                        session.demonstrate(&request.seat, &Action::new(&kind.name, text))
                    });
                    phrased.find(|phrased| !matches!(phrased, Ok(None))).unwrap_or(Ok(None))
                };
                (say(answer, &request, &mut phrase)?, *cut != Some(answer))
            }
        };
        let Request { seat, thread, .. } = request;
        Ok(Some(Event::Replied(Reply { seat, answer, thread, text, complete })))
    }

    /// An expert's answer, an ordinary one, an empty one or one that was cut.
    fn by_chance(
        &mut self,
        session: &mut dyn SessionUnderTest,
        seat: &Seat,
    ) -> Result<(String, bool), Problem> {
        let kind = self.random.choose(&self.briefing.actions).map_or("", |kind| kind.name.as_str());
        let demonstrated = session.demonstrate(seat, &Action::new(kind, SAID))?;
        let text = match (self.random.below(4), demonstrated) {
            (0, _) => String::new(),
            (1 | 2, Some(text)) => text,
            _ => format!("{SAID} {SAID}{}", self.answers),
        };
        Ok((text, self.random.below(4) > 0))
    }
}
