//! Workflows: who speaks when, what they are told, and what becomes of their
//! answers.

pub use crate::bindings::contract::workflow::{
    Author, Briefing, Call, Configuration, Consequence, Credit, Description, Directive, Event,
    Message, Reply, Request, ResultOfMove, Returned, Role, Step, Tool, View,
};
pub use crate::types::{Action, ActionKind, Configured, Move, Part, Problem, Seat, Status};

use serde::{Serialize, de::DeserializeOwned};

use crate::state;
use crate::types::{Image, Needs, Setting, text_of};

/// A state machine beside one episode: the host reports an event, the session
/// answers with a step. All that it remembers is in the type, which is saved and
/// resumed as serde has it.
pub trait Workflow: Serialize + DeserializeOwned {
    /// Whether a panic is written to the run's log before it ends the call, so
    /// that the host can say why the plugin crashed. The component then imports
    /// `log`; by default it imports nothing that can be called.
    const LOG_PANICS: bool = false;

    /// Say what this workflow is.
    fn describe() -> Description;

    /// Check settings and whether the environment's actions suit, before
    /// anything else is called with them, and say what follows: the roles, and
    /// every word it adds to user messages and demonstrated answers.
    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem>;

    /// Take the seats. The first event is [`Event::Begun`].
    fn start(briefing: &Briefing) -> Result<Self, Problem>;

    /// Take in what happened and say what to do next.
    fn advance(&mut self, event: Event) -> Result<Step, Problem>;

    /// How the seat, which has just been asked, would phrase the expert's
    /// action; nothing, as by default, if it would not speak to it.
    fn demonstrate(&self, _seat: &Seat, _expert: &Action) -> Option<String> {
        None
    }

    /// Everything [`resume`](Workflow::resume) needs: by default the whole
    /// type, by [`state::save`]. Nothing, where it cannot be saved: the host
    /// replays the events instead, which is slower.
    fn save(&self) -> Option<Vec<u8>> {
        state::save(self)
    }

    /// Go on from a saved state.
    fn resume(state: &[u8]) -> Result<Self, Problem> {
        Ok(state::load(state)?)
    }
}

impl Description {
    /// A description without settings and actions.
    pub fn new(name: &str, version: &str, summary: &str) -> Self {
        Description {
            name: name.to_owned(),
            version: version.to_owned(),
            summary: summary.to_owned(),
            settings: Vec::new(),
            actions: Vec::new(),
            needs: Needs::NOTHING,
            extras: Vec::new(),
        }
    }

    /// Accept one more setting.
    #[must_use]
    pub fn setting(mut self, setting: Setting) -> Self {
        self.settings.push(setting);
        self
    }

    /// Send one more kind of action.
    #[must_use]
    pub fn action(mut self, kind: &str) -> Self {
        self.actions.push(kind.to_owned());
        self
    }
}

/// No roles and no words.
impl Default for Configuration {
    fn default() -> Self {
        Configuration { roles: Vec::new(), vocabulary: Vec::new(), extras: Vec::new() }
    }
}

impl Configuration {
    /// Have one more role, with one seat.
    #[must_use]
    pub fn role(self, name: &str, summary: &str) -> Self {
        self.seats(name, summary, 1)
    }

    /// Have one more role, with so many seats.
    #[must_use]
    pub fn seats(mut self, name: &str, summary: &str, seats: u32) -> Self {
        let (name, summary) = (name.to_owned(), summary.to_owned());
        self.roles.push(Role { name, summary, seats });
        self
    }

    /// Add these words to user messages and demonstrated answers, if they are new.
    #[must_use]
    pub fn words(mut self, words: &[&str]) -> Self {
        for &word in words {
            if !self.vocabulary.iter().any(|known| known == word) {
                self.vocabulary.push(word.to_owned());
            }
        }
        self
    }
}

/// The kind of action with this name, or a problem that names those there are.
pub fn action_kind<'k>(kinds: &'k [ActionKind], name: &str) -> Result<&'k ActionKind, Problem> {
    kinds.iter().find(|kind| kind.name == name).ok_or_else(|| {
        let known: Vec<_> = kinds.iter().map(|kind| format!("`{}`", kind.name)).collect();
        let known = known.join(", ");
        Problem::settings(format!("the environment understands no action `{name}`, only {known}"))
    })
}

impl Briefing {
    /// The environment's rules and notation, as the seat is told them.
    pub fn rules_for(&self, seat: &Seat) -> &str {
        let found = self.rules.iter().find(|(whose, _)| whose.as_ref().is_none_or(|w| w == seat));
        found.map_or("", |(_, rules)| rules)
    }

    /// Standing instructions for a role that is to send this kind of action: the
    /// rules, its task, and what the end of its answer must look like.
    pub fn instructions(&self, role: &str, task: &str, kind: &str) -> Result<String, Problem> {
        let (rules, format) = (self.rules_for(&Seat::new(role)), &self.action(kind)?.summary);
        let end = "You may think first. End your answer with";
        let told = format!("{task} {end} {format}, and nothing after it.");
        Ok(format!("{rules}\n\n{}", told.trim_start()))
    }

    /// The kind of action with this name, or a problem that names those there are.
    pub fn action(&self, name: &str) -> Result<&ActionKind, Problem> {
        action_kind(&self.actions, name)
    }
}

/// What the seat sees, as text; nothing if it sees nothing.
pub fn seen_by(views: &[View], seat: &Seat) -> String {
    parts_for(views, seat).map(text_of).unwrap_or_default()
}

/// What the seat sees.
pub fn parts_for<'v>(views: &'v [View], seat: &Seat) -> Option<&'v [Part]> {
    let mine = |view: &&View| view.seat.as_ref().is_none_or(|whose| whose == seat);
    views.iter().find(mine).map(|view| view.parts.as_slice())
}

impl Consequence {
    /// What the seat sees now, as text.
    pub fn seen_by(&self, seat: &Seat) -> String {
        seen_by(&self.views, seat)
    }

    /// The seat of the first move.
    pub fn mover(&self) -> Option<&Seat> {
        self.results.first().map(|result| &result.seat)
    }

    /// What the seat of the first move is told.
    pub fn feedback(&self) -> &str {
        self.results.first().map_or("", |result| &result.feedback)
    }

    /// Whether the episode goes on.
    pub fn is_ongoing(&self) -> bool {
        self.status == Status::Ongoing
    }
}

impl Message {
    /// A message of text.
    pub fn new(author: Author, text: impl Into<String>) -> Self {
        Message { author, parts: vec![Part::Text(text.into())] }
    }

    /// It as text.
    pub fn text(&self) -> String {
        text_of(&self.parts)
    }
}

impl Request {
    /// A request to this seat, without messages, in the main conversation.
    pub fn new(seat: impl Into<Seat>) -> Self {
        Request {
            seat: seat.into(),
            messages: Vec::new(),
            tools: Vec::new(),
            thread: String::new(),
            caller: None,
            is_open: false,
            situation: None,
        }
    }

    /// Add standing instructions.
    #[must_use]
    pub fn system(self, text: impl Into<String>) -> Self {
        self.message(Message::new(Author::System, text))
    }

    /// Add what the role is told now.
    #[must_use]
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Message::new(Author::User, text))
    }

    /// Add what the role itself said before.
    #[must_use]
    pub fn assistant(self, text: impl Into<String>) -> Self {
        self.message(Message::new(Author::Assistant, text))
    }

    /// Add what a tool answered.
    #[must_use]
    pub fn tool(self, text: impl Into<String>) -> Self {
        self.message(Message::new(Author::Tool, text))
    }

    /// Add a picture to the last message.
    #[must_use]
    pub fn image(mut self, image: Image) -> Self {
        self.messages.iter_mut().last().into_iter().for_each(|message| {
            message.parts.push(Part::Image(image.clone()));
        });
        self
    }

    /// Add a message.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }

    /// Tell it of these tools.
    #[must_use]
    pub fn tools(mut self, names: &[&str]) -> Self {
        self.tools.extend(names.iter().map(|&name| name.to_owned()));
        self
    }

    /// Ask it in a conversation of its own, perhaps because of an answer.
    #[must_use]
    pub fn thread(mut self, thread: &str, caller: Option<u32>) -> Self {
        self.thread = thread.to_owned();
        self.caller = caller;
        self
    }

    /// What the answer is worth shows only later: in credits, or at the end.
    #[must_use]
    pub fn open(mut self) -> Self {
        self.is_open = true;
        self
    }

    /// The situation is like others of this name.
    #[must_use]
    pub fn situation(mut self, name: &str) -> Self {
        self.situation = Some(name.to_owned());
        self
    }
}

/// The mark behind which a model that thinks before it answers begins to answer.
const THOUGHT: &str = "</think>";
const THINKS: &str = "<think>";
/// Stands for an answer that the limit cut. No notation knows it, so that being cut costs what
/// cannot be read costs, and never less.
pub const CUT: &str = "…";

impl Reply {
    /// What the role says when it has thought: what follows the last `</think>`,
    /// or all of it, also where the prompt had opened the thought. Of thinking
    /// that came to no end nothing counts, nor of an answer that the limit cut,
    /// which is [`CUT`]: what was to follow could have said otherwise.
    pub fn answer(&self) -> &str {
        if !self.complete {
            return CUT;
        }
        let said = self.text.rsplit_once(THOUGHT).map_or(&*self.text, |(_, said)| said).trim();
        if said.starts_with(THINKS) { "" } else { said }
    }

    /// The last line that is not blank: what a role that may think aloud first
    /// finally says.
    pub fn last_line(&self) -> &str {
        self.answer().lines().next_back().unwrap_or_default().trim()
    }
}

impl Step {
    /// Ask one seat.
    pub fn ask(request: Request) -> Self {
        Step::ask_all(vec![request])
    }

    /// Ask several seats, whose answers do not depend on each other.
    pub fn ask_all(requests: Vec<Request>) -> Self {
        Directive::Ask(requests).into()
    }

    /// Let the seat carry out an action in the environment.
    pub fn act(seat: impl Into<Seat>, kind: &str, text: &str) -> Self {
        Step::act_together(vec![Move::new(seat, kind, text)])
    }

    /// Let several seats act at the same time.
    pub fn act_together(moves: Vec<Move>) -> Self {
        Directive::Act(moves).into()
    }

    /// Have a tool called for the seat.
    pub fn call(seat: impl Into<Seat>, tool: &str, arguments: &str) -> Self {
        let [tool, arguments] = [tool, arguments].map(str::to_owned);
        Directive::Call(vec![Call { seat: seat.into(), tool, arguments }]).into()
    }

    /// Nothing until the next of the answers that are still due.
    pub fn wait() -> Self {
        Directive::Wait.into()
    }

    /// The session is over.
    pub fn finish() -> Self {
        Directive::Finish.into()
    }

    /// And the answer with this number was worth this much; nothing more will
    /// be said of it.
    #[must_use]
    pub fn credit(mut self, answer: u32, name: &str, value: f64) -> Self {
        self.credits.push(Credit { answer, name: name.to_owned(), value, is_last: true });
        self
    }

    /// And the answer with this number was worth this much so far; more will be said of it.
    #[must_use]
    pub fn credit_so_far(mut self, answer: u32, name: &str, value: f64) -> Self {
        self.credits.push(Credit { answer, name: name.to_owned(), value, is_last: false });
        self
    }
}

impl From<Directive> for Step {
    fn from(directive: Directive) -> Self {
        Step { credits: Vec::new(), directive }
    }
}

impl Problem {
    /// `event` cannot follow the last directive.
    pub fn unexpected(event: &Event) -> Self {
        Problem::order(match event {
            Event::Begun(_) => "the session has already begun".to_owned(),
            Event::Replied(reply) => format!("`{}` was not asked", reply.seat),
            Event::Acted(_) => "nobody was to act".to_owned(),
            Event::Returned(_) => "no tool was called".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(text: &str) -> Reply {
        let (seat, thread) = (Seat::new("player"), String::new());
        Reply { seat, answer: 0, thread, text: text.to_owned(), complete: true }
    }

    #[test]
    fn thinking_is_no_answer() {
        assert_eq!(reply("<think>U?</think>\n\nD D\n").answer(), "D D");
        assert_eq!(reply("U?</think>first\nD").last_line(), "D");
        assert_eq!(reply("<think>U U U").answer(), "");
        assert_eq!(reply("U?</think>D<think>R?</think> <think>U U").answer(), "");
        assert_eq!(reply(" a\nb ").answer(), "a\nb");
    }

    #[test]
    fn what_the_limit_cut_is_no_answer() {
        for text in ["D D", "<think>U?</think>D D", "<think>U?</think>", "U?</think>D\nD"] {
            let cut = Reply { complete: false, ..reply(text) };
            assert_eq!((cut.answer(), cut.last_line()), (CUT, CUT), "{text}");
        }
    }
}
