//! Three voters and a speaker, with faults in who is asked, in how answers are
//! read, and in when it ends.

use plugin_sdk::workflow::{
    Action, ActionKind, Briefing, Configuration, Configured, Description, Event, Problem, Request,
    Seat, Step, Workflow, seen_by,
};
use plugin_sdk::{Open, Setting, Settings};
use serde::{Deserialize, Serialize};

pub const SOUND: u8 = 0;
pub const NEVER_ASKS_THE_SPEAKER: u8 = 1;
pub const ASKS_UNTIL_IT_HEARS_YES: u8 = 2;
pub const GOES_ON_AFTER_THE_END: u8 = 3;
pub const TAKES_THE_FIRST_MARK: u8 = 4;
pub const ACTS_FOR_EVERY_MARK: u8 = 5;
pub const TAKES_THE_PROMPTS_EXAMPLE: u8 = 6;
pub const TAKES_THE_LAST_VOTE: u8 = 7;
pub const CLEARS_THE_SCREEN: u8 = 8;
pub const PANICS_WITH_SEVEN: u8 = 9;
pub const TAKES_THE_FIRST_WORD: u8 = 10;
pub const TAKES_THE_FIRST_VOTE: u8 = 11;
pub const ASKS_CLOSED: u8 = 12;
pub const CLOSES_BEFORE_ANYBODY_ACTS: u8 = 13;
pub const KEEPS_THE_VOTES_TO_ITSELF: u8 = 14;
pub const ACTS_ON_NOTHING: u8 = 15;

const MARK: &str = "VOTE:";

#[derive(Serialize, Deserialize)]
pub struct Panel<const FAULT: u8> {
    voters: u32,
    kind: String,
    seen: String,
    votes: Vec<String>,
    /// Answers of voters since the last action.
    voted: Open,
    is_over: bool,
}

impl<const FAULT: u8> Workflow for Panel<FAULT> {
    fn describe() -> Description {
        Description::new("panel", "1.0.0", "Three vote, one speaks.").setting(Setting::integer(
            "voters",
            "Seats of the voter.",
            3..=7,
            3,
        ))
    }

    fn configure(
        settings: &[Configured],
        _environment: &[ActionKind],
    ) -> Result<Configuration, Problem> {
        let voters = settings.integer("voters")?;
        Ok(Configuration::default()
            .seats("voter", "Votes.", voters)
            .role("speaker", "Says what was voted.")
            .words(&["say", MARK]))
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        let voters = briefing.settings.integer("voters")?;
        assert!(FAULT != PANICS_WITH_SEVEN || voters < 7, "too many voters");
        let kind = briefing.actions.first().map(|kind| kind.name.clone()).unwrap_or_default();
        let (seen, votes, voted) = (String::new(), Vec::new(), Open::default());
        Ok(Panel { voters, kind, seen, votes, voted, is_over: false })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        match event {
            Event::Begun(views) => Ok(self.ask(seen_by(&views, &Seat::new("voter")))),
            Event::Replied(reply) if reply.seat.role == "voter" => {
                if FAULT == ASKS_UNTIL_IT_HEARS_YES && !reply.text.contains("yes") {
                    return Ok(self.again(&reply.seat));
                }
                if FAULT != ASKS_CLOSED {
                    self.voted.take(&reply);
                }
                self.votes.push(self.read(reply.answer()));
                if self.votes.len() < self.voters as usize {
                    return Ok(Step::wait());
                }
                let step = self.decide();
                let closes = FAULT == CLOSES_BEFORE_ANYBODY_ACTS;
                Ok(if closes { self.voted.settle(step) } else { step })
            }
            Event::Replied(reply) => Ok(self.act(reply.answer())),
            Event::Acted(seen) if !seen.is_ongoing() && FAULT != GOES_ON_AFTER_THE_END => {
                Ok(Step::finish())
            }
            Event::Acted(seen) => {
                self.is_over = !seen.is_ongoing();
                let step = self.ask(seen.seen_by(&Seat::new("voter")));
                Ok(self.voted.settle(step))
            }
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn demonstrate(&self, _seat: &Seat, expert: &Action) -> Option<String> {
        Some(format!("{MARK} {}", expert.text))
    }
}

impl<const FAULT: u8> Panel<FAULT> {
    fn ask(&mut self, seen: String) -> Step {
        self.seen = seen;
        self.votes.clear();
        Step::ask_all((0..self.voters).map(|seat| self.voter(seat)).collect())
    }

    fn voter(&self, seat: u32) -> Request {
        let request = self.request("voter", seat).user(format!("{} say", self.seen));
        if FAULT == ASKS_CLOSED { request } else { request.open() }
    }

    /// Who is told what most of them say.
    fn speaker(&self) -> Request {
        let votes = |one: &String| self.votes.iter().filter(|other| *other == one).count();
        let most = self.votes.iter().max_by_key(|one| (votes(one), one.len()));
        let told = match (FAULT, most) {
            (KEEPS_THE_VOTES_TO_ITSELF, _) | (_, None) => String::new(),
            (_, Some(most)) => format!(" {most}"),
        };
        self.request("speaker", 0).user(format!("{} say{told}", self.seen))
    }

    fn request(&self, role: &str, seat: u32) -> Request {
        let bell = if FAULT == CLEARS_THE_SCREEN { "\u{1b}[2J" } else { "" };
        Request::new(Seat::numbered(role, seat))
            .system(format!("Say what to do, such as\n{MARK} north\nand nothing after it.{bell}"))
    }

    fn again(&self, seat: &Seat) -> Step {
        Step::ask(self.voter(seat.instance))
    }

    /// What stands behind the last mark, at the end of the answer.
    fn read(&self, text: &str) -> String {
        let line = |line: &str| line.lines().next().unwrap_or_default().trim().to_owned();
        let marked = || text.split(MARK).skip(1).map(line);
        match FAULT {
            TAKES_THE_FIRST_MARK => marked().next().unwrap_or_default(),
            TAKES_THE_PROMPTS_EXAMPLE => marked().last().unwrap_or_default(),
            TAKES_THE_FIRST_WORD => {
                text.trim_start_matches(MARK).split_whitespace().next().unwrap_or("").to_owned()
            }
            _ => {
                let last = text.trim().lines().last().unwrap_or_default();
                last.strip_prefix(MARK).unwrap_or_default().trim().to_owned()
            }
        }
    }

    fn decide(&mut self) -> Step {
        if self.is_over {
            return self.ask(self.seen.clone());
        }
        if FAULT == NEVER_ASKS_THE_SPEAKER {
            return Step::act(Seat::new("speaker"), &self.kind, &self.votes[0]);
        }
        if [TAKES_THE_LAST_VOTE, TAKES_THE_FIRST_VOTE].contains(&FAULT) {
            let vote = match FAULT {
                TAKES_THE_LAST_VOTE => self.votes.last(),
                _ => self.votes.first(),
            };
            return Step::act(Seat::new("voter"), &self.kind, vote.map_or("", String::as_str));
        }
        Step::ask(self.speaker())
    }

    fn act(&self, text: &str) -> Step {
        if FAULT == ACTS_ON_NOTHING {
            return Step::act(Seat::new("speaker"), &self.kind, "nothing");
        }
        if FAULT == ACTS_FOR_EVERY_MARK {
            let parts = text.split(MARK).skip(1);
            let moves = parts.map(|part| {
                let text = part.lines().next().unwrap_or_default().trim();
                plugin_sdk::workflow::Move::new(Seat::new("speaker"), &self.kind, text)
            });
            let moves: Vec<_> = moves.collect();
            if !moves.is_empty() {
                return Step::act_together(moves);
            }
        }
        Step::act(Seat::new("speaker"), &self.kind, &self.read(text))
    }
}
