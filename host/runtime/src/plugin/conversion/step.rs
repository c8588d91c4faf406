//! What a workflow wants next: only seats that it has, and not too much at once.

use plugin_sdk::types::{Action, Move, Seat};
use plugin_sdk::workflow::{Author, Call, Credit, Directive, Message, Request, Role, Step};

use super::super::bindings::exports::troupe::plugin::workflow as flow;
use super::super::failure::Cause;
use super::{NAME_BYTES, TextLimit, at_most, brief, bytes_of, problem, wit, worth};

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
    /// A step that names only seats of the workflow and asks something of somebody.
    pub(in crate::plugin) fn step(
        self,
        answer: Result<flow::Step, wit::Problem>,
    ) -> Result<Step, Cause> {
        let from = answer.map_err(|from| problem(from, self.limit))?;
        at_most("the credits of a step", from.credits.len(), CREDITS)?;
        let credit = |flow::Credit { answer, name, value, is_last }| {
            at_most("the bytes of a credit's name", name.len(), NAME_BYTES)?;
            let value = worth(&format!("the credit `{}`", brief(&name)), value)?;
            Ok(Credit { answer, name, value, is_last })
        };
        Ok(Step {
            credits: from.credits.into_iter().map(credit).collect::<Result<_, Cause>>()?,
            directive: self.directive(from.directive)?,
        })
    }

    fn directive(self, from: flow::Directive) -> Result<Directive, Cause> {
        Ok(match from {
            flow::Directive::Ask(requests) => Directive::Ask(self.ask(requests)?),
            flow::Directive::Act(moves) => {
                some("acts", moves.len(), "moves", MOVES)?;
                let one = |one| self.one_move(one);
                Directive::Act(moves.into_iter().map(one).collect::<Result<_, Cause>>()?)
            }
            flow::Directive::Call(calls) => {
                some("calls", calls.len(), "calls", CALLS)?;
                let call = |call| self.call(call);
                Directive::Call(calls.into_iter().map(call).collect::<Result<_, Cause>>()?)
            }
            flow::Directive::Wait => Directive::Wait,
            flow::Directive::Finish => Directive::Finish,
        })
    }

    fn one_move(self, wit::Move { seat, action }: wit::Move) -> Result<Move, Cause> {
        let wit::Action { kind, text } = action;
        self.limit.texts([("an action's kind", &kind), ("an action", &text)])?;
        Ok(Move { seat: self.seat(seat)?, action: Action { kind, text } })
    }

    fn call(self, flow::Call { seat, tool, arguments }: flow::Call) -> Result<Call, Cause> {
        self.limit.texts([("a tool's name", &tool), ("a tool's arguments", &arguments)])?;
        Ok(Call { seat: self.seat(seat)?, tool, arguments })
    }

    fn ask(self, from: Vec<flow::Request>) -> Result<Vec<Request>, Cause> {
        some("asks", from.len(), "requests", REQUESTS)?;
        let messages = || from.iter().flat_map(|request| &request.messages);
        let longest = from.iter().map(|request| request.messages.len()).max().unwrap_or(0);
        at_most("the messages of a request", longest, MESSAGES)?;
        let bytes = messages().flat_map(|message| &message.parts).map(bytes_of);
        let most = TEXTS_PER_DIRECTIVE * self.limit.text_kib.saturating_mul(1 << 10);
        at_most("the bytes of its messages", bytes.sum(), most)?;
        from.into_iter().map(|from| self.request(from)).collect()
    }

    fn request(self, from: flow::Request) -> Result<Request, Cause> {
        let seat = self.seat(from.seat)?;
        if from.messages.is_empty() {
            return Err(Cause::invalid(format!("it asks `{seat}` without a message")));
        }
        at_most("the tools of a request", from.tools.len(), CALLS)?;
        let longest = from.tools.iter().map(String::len).max().unwrap_or(0);
        at_most("the bytes of a tool's name", longest, NAME_BYTES)?;
        at_most("the bytes of a thread's name", from.thread.len(), NAME_BYTES)?;
        let situation = from.situation.as_deref().map_or(0, str::len);
        at_most("the bytes of a situation", situation, SITUATION_BYTES)?;
        let message = |message: flow::Message| {
            let author = match message.author {
                flow::Author::System => Author::System,
                flow::Author::User => Author::User,
                flow::Author::Assistant => Author::Assistant,
                flow::Author::Tool => Author::Tool,
            };
            Ok(Message { author, parts: self.limit.parts("a message", message.parts)? })
        };
        Ok(Request {
            seat,
            messages: from.messages.into_iter().map(message).collect::<Result<_, Cause>>()?,
            tools: from.tools,
            thread: from.thread,
            caller: from.caller,
            is_open: from.is_open,
            situation: from.situation,
        })
    }

    fn seat(self, from: wit::Seat) -> Result<Seat, Cause> {
        let wit::Seat { role, instance } = from;
        match self.roles.iter().find(|known| known.name == role) {
            Some(known) if instance < known.seats => Ok(Seat { role, instance }),
            Some(known) => Err(Cause::invalid(format!(
                "it names seat {instance} of `{role}`, which has {}",
                known.seats
            ))),
            None => Err(Cause::invalid(format!(
                "it names a role `{}` that it does not have",
                brief(&role)
            ))),
        }
    }
}

/// Refuses none, and more than `most`.
fn some(does: &str, count: usize, what: &str, most: usize) -> Result<(), Cause> {
    if count == 0 {
        return Err(Cause::invalid(format!("it {does} without {what}")));
    }
    at_most(&format!("its {what}"), count, most)
}
