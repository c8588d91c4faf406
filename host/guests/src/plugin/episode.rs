//! An episode: alive in an instance, or saved as a value that can be copied,
//! moved to another thread and resumed any number of times.

use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::ResourceAny;

use plugin_sdk::environment::{Outcome, Task};
use plugin_sdk::types::{Action, Move, Part, Seat};

use super::answer::TextLimit;
use super::bindings::exports::troupe::plugin::environment::{Guest, GuestEpisode};
use super::environment::EnvironmentPlugin;
use super::failure::{Cause, PluginFailure};
use super::instance::{CallResult, HostState};
use super::kept::Used;
use super::log::LogLine;
use troupe_core::seed::Seed;

/// An episode between calls, without an instance: its task and the moves so
/// far, those of one call together, and what the guest saved, if it did.
#[derive(Clone, Debug)]
pub struct EnvironmentState {
    task: Arc<Task>,
    moves: Vec<Arc<[Move]>>,
    saved: Option<Arc<[u8]>>,
}

impl EnvironmentState {
    /// The task.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The moves so far.
    pub fn moves(&self) -> impl ExactSizeIterator<Item = &[Move]> {
        self.moves.iter().map(|moves| &**moves)
    }

    /// What the guest saved.
    pub fn saved(&self) -> Option<&[u8]> {
        self.saved.as_deref()
    }

    /// The same state without what the guest saved: it is resumed by replaying
    /// the moves.
    #[must_use]
    pub fn as_replay(&self) -> Self {
        EnvironmentState { saved: None, ..self.clone() }
    }

    /// A number for the state: the same task and moves give the same number.
    pub fn digest(&self) -> u64 {
        let mix = |seed: Seed, Move { seat, action }: &Move| {
            seed.named(&seat.role).at(seat.instance.into()).named(&action.kind).named(&action.text)
        };
        let start = task_seed(&self.task);
        let calls = self.moves.iter().map(|moves| moves.iter());
        calls.fold(start, |seed, moves| moves.fold(seed.named("act"), mix)).value()
    }
}

/// Where all chance in a task comes from.
fn task_seed(task: &Task) -> Seed {
    let seed = Seed::new(u64::from(task.seed)).named(task.split.name());
    task.entry.as_deref().map_or(seed, |entry| seed.named(entry))
}

/// An episode alive in an instance that is its own while it lives.
pub struct LiveEpisode {
    environment: EnvironmentPlugin,
    used: Used<Guest>,
    episode: ResourceAny,
    task: Arc<Task>,
    moves: Vec<Arc<[Move]>>,
}

impl LiveEpisode {
    pub(super) fn start(
        environment: &EnvironmentPlugin,
        task: Arc<Task>,
    ) -> Result<Self, PluginFailure> {
        Self::open(environment, task, Vec::new(), None)
    }

    pub(super) fn resume(
        environment: &EnvironmentPlugin,
        state: &EnvironmentState,
    ) -> Result<Self, PluginFailure> {
        let EnvironmentState { task, moves, saved } = state;
        if saved.is_some() {
            return Self::open(environment, task.clone(), moves.clone(), saved.as_deref());
        }
        let mut live = Self::start(environment, task.clone())?;
        moves.iter().try_for_each(|moves| live.carry_out(moves.clone()).map(drop))?;
        Ok(live)
    }

    fn open(
        environment: &EnvironmentPlugin,
        task: Arc<Task>,
        moves: Vec<Arc<[Move]>>,
        saved: Option<&[u8]>,
    ) -> Result<Self, PluginFailure> {
        let mut used = environment.instance(task_seed(&task))?;
        let (instance, guest) = used.parts();
        let begin = |store: &mut Store<HostState>| match saved {
            Some(saved) => guest.episode().call_resume(store, saved),
            None => guest.episode().call_start(store, &task),
        };
        let function = if saved.is_some() { "resume" } else { "start" };
        let episode = instance.ask(function, moves.len(), begin, |_, _| Ok(()))?;
        Ok(LiveEpisode { environment: environment.clone(), used, episode, task, moves })
    }

    fn ask<T>(
        &mut self,
        function: &'static str,
        call: impl FnOnce(GuestEpisode<'_>, &mut Store<HostState>, ResourceAny) -> CallResult<T>,
        check: impl FnOnce(&T, TextLimit) -> Result<(), Cause>,
    ) -> Result<T, PluginFailure> {
        let Self { used, episode, moves, .. } = self;
        let (instance, guest) = used.parts();
        let call = |store: &mut _| call(guest.episode(), store, *episode);
        instance.ask(function, moves.len(), call, check)
    }

    /// The rules and the notation, in the words for this seat.
    ///
    /// # Errors
    /// If the environment fails; the episode is void.
    pub fn rules(&mut self, seat: &Seat) -> Result<String, PluginFailure> {
        let call = |guest: GuestEpisode<'_>, store: &mut _, resource| {
            guest.call_rules(store, resource, seat)
        };
        self.ask("rules", call, |text, limit| limit.check("its rules", text.len()))
    }

    /// The observation of a seat.
    ///
    /// # Errors
    /// If the environment fails; the episode is void.
    pub fn observe(&mut self, seat: &Seat) -> Result<Vec<Part>, PluginFailure> {
        let call = |guest: GuestEpisode<'_>, store: &mut _, resource| {
            guest.call_observe(store, resource, seat)
        };
        self.ask("observe", call, |parts, limit| limit.parts("its observation", parts))
    }

    /// Carries out moves, all at the same time.
    ///
    /// # Errors
    /// If the environment fails; the episode is void.
    pub fn act(&mut self, moves: Vec<Move>) -> Result<Outcome, PluginFailure> {
        self.carry_out(moves.into())
    }

    fn carry_out(&mut self, moves: Arc<[Move]>) -> Result<Outcome, PluginFailure> {
        let call = |guest: GuestEpisode<'_>, store: &mut _, resource| {
            guest.call_act(store, resource, &moves)
        };
        let check = |outcome: &_, limit: TextLimit| limit.outcome(outcome, moves.len());
        let outcome = self.ask("act", call, check)?;
        self.moves.push(moves);
        Ok(outcome)
    }

    /// The expert's next action for the seat; nothing if there is no expert.
    ///
    /// # Errors
    /// If the environment fails; the episode is void.
    pub fn demonstrate(&mut self, seat: &Seat) -> Result<Option<Action>, PluginFailure> {
        self.ask(
            "demonstrate",
            |guest, store, episode| guest.call_demonstrate(store, episode, seat),
            |action, limit| action.iter().try_for_each(|action| limit.expert(action)),
        )
    }

    /// What only a critic may see, if there is something.
    ///
    /// # Errors
    /// If the environment fails; the episode is void.
    pub fn reveal(&mut self) -> Result<Option<String>, PluginFailure> {
        let call =
            |guest: GuestEpisode<'_>, store: &mut _, resource| guest.call_reveal(store, resource);
        let bytes = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.ask("reveal", call, |text, limit| limit.check("what it reveals", bytes(text)))
    }

    /// The episode as a value, from which it can be resumed.
    ///
    /// # Errors
    /// If the environment fails; the episode is void.
    pub fn save(&mut self) -> Result<EnvironmentState, PluginFailure> {
        let call =
            |guest: GuestEpisode<'_>, store: &mut _, resource| guest.call_save(store, resource);
        let saved = self.ask("save", call, |state, limit| limit.saved(state))?;
        let (task, moves) = (self.task.clone(), self.moves.clone());
        Ok(EnvironmentState { task, moves, saved: saved.map(Into::into) })
    }

    /// Fuel that the last call took.
    pub fn fuel_of_last_call(&self) -> u64 {
        self.used.instance().fuel_of_last_call()
    }

    /// Bytes of linear memory that its instance has.
    pub fn memory_bytes(&self) -> usize {
        self.used.instance().memory_bytes()
    }

    /// Gives the episode up and begins another task in the same instance, which no
    /// run does: what is left of the first then shows in the second.
    ///
    /// # Errors
    /// If the environment fails.
    pub fn restart(&mut self, task: &Task) -> Result<(), PluginFailure> {
        let (instance, guest) = self.used.parts();
        let start = |store: &mut Store<HostState>| guest.episode().call_start(store, task);
        let next = instance.ask("start", 0, start, |_, _| Ok(()))?;
        let given_up = std::mem::replace(&mut self.episode, next);
        instance.call("drop", 0, |store| given_up.resource_drop(store))?;
        self.task = Arc::new(task.clone());
        self.moves.clear();
        Ok(())
    }

    /// The lines the plugin logged since the last time.
    pub fn take_log(&mut self) -> Vec<LogLine> {
        self.used.parts().0.take_log()
    }
}

impl Drop for LiveEpisode {
    fn drop(&mut self) {
        self.environment.shared.kept.give_back(&mut self.used, self.episode);
    }
}

impl std::fmt::Debug for LiveEpisode {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("LiveEpisode").finish_non_exhaustive()
    }
}
