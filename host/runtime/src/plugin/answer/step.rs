//! What a workflow wants next: only seats that it has, and not too much at once.

use plugin_sdk::types::{Action, Move, Seat};
use plugin_sdk::workflow::{Call, Credit, Directive, Request, Role, Step};

use super::super::failure::Cause;
use super::{NAME_BYTES, TextLimit, at_most, brief, bytes_of, check_worth};

const REQUESTS: usize = 64;
const MESSAGES: usize = 256;
const CREDITS: usize = 256;
const CALLS: usize = 64;
const MOVES: usize = 64;
const SITUATION_BYTES: usize = 256;
/// Texts of `plugins.limits.text_kib` that all messages of a directive may come to.
const TEXTS_PER_DIRECTIVE: usize = 4;

/// What a step is checked against.
#[derive(Clone, Copy)]
pub(in crate::plugin) struct Casting<'a> {
    pub(in crate::plugin) roles: &'a [Role],
    pub(in crate::plugin) limit: TextLimit,
}

impl Casting<'_> {
    /// Refuses a step that names other seats than the workflow's, or asks nothing of anybody.
    pub(in crate::plugin) fn check(self, Step { credits, directive }: &Step) -> Result<(), Cause> {
        at_most("the credits of a step", credits.len(), CREDITS)?;
        let mut worths = credits.iter().map(|Credit { name, value, .. }| (name, *value));
        worths.try_for_each(|(name, value)| check_worth("credit", name, value))?;
        match directive {
            Directive::Ask(requests) => self.check_requests(requests),
            Directive::Act(moves) => {
                some("acts", moves.len(), "moves", MOVES)?;
                moves.iter().try_for_each(|one| self.check_move(one))
            }
            Directive::Call(calls) => {
                some("calls", calls.len(), "calls", CALLS)?;
                calls.iter().try_for_each(|call| self.check_call(call))
            }
            Directive::Wait | Directive::Finish => Ok(()),
        }
    }

    fn check_move(self, Move { seat, action }: &Move) -> Result<(), Cause> {
        let Action { kind, text } = action;
        self.limit.check("an action's kind", kind.len())?;
        self.limit.check("an action", text.len())?;
        self.check_seat(seat)
    }

    fn check_call(self, Call { seat, tool, arguments }: &Call) -> Result<(), Cause> {
        self.limit.check("a tool's name", tool.len())?;
        self.limit.check("a tool's arguments", arguments.len())?;
        self.check_seat(seat)
    }

    fn check_requests(self, requests: &[Request]) -> Result<(), Cause> {
        some("asks", requests.len(), "requests", REQUESTS)?;
        let messages = || requests.iter().flat_map(|request| &request.messages);
        let longest = requests.iter().map(|request| request.messages.len()).max().unwrap_or(0);
        at_most("the messages of a request", longest, MESSAGES)?;
        let bytes = messages().flat_map(|message| &message.parts).map(bytes_of);
        let most = self.limit.most().saturating_mul(TEXTS_PER_DIRECTIVE);
        at_most("the bytes of its messages", bytes.sum(), most)?;
        requests.iter().try_for_each(|request| self.check_request(request))
    }

    fn check_request(self, request: &Request) -> Result<(), Cause> {
        let Request { seat, messages, tools, thread, situation, .. } = request;
        self.check_seat(seat)?;
        if messages.is_empty() {
            return Err(Cause::invalid(format!("it asks `{seat}` without a message")));
        }
        at_most("the tools of a request", tools.len(), CALLS)?;
        let longest = tools.iter().map(String::len).max().unwrap_or(0);
        at_most("the bytes of a tool's name", longest, NAME_BYTES)?;
        at_most("the bytes of a thread's name", thread.len(), NAME_BYTES)?;
        let situation = situation.as_deref().map_or(0, str::len);
        at_most("the bytes of a situation", situation, SITUATION_BYTES)?;
        messages.iter().try_for_each(|message| self.limit.parts("a message", &message.parts))
    }

    fn check_seat(self, Seat { role, instance }: &Seat) -> Result<(), Cause> {
        let known = self.roles.iter().find(|known| known.name == *role);
        let fault = match known.map(|known| known.seats) {
            Some(seats) if *instance < seats => return Ok(()),
            Some(seats) => format!("it names seat {instance} of `{role}`, which has {seats}"),
            None => format!("it names a role `{}` that it does not have", brief(role)),
        };
        Err(Cause::invalid(fault))
    }
}

/// Refuses none, and more than `most`.
fn some(does: &str, count: usize, what: &str, most: usize) -> Result<(), Cause> {
    if count == 0 {
        return Err(Cause::invalid(format!("it {does} without {what}")));
    }
    at_most(&format!("its {what}"), count, most)
}
