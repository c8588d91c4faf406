//! Workflows: who speaks when, what they are told, and what becomes of their
//! answers.

use crate::environment::{Action, ActionKind};
use crate::settings::{Setting, SettingError, Settings};
use crate::state::StateError;

pub use crate::environment::Status;

/// A state machine beside one episode: the host reports an event, the session
/// answers with a directive.
pub trait Workflow: Sized {
    /// Whether a panic is written to the run's log before it ends the call, so
    /// that the host can say why the plugin crashed. The component then imports
    /// `log`; by default it imports nothing.
    const LOG_PANICS: bool = false;

    /// Say what this workflow is.
    fn describe() -> Description;

    /// Every word it adds to the user messages and to demonstrated answers,
    /// split at white space. Empty, as by default, when it adds none.
    fn vocabulary(_settings: &Settings) -> Vec<String> {
        Vec::new()
    }

    /// Take the seats. The first event is [`Event::Begun`].
    fn start(briefing: &Briefing) -> Result<Self, Problem>;

    /// Take in what happened and say what to do next.
    fn advance(&mut self, event: Event) -> Result<Directive, Problem>;

    /// How `role`, which has just been asked, would phrase the expert's
    /// action; nothing, as by default, if it would not speak to it.
    fn demonstrate(&self, _role: &str, _expert: &Action) -> Option<String> {
        None
    }

    /// Everything [`resume`](Workflow::resume) needs, most easily by
    /// [`state::save`](crate::state::save). By default nothing, and the host
    /// replays the events instead, which is slower.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }

    /// Go on from a saved state, most easily by
    /// [`state::load`](crate::state::load).
    fn resume(_state: &[u8]) -> Result<Self, Problem> {
        Err(Problem::InvalidState("this workflow saves no states".to_owned()))
    }
}

/// What a workflow is.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// A short name in kebab-case.
    pub name: String,
    /// The author's version of the workflow.
    pub version: String,
    /// One sentence for a list of plugins.
    pub summary: String,
    /// The settings it accepts.
    pub settings: Vec<Setting>,
    /// The seats it has. Requests and actions may name no others.
    pub roles: Vec<Role>,
    /// The kinds of action it sends; empty when it takes what the environment
    /// offers first.
    pub actions: Vec<String>,
}

impl Description {
    /// A description without settings, roles and actions.
    pub fn new(name: &str, version: &str, summary: &str) -> Self {
        Description {
            name: name.to_owned(),
            version: version.to_owned(),
            summary: summary.to_owned(),
            settings: Vec::new(),
            roles: Vec::new(),
            actions: Vec::new(),
        }
    }

    /// Accept one more setting.
    #[must_use]
    pub fn setting(mut self, setting: Setting) -> Self {
        self.settings.push(setting);
        self
    }

    /// Have one more seat.
    #[must_use]
    pub fn role(mut self, name: &str, summary: &str) -> Self {
        self.roles.push(Role { name: name.to_owned(), summary: summary.to_owned() });
        self
    }

    /// Send one more kind of action.
    #[must_use]
    pub fn action(mut self, kind: &str) -> Self {
        self.actions.push(kind.to_owned());
        self
    }
}

/// A seat in a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its name, such as `planner`.
    pub name: String,
    /// What it is for, in one sentence.
    pub summary: String,
}

/// What a session is told at its start.
#[derive(Clone, Debug, PartialEq)]
pub struct Briefing {
    /// The environment's name.
    pub environment: String,
    /// The environment's rules and notation.
    pub rules: String,
    /// The kinds of action the environment understands, in its order.
    pub actions: Vec<ActionKind>,
    /// All settings of the workflow.
    pub settings: Settings,
    /// How many turns each role has at most.
    pub max_turns: u32,
}

impl Briefing {
    /// The kind of action with this name, or a problem that names those there are.
    pub fn action(&self, name: &str) -> Result<&ActionKind, Problem> {
        self.actions.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let known: Vec<_> =
                self.actions.iter().map(|kind| format!("`{}`", kind.name)).collect();
            Problem::InvalidSettings(format!(
                "environment `{}` understands no action `{name}`, only {}",
                self.environment,
                known.join(", ")
            ))
        })
    }
}

/// Who wrote a message of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// Standing instructions.
    System,
    /// What the role is told now.
    User,
    /// What the role itself said before.
    Assistant,
}

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who wrote it.
    pub author: Author,
    /// What it says.
    pub text: String,
}

/// A role to ask and what to tell it.
///
/// For small policies: what varies belongs in the `user` messages, what
/// explains into the `system` message, which a policy too small to read prose
/// may leave out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The seat.
    pub role: String,
    /// Its prompt.
    pub messages: Vec<Message>,
}

impl Request {
    /// A request to this role, without messages.
    pub fn new(role: &str) -> Self {
        Request { role: role.to_owned(), messages: Vec::new() }
    }

    /// Add standing instructions.
    #[must_use]
    pub fn system(self, text: impl Into<String>) -> Self {
        self.message(Author::System, text)
    }

    /// Add what the role is told now.
    #[must_use]
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Author::User, text)
    }

    /// Add what the role itself said before.
    #[must_use]
    pub fn assistant(self, text: impl Into<String>) -> Self {
        self.message(Author::Assistant, text)
    }

    fn message(mut self, author: Author, text: impl Into<String>) -> Self {
        self.messages.push(Message { author, text: text.into() });
        self
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The episode begins; this can be seen.
    Begun(String),
    /// A role answered.
    Replied(Reply),
    /// The environment carried out an action.
    Acted(Effect),
    /// A program ran.
    Ran(Execution),
}

/// What a role answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The seat.
    pub role: String,
    /// The whole answer.
    pub text: String,
    /// Whether the answer ended by itself, not by the length limit.
    pub complete: bool,
}

impl Reply {
    /// The last line that is not blank: what a role that may think aloud first
    /// finally says.
    pub fn last_line(&self) -> &str {
        self.text.trim_end().lines().next_back().unwrap_or_default().trim()
    }
}

/// What an action led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The seat that acted.
    pub role: String,
    /// Whether the environment carried the action out in full.
    pub accepted: bool,
    /// What the environment said about it.
    pub feedback: String,
    /// What can be seen now.
    pub observation: String,
    /// Where the episode stands.
    pub status: Status,
}

/// How a program ended that the session had asked to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The seat it was run for.
    pub role: String,
    /// Whether it ended by itself with exit code 0.
    pub succeeded: bool,
    /// What it wrote to standard output, perhaps cut.
    pub stdout: String,
    /// What it wrote to standard error, or how it was stopped.
    pub stderr: String,
}

/// A program for the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The seat it is run for.
    pub role: String,
    /// The language it is written in, such as `python`.
    pub language: String,
    /// The program.
    pub source: String,
    /// Its standard input.
    pub stdin: String,
}

/// What the host is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directive {
    /// Ask these roles. Their answers do not depend on each other; the host
    /// reports them one at a time, in the order of the list.
    Ask(Vec<Request>),
    /// Let the role carry out an action in the environment.
    Act(String, Action),
    /// Run a program in the sandbox.
    Run(Program),
    /// Nothing until the next of the answers that are still due.
    Wait,
    /// The session is over.
    Finish,
}

impl Directive {
    /// Ask one role.
    pub fn ask(request: Request) -> Self {
        Directive::Ask(vec![request])
    }

    /// Let `role` carry out an action in the environment.
    pub fn act(role: &str, kind: &str, text: &str) -> Self {
        Directive::Act(role.to_owned(), Action::new(kind, text))
    }

    /// Have one program run for a role.
    pub fn run(role: &str, language: &str, source: &str, stdin: &str) -> Self {
        let [role, language, source, stdin] = [role, language, source, stdin].map(str::to_owned);
        Directive::Run(Program { role, language, source, stdin })
    }
}

/// Why a call could not be served. A problem is never a reward: the host
/// counts the episode as void and keeps it out of training.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The settings contradict each other, or do not fit the environment.
    #[error("invalid settings: {0}")]
    InvalidSettings(String),
    /// The saved state is not one of this version's.
    #[error("invalid state: {0}")]
    InvalidState(String),
    /// The event cannot follow the last directive.
    #[error("unexpected event: {0}")]
    UnexpectedEvent(String),
    /// The plugin itself went wrong.
    #[error("the plugin went wrong: {0}")]
    Internal(String),
}

impl Problem {
    /// `event` cannot follow the last directive.
    pub fn unexpected(event: &Event) -> Self {
        Problem::UnexpectedEvent(match event {
            Event::Begun(_) => "the session has already begun".to_owned(),
            Event::Replied(reply) => format!("`{}` was not asked", reply.role),
            Event::Acted(effect) => format!("`{}` did not act", effect.role),
            Event::Ran(execution) => format!("nothing was run for `{}`", execution.role),
        })
    }
}

impl From<SettingError> for Problem {
    fn from(error: SettingError) -> Self {
        Problem::InvalidSettings(error.to_string())
    }
}

impl From<StateError> for Problem {
    fn from(error: StateError) -> Self {
        Problem::InvalidState(error.to_string())
    }
}
