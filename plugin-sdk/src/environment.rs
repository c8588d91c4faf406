//! Environments: the rules of a task and what its outcomes are worth.

use crate::random::hash;
use crate::settings::{Setting, SettingError, Settings, Value};
use crate::state::StateError;

/// One task being worked on, and everything a component says about its tasks.
///
/// Everything an implementation computes must follow from what it was given:
/// the same task and actions give the same bytes. Chance comes from
/// [`Random`](crate::Random), seeded by the task.
pub trait Environment: Sized {
    /// Whether a panic is written to the run's log before it ends the call, so
    /// that the host can say why the plugin crashed. The component then imports
    /// `log`; by default it imports nothing.
    const LOG_PANICS: bool = false;

    /// Say what this environment is.
    fn describe() -> Description;

    /// Every word that observations and actions may contain under these
    /// settings, split at white space, so that a small policy can have one
    /// token per word. Empty, as by default, when the language is open-ended.
    fn vocabulary(_settings: &Settings) -> Result<Vec<String>, Problem> {
        Ok(Vec::new())
    }

    /// Begin a task.
    fn start(task: &Task) -> Result<Self, Problem>;

    /// What the rules and the notation are, for a reader who knows neither.
    fn rules(&self) -> String;

    /// What can be seen now.
    fn observe(&self) -> String;

    /// Carry out an action. Text that cannot be read is an
    /// [`Outcome::rejected`], not a problem. Not called after the end: the SDK
    /// answers with [`Problem::Finished`] itself.
    fn act(&mut self, role: &str, action: &Action) -> Result<Outcome, Problem>;

    /// The expert's next action from here. By default there is no expert.
    fn demonstrate(&self) -> Option<Action> {
        None
    }

    /// Everything [`resume`](Environment::resume) needs, most easily by
    /// [`state::save`](crate::state::save). By default nothing, and the host
    /// replays the actions instead, which is slower.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }

    /// Go on from a saved state, most easily by
    /// [`state::load`](crate::state::load).
    fn resume(_state: &[u8]) -> Result<Self, Problem> {
        Err(Problem::InvalidState("this environment saves no states".to_owned()))
    }
}

/// Which part of the tasks is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Split {
    /// Tasks to learn from.
    Train,
    /// Tasks to choose settings by.
    Validation,
    /// Tasks for the final figures.
    Test,
}

impl Split {
    /// Every split.
    pub const ALL: [Split; 3] = [Split::Train, Split::Validation, Split::Test];

    /// Its name in the contract, such as `train`.
    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Validation => "validation",
            Split::Test => "test",
        }
    }

    /// The split that a generated problem belongs to: eight in ten belong to
    /// `Train`, one each to the others. An environment that draws problems
    /// until one belongs to its task's split has disjoint splits by construction.
    pub fn owning(problem: &[u8]) -> Split {
        match hash(problem) % 10 {
            0 => Split::Validation,
            1 => Split::Test,
            _ => Split::Train,
        }
    }
}

/// One problem instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The part of the tasks it comes from.
    pub split: Split,
    /// Which task of the split.
    pub seed: u32,
    /// All settings.
    pub settings: Settings,
    /// A record of a dataset, for environments that are built on one.
    pub entry: Option<String>,
}

impl Task {
    /// A task of `E` with default settings, for tests.
    pub fn of<E: Environment>(split: Split, seed: u32) -> Self {
        let settings = Settings::defaults(&E::describe().settings);
        Task { split, seed, settings, entry: None }
    }

    /// The same task with another value for one setting.
    #[must_use]
    pub fn with(self, name: &str, value: impl Into<Value>) -> Self {
        Task { settings: self.settings.with(name, value), ..self }
    }
}

/// What an environment is.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// A short name in kebab-case.
    pub name: String,
    /// The author's version of the environment.
    pub version: String,
    /// One sentence for a list of plugins.
    pub summary: String,
    /// The settings it accepts.
    pub settings: Vec<Setting>,
    /// The actions it understands. A single role sends the first kind, so that
    /// one should be able to say whatever the expert says.
    pub actions: Vec<ActionKind>,
    /// Workflows that suit it, best first.
    pub workflows: Vec<String>,
    /// How many turns per role an episode needs at most, in the author's view.
    pub max_turns: u32,
}

impl Description {
    /// A description without settings and actions, for `solo` and 10 turns.
    pub fn new(name: &str, version: &str, summary: &str) -> Self {
        Description {
            name: name.to_owned(),
            version: version.to_owned(),
            summary: summary.to_owned(),
            settings: Vec::new(),
            actions: Vec::new(),
            workflows: vec!["solo".to_owned()],
            max_turns: 10,
        }
    }

    /// Accept one more setting.
    #[must_use]
    pub fn setting(mut self, setting: Setting) -> Self {
        self.settings.push(setting);
        self
    }

    /// Understand one more kind of action.
    #[must_use]
    pub fn action(mut self, name: &str, summary: &str) -> Self {
        self.actions.push(ActionKind { name: name.to_owned(), summary: summary.to_owned() });
        self
    }

    /// Recommend these workflows, best first.
    #[must_use]
    pub fn workflows(mut self, names: &[&str]) -> Self {
        self.workflows = names.iter().map(|&name| name.to_owned()).collect();
        self
    }

    /// Advise this many turns per role.
    #[must_use]
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.max_turns = turns;
        self
    }
}

/// A form of action an environment understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionKind {
    /// The word that [`Action::kind`] carries.
    pub name: String,
    /// What the text of such an action must look like.
    pub summary: String,
}

/// What a role does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// One of the described kinds.
    pub kind: String,
    /// The action itself.
    pub text: String,
}

impl Action {
    /// An action of this kind.
    pub fn new(kind: impl Into<String>, text: impl Into<String>) -> Self {
        Action { kind: kind.into(), text: text.into() }
    }
}

/// Where an episode stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It goes on.
    Ongoing,
    /// The rules ended it and the task is solved.
    Solved,
    /// The rules ended it and the task can no longer be solved.
    Failed,
}

/// A named share of a reward.
#[derive(Clone, Debug, PartialEq)]
pub struct RewardPart {
    /// What was rewarded, such as `progress`.
    pub name: String,
    /// How much it contributed to `team + local`.
    pub value: f64,
}

/// What an action led to.
///
/// Rewards are summed without discount, so shaping must be a difference of
/// potentials: no sequence of actions that returns to a state may earn.
///
/// ```
/// use plugin_sdk::environment::Outcome;
///
/// let outcome = Outcome::accepted().team("progress", 0.5).local("slow", -0.1).solved();
/// assert_eq!((outcome.team, outcome.local, outcome.parts.len()), (0.5, -0.1, 2));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What the actor is told, in a sentence; may be empty.
    pub feedback: String,
    /// Whether the action was understood and carried out in full.
    pub accepted: bool,
    /// What the outcome is worth to every role.
    pub team: f64,
    /// What it is worth to the acting role alone.
    pub local: f64,
    /// The named shares of `team` and `local`; their sum is `team + local`.
    pub parts: Vec<RewardPart>,
    /// Where the episode stands now.
    pub status: Status,
}

impl Outcome {
    /// The action was understood and carried out in full.
    pub fn accepted() -> Self {
        Outcome {
            feedback: String::new(),
            accepted: true,
            team: 0.0,
            local: 0.0,
            parts: Vec::new(),
            status: Status::Ongoing,
        }
    }

    /// The action was not understood, or not carried out in full.
    pub fn rejected(feedback: impl Into<String>) -> Self {
        Outcome { feedback: feedback.into(), accepted: false, ..Outcome::accepted() }
    }

    /// Say this to the actor.
    #[must_use]
    pub fn feedback(mut self, feedback: impl Into<String>) -> Self {
        self.feedback = feedback.into();
        self
    }

    /// Reward every role, under this name. A reward of 0 leaves no trace.
    #[must_use]
    pub fn team(mut self, name: &str, value: f64) -> Self {
        self.team += value;
        self.part(name, value)
    }

    /// Reward the acting role alone, under this name. A reward of 0 leaves no trace.
    #[must_use]
    pub fn local(mut self, name: &str, value: f64) -> Self {
        self.local += value;
        self.part(name, value)
    }

    /// The task is solved.
    #[must_use]
    pub fn solved(mut self) -> Self {
        self.status = Status::Solved;
        self
    }

    /// The task can no longer be solved.
    #[must_use]
    pub fn failed(mut self) -> Self {
        self.status = Status::Failed;
        self
    }

    fn part(mut self, name: &str, value: f64) -> Self {
        if value != 0.0 {
            self.parts.push(RewardPart { name: name.to_owned(), value });
        }
        self
    }
}

/// Why a call could not be served. A problem is never a reward: the host
/// counts the episode as void and keeps it out of training.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The settings contradict each other or cannot be met.
    #[error("invalid settings: {0}")]
    InvalidSettings(String),
    /// The task cannot be built: a bad dataset entry, say.
    #[error("invalid task: {0}")]
    InvalidTask(String),
    /// The saved state is not one of this version's.
    #[error("invalid state: {0}")]
    InvalidState(String),
    /// The episode is over; nothing more can be done in it.
    #[error("the episode is over")]
    Finished,
    /// The plugin itself went wrong.
    #[error("the plugin went wrong: {0}")]
    Internal(String),
}

impl Problem {
    /// The workflow sent a kind of action that the environment never described.
    pub fn unknown_kind(action: &Action) -> Self {
        Problem::Internal(format!("there is no action of kind `{}` here", action.kind))
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

/// An environment that knows when it is over: what the host talks to.
pub struct Episode<E> {
    environment: E,
    over: bool,
}

impl<E: Environment> Episode<E> {
    /// Begin a task.
    pub fn start(task: &Task) -> Result<Self, Problem> {
        Ok(Episode { environment: E::start(task)?, over: false })
    }

    /// Carry out an action, unless the episode is over.
    pub fn act(&mut self, role: &str, action: &Action) -> Result<Outcome, Problem> {
        if self.over {
            return Err(Problem::Finished);
        }
        let outcome = self.environment.act(role, action)?;
        self.over = outcome.status != Status::Ongoing;
        Ok(outcome)
    }

    /// The expert's next action, unless the episode is over.
    pub fn demonstrate(&self) -> Option<Action> {
        if self.over { None } else { self.environment.demonstrate() }
    }

    /// The environment's state, and whether it is over.
    pub fn save(&self) -> Option<Vec<u8>> {
        let mut state = self.environment.save()?;
        state.push(u8::from(self.over));
        Some(state)
    }

    /// Go on from what [`save`](Episode::save) returned.
    pub fn resume(state: &[u8]) -> Result<Self, Problem> {
        let (over, state) = match state {
            [state @ .., 0] => (false, state),
            [state @ .., 1] => (true, state),
            _ => return Err(StateError("it does not end as one".to_owned()).into()),
        };
        Ok(Episode { environment: E::resume(state)?, over })
    }

    /// The environment itself.
    pub fn environment(&self) -> &E {
        &self.environment
    }
}
