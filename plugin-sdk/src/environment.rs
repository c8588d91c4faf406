//! Environments: the rules of a task and what its outcomes are worth.

pub use crate::bindings::contract::environment::{
    Award, Configuration, Description, Effect, Outcome, Recipient, Task,
};
pub use crate::types::{
    Action, ActionKind, Configured, Image, Move, Part, Problem, Seat, Split, Status,
};

use serde::{Serialize, de::DeserializeOwned};

use crate::settings;
use crate::state::{self, StateError};
use crate::types::{Extra, Needs, Setting, Value};

/// The key of [`Configuration::extras`] that says for whom it is made.
pub const SEATS: &str = "seats";

/// The key of [`Configuration::extras`] that says what it pays.
pub const AWARDS: &str = "awards";

/// One task being worked on, and everything a component says about its tasks.
///
/// Everything an implementation computes must follow from what it was given:
/// the same task and actions give the same bytes. Chance comes from
/// [`Random`](crate::Random), seeded by the task.
///
/// All that an episode remembers is in the type, which is saved and resumed as
/// serde has it: what does not belong to the state is marked `#[serde(skip)]`.
pub trait Environment: Serialize + DeserializeOwned {
    /// Whether a panic is written to the run's log before it ends the call, so
    /// that the host can say why the plugin crashed. The component then imports
    /// `log`; by default it imports nothing that can be called.
    const LOG_PANICS: bool = false;

    /// Say what this environment is.
    fn describe() -> Description;

    /// Check settings, before anything else is called with them, and say what
    /// follows from them: the vocabulary, the turns. By default every setting
    /// suits and nothing follows.
    fn configure(_settings: &[Configured]) -> Result<Configuration, Problem> {
        Ok(Configuration::default())
    }

    /// Begin a task.
    fn start(task: &Task) -> Result<Self, Problem>;

    /// What the rules and the notation are, for a seat that knows neither.
    fn rules(&self, seat: &Seat) -> String;

    /// What the seat can see now. An environment that shows or tells one seat
    /// what another must not know says so by [`Configuration::private`].
    fn observe(&self, seat: &Seat) -> String;

    /// The pictures that the seat can see now, behind the text. By default none.
    fn images(&self, _seat: &Seat) -> Vec<Image> {
        Vec::new()
    }

    /// Carry out an action. Text that cannot be read is an
    /// [`Outcome::rejected`], not a problem. Not called after the end: the SDK
    /// refuses by itself.
    fn act(&mut self, seat: &Seat, action: &Action) -> Result<Outcome, Problem>;

    /// Carry out moves at the same time. By default one after the other, until
    /// one ends the episode.
    fn act_together(&mut self, moves: &[Move]) -> Result<Outcome, Problem> {
        let mut all = Outcome { effects: Vec::new(), awards: Vec::new(), status: Status::Ongoing };
        for (index, Move { seat, action }) in moves.iter().enumerate() {
            match all.status {
                Status::Ongoing => all.append(self.act(seat, action)?, index),
                Status::Solved | Status::Failed => all.effects.push(Effect::came_too_late()),
            }
        }
        Ok(all)
    }

    /// The expert's next action for the seat. By default there is no expert.
    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        None
    }

    /// What only a critic may see now, such as the solution, in the words of the
    /// vocabulary if there is one. Every act asks for it. By default nothing.
    fn reveal(&self) -> Option<String> {
        None
    }

    /// Everything [`resume`](Environment::resume) needs: by default the whole
    /// type, by [`state::save`]. Nothing, where it cannot be saved: the host
    /// replays the actions instead, which is slower.
    fn save(&self) -> Option<Vec<u8>> {
        state::save(self)
    }

    /// Go on from a saved state.
    fn resume(state: &[u8]) -> Result<Self, Problem> {
        Ok(state::load(state)?)
    }
}

impl Task {
    /// A task of `E` with default settings and one seat, for tests.
    pub fn of<E: Environment>(split: Split, seed: u32) -> Self {
        let settings = settings::defaults(&E::describe().settings);
        Task { split, seed, settings, seats: vec![Seat::new("player")], entry: None }
    }

    /// The same task with another value for one setting.
    #[must_use]
    pub fn with(self, name: &str, value: impl Into<Value>) -> Self {
        Task { settings: settings::with(self.settings, name, value), ..self }
    }
}

impl Description {
    /// A description without settings and actions, for `solo`.
    pub fn new(name: &str, version: &str, summary: &str) -> Self {
        Description {
            name: name.to_owned(),
            version: version.to_owned(),
            summary: summary.to_owned(),
            settings: Vec::new(),
            actions: Vec::new(),
            workflows: vec!["solo".to_owned()],
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

    /// Understand one more kind of action. A single role sends the first kind,
    /// so that one should be able to say whatever the expert says.
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

    /// Need more than the usual limits.
    #[must_use]
    pub fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }
}

/// An open-ended language, 10 turns, the same view for all.
impl Default for Configuration {
    fn default() -> Self {
        Configuration {
            vocabulary: Vec::new(),
            max_turns: 10,
            is_private: false,
            needs_records: false,
            extras: Vec::new(),
        }
    }
}

impl Configuration {
    /// These are all the words that observations and actions may contain.
    #[must_use]
    pub fn vocabulary(mut self, words: Vec<String>) -> Self {
        self.vocabulary = words;
        self
    }

    /// Advise this many turns per seat.
    #[must_use]
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.max_turns = turns;
        self
    }

    /// Rules or observations depend on the seat.
    #[must_use]
    pub fn private(mut self) -> Self {
        self.is_private = true;
        self
    }

    /// It is made for these seats. The conformance suite plays with them;
    /// a host seats whom the workflow brings.
    #[must_use]
    pub fn seats(mut self, seats: &[Seat]) -> Self {
        let roles: Vec<&str> = seats.iter().map(|seat| seat.role.as_str()).collect();
        self.extras.push(Extra { key: SEATS.to_owned(), value: roles.join(" ") });
        self
    }

    /// Whatever is done within the advised turns, no seat has ever earned less or
    /// more than this. The conformance suite holds the environment to it.
    #[must_use]
    pub fn awards(mut self, least: f64, most: f64) -> Self {
        self.extras.push(Extra { key: AWARDS.to_owned(), value: format!("{least} {most}") });
        self
    }

    /// The seats that it is made for, if it says so: a word each, the role.
    pub fn expected_seats(&self) -> Vec<Seat> {
        let said = self.extras.iter().find(|extra| extra.key == SEATS);
        let mut seats: Vec<Seat> = Vec::new();
        for role in said.map_or("", |extra| &extra.value).split_whitespace() {
            let before = seats.iter().filter(|seat| seat.role == role).count();
            seats.push(Seat::numbered(role, before as u32));
        }
        seats
    }

    /// Tasks are built from records of a data set.
    #[must_use]
    pub fn needs_records(mut self) -> Self {
        self.needs_records = true;
        self
    }
}

/// Awards are summed without discount, so shaping must be a difference of
/// potentials: no sequence of moves that returns to a state may earn.
///
/// ```
/// use plugin_sdk::environment::Outcome;
///
/// let outcome = Outcome::accepted().team("progress", 0.5).local("slow", -0.1).solved();
/// assert_eq!((outcome.for_team(), outcome.for_mover(0), outcome.awards.len()), (0.5, -0.1, 2));
/// ```
impl Outcome {
    /// The action was understood and carried out in full.
    pub fn accepted() -> Self {
        Outcome::of(true, String::new())
    }

    /// The action was not understood, or not carried out in full.
    pub fn rejected(feedback: impl Into<String>) -> Self {
        Outcome::of(false, feedback.into())
    }

    fn of(accepted: bool, feedback: String) -> Self {
        let effects = vec![Effect { accepted, feedback }];
        Outcome { effects, awards: Vec::new(), status: Status::Ongoing }
    }

    /// Say this to the actor.
    #[must_use]
    pub fn feedback(mut self, feedback: impl Into<String>) -> Self {
        let feedback = feedback.into();
        self.effects.iter_mut().take(1).for_each(|effect| effect.feedback.clone_from(&feedback));
        self
    }

    /// Reward everybody, under this name. A reward of 0 leaves no trace.
    #[must_use]
    pub fn team(self, name: &str, value: f64) -> Self {
        self.award(Recipient::Team, name, value)
    }

    /// Reward the acting seat alone, under this name. A reward of 0 leaves no trace.
    #[must_use]
    pub fn local(self, name: &str, value: f64) -> Self {
        self.award(Recipient::Mover(0), name, value)
    }

    /// Reward one seat, under this name, whether it acted or not. A reward of
    /// 0 leaves no trace.
    #[must_use]
    pub fn seat(self, seat: &Seat, name: &str, value: f64) -> Self {
        self.award(Recipient::Seat(seat.clone()), name, value)
    }

    /// Reward a seat or the team, under this name. A reward of 0 leaves no trace.
    #[must_use]
    pub fn award(mut self, to: Recipient, name: &str, value: f64) -> Self {
        if value != 0.0 {
            self.awards.push(Award { to, name: name.to_owned(), value });
        }
        self
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

    /// What everybody gets.
    pub fn for_team(&self) -> f64 {
        self.sum(&Recipient::Team)
    }

    /// What the seat of this move gets as such.
    pub fn for_mover(&self, index: u32) -> f64 {
        self.sum(&Recipient::Mover(index))
    }

    /// What a seat gets by its name.
    pub fn for_seat(&self, seat: &Seat) -> f64 {
        self.sum(&Recipient::Seat(seat.clone()))
    }

    /// Whether every move was carried out in full.
    pub fn is_accepted(&self) -> bool {
        self.effects.iter().all(|effect| effect.accepted)
    }

    /// What the seat of the first move is told.
    pub fn told(&self) -> &str {
        self.effects.first().map_or("", |effect| &effect.feedback)
    }

    fn sum(&self, to: &Recipient) -> f64 {
        self.awards.iter().filter(|award| award.to == *to).fold(0.0, |sum, award| sum + award.value)
    }

    /// Add the outcome of one more move, which has this place among all.
    fn append(&mut self, other: Outcome, index: usize) {
        self.effects.extend(other.effects);
        self.status = other.status;
        let place = u32::try_from(index).unwrap_or(u32::MAX);
        self.awards.extend(other.awards.into_iter().map(|award| match award.to {
            Recipient::Mover(_) => Award { to: Recipient::Mover(place), ..award },
            Recipient::Team | Recipient::Seat(_) => award,
        }));
    }
}

impl Effect {
    fn came_too_late() -> Self {
        Effect { accepted: false, feedback: "The episode is over.".to_owned() }
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

    /// Carry out moves, unless the episode is over.
    pub fn act(&mut self, moves: &[Move]) -> Result<Outcome, Problem> {
        if self.over {
            return Err(Problem::order("the episode is over"));
        }
        let outcome = match moves {
            [] => return Err(Problem::order("nobody moves")),
            [Move { seat, action }] => self.environment.act(seat, action)?,
            moves => self.environment.act_together(moves)?,
        };
        self.over = outcome.status != Status::Ongoing;
        Ok(outcome)
    }

    /// What the seat can see now.
    pub fn observe(&self, seat: &Seat) -> Vec<Part> {
        let text = Part::Text(self.environment.observe(seat));
        let images = self.environment.images(seat).into_iter().map(Part::Image);
        std::iter::once(text).chain(images).collect()
    }

    /// The expert's next action, unless the episode is over.
    pub fn demonstrate(&self, seat: &Seat) -> Option<Action> {
        if self.over { None } else { self.environment.demonstrate(seat) }
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
