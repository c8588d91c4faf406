//! What outcomes and steps must keep: counts, finite numbers, seats. A host
//! refuses what does not.

use crate::environment::{Award, Outcome, Recipient};
use crate::require;
use crate::types::Seat;
use crate::workflow::{Credit, Directive, Request, Role, Step};

/// Bytes of a name of an award, a tool or a thread, or of a role.
const NAME_BYTES: usize = 64;
const SITUATION_BYTES: usize = 256;
/// Awards of one outcome.
const AWARDS: usize = 64;
/// Requests, moves or calls of one directive, and tools of a request.
const ENTRIES: usize = 64;
/// Messages of one request.
const MESSAGES: usize = 256;
/// Rewards beyond this are faults, and would drown all others when averaged.
const MAX_REWARD: f64 = 1e12;

impl Outcome {
    /// What is wrong with it as the outcome of so many moves, if something is.
    pub fn check(&self, moves: usize) -> Result<(), String> {
        let effects = self.effects.len();
        require(effects == moves, || format!("{moves} moves had {effects} effects"))?;
        at_most("the awards of an outcome", self.awards.len(), AWARDS)?;
        for Award { to, name, value } in &self.awards {
            check_worth("award", name, *value)?;
            match to {
                Recipient::Team => {}
                Recipient::Mover(index) => require((*index as usize) < moves, || {
                    format!("the award `{name}` is for move {index}, but there were {moves}")
                })?,
                Recipient::Seat(seat) => {
                    at_most("the bytes of a role", seat.role.len(), NAME_BYTES)?
                }
            }
        }
        Ok(())
    }
}

impl Step {
    /// The most credits of one step: where answers are credited at the end of an episode, it
    /// is all of them.
    pub const MOST_CREDITS: usize = 4096;

    /// What is wrong with it as a step of a workflow that has these roles, if
    /// anything is: it may name no other seats, and must ask something of a seat.
    pub fn check(&self, roles: &[Role]) -> Result<(), String> {
        at_most("the credits of a step", self.credits.len(), Step::MOST_CREDITS)?;
        for Credit { name, value, .. } in &self.credits {
            check_worth("credit", name, *value)?;
        }
        let seats: Vec<&Seat> = match &self.directive {
            Directive::Ask(requests) => {
                some("asks", requests.len(), "requests")?;
                requests.iter().try_for_each(check_request)?;
                requests.iter().map(|request| &request.seat).collect()
            }
            Directive::Act(moves) => {
                some("acts", moves.len(), "moves")?;
                moves.iter().map(|one| &one.seat).collect()
            }
            Directive::Call(calls) => {
                some("calls", calls.len(), "calls")?;
                calls.iter().map(|call| &call.seat).collect()
            }
            Directive::Wait | Directive::Finish => Vec::new(),
        };
        seats.into_iter().try_for_each(|seat| check_seat(seat, roles))
    }
}

fn check_request(request: &Request) -> Result<(), String> {
    let Request { seat, messages, tools, thread, situation, .. } = request;
    require(!messages.is_empty(), || format!("it asks `{}` without a message", brief(&seat.role)))?;
    at_most("the messages of a request", messages.len(), MESSAGES)?;
    at_most("the tools of a request", tools.len(), ENTRIES)?;
    let longest = tools.iter().map(String::len).max().unwrap_or(0);
    at_most("the bytes of a tool's name", longest, NAME_BYTES)?;
    at_most("the bytes of a thread's name", thread.len(), NAME_BYTES)?;
    let situation = situation.as_deref().map_or(0, str::len);
    at_most("the bytes of a situation", situation, SITUATION_BYTES)
}

fn check_seat(Seat { role, instance }: &Seat, roles: &[Role]) -> Result<(), String> {
    match roles.iter().find(|known| known.name == *role).map(|known| known.seats) {
        Some(seats) if *instance < seats => Ok(()),
        Some(seats) => Err(format!("it names seat {instance} of `{role}`, which has {seats}")),
        None => Err(format!("it names a role `{}` that it does not have", brief(role))),
    }
}

/// A reward that is a number, and no fault.
fn check_worth(what: &str, name: &str, value: f64) -> Result<(), String> {
    at_most(&format!("the bytes of the {what}'s name"), name.len(), NAME_BYTES)?;
    require(value.abs() <= MAX_REWARD, || {
        format!("the {what} `{name}` is {value}, not a number from -1e12 to 1e12")
    })
}

/// Refuses more than `most` of something.
fn at_most(what: &str, count: usize, most: usize) -> Result<(), String> {
    require(count <= most, || format!("{what} come to {count}; {most} is the most"))
}

/// Refuses none, and too many.
fn some(does: &str, count: usize, what: &str) -> Result<(), String> {
    require(count > 0, || format!("it {does} without {what}"))?;
    at_most(&format!("its {what}"), count, ENTRIES)
}

/// As much of a text as an error message should carry.
fn brief(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES)]
}
