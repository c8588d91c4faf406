//! An episode: alive in an instance, or saved as a value that can be copied,
//! moved to another thread and resumed any number of times.

use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::ResourceAny;

use plugin_sdk::environment::{Outcome, Task};
use plugin_sdk::types::{Action, Move, Part, Seat};

use super::bindings::exports::troupe::plugin::environment::Guest;
use super::bindings::troupe::plugin::types::Problem;
use super::conversion;
use super::environment::EnvironmentPlugin;
use super::failure::{Cause, PluginFailure};
use super::instance::{HostState, Instance};
use super::log::LogLine;
use crate::seed::Seed;

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

/// An episode alive in an instance of its own.
pub struct LiveEpisode {
    environment: EnvironmentPlugin,
    instance: Instance,
    guest: Guest,
    episode: ResourceAny,
    task: Arc<Task>,
    moves: Vec<Arc<[Move]>>,
}

impl LiveEpisode {
    pub(super) fn start(
        environment: &EnvironmentPlugin,
        task: Arc<Task>,
    ) -> Result<Self, PluginFailure> {
        let given = conversion::to_task(&task);
        Self::open(environment, task, Vec::new(), "start", |guest, store| {
            guest.episode().call_start(store, &given)
        })
    }

    pub(super) fn resume(
        environment: &EnvironmentPlugin,
        state: &EnvironmentState,
    ) -> Result<Self, PluginFailure> {
        let task = state.task.clone();
        if let Some(saved) = &state.saved {
            return Self::open(environment, task, state.moves.clone(), "resume", |guest, store| {
                guest.episode().call_resume(store, saved)
            });
        }
        let mut live = Self::start(environment, task)?;
        for moves in &state.moves {
            live.carry_out(moves.clone())?;
        }
        Ok(live)
    }

    fn open(
        environment: &EnvironmentPlugin,
        task: Arc<Task>,
        moves: Vec<Arc<[Move]>>,
        function: &'static str,
        call: impl FnOnce(
            &Guest,
            &mut Store<HostState>,
        ) -> wasmtime::Result<Result<ResourceAny, Problem>>,
    ) -> Result<Self, PluginFailure> {
        let (mut instance, wasm) = environment.instantiate(task_seed(&task))?;
        let (guest, answer) = instance.call(function, moves.len(), |store| {
            let guest = environment.indices().load(&mut *store, &wasm)?;
            let answer = call(&guest, store)?;
            Ok((guest, answer))
        })?;
        let episode = answer.map_err(|problem| {
            let cause = conversion::problem(problem, environment.text_limit());
            instance.condemn(function, cause)
        })?;
        Ok(LiveEpisode { environment: environment.clone(), instance, guest, episode, task, moves })
    }

    /// What the rules and the notation are, as the seat is told them.
    pub fn rules(&mut self, seat: &Seat) -> Result<String, PluginFailure> {
        let Self { instance, guest, episode, .. } = self;
        let seat = conversion::to_seat(seat);
        let answer = instance.call("rules", self.moves.len(), |store| {
            guest.episode().call_rules(store, *episode, &seat)
        })?;
        self.checked("rules", |limit| match answer {
            Ok(text) => limit.text("its rules", text),
            Err(problem) => Err(conversion::problem(problem, limit)),
        })
    }

    /// What the seat can see now.
    pub fn observe(&mut self, seat: &Seat) -> Result<Vec<Part>, PluginFailure> {
        let Self { instance, guest, episode, .. } = self;
        let seat = conversion::to_seat(seat);
        let answer = instance.call("observe", self.moves.len(), |store| {
            guest.episode().call_observe(store, *episode, &seat)
        })?;
        self.checked("observe", |limit| match answer {
            Ok(parts) => limit.parts("its observation", parts),
            Err(problem) => Err(conversion::problem(problem, limit)),
        })
    }

    /// Carries out moves, all at the same time.
    pub fn act(&mut self, moves: Vec<Move>) -> Result<Outcome, PluginFailure> {
        self.carry_out(moves.into())
    }

    fn carry_out(&mut self, moves: Arc<[Move]>) -> Result<Outcome, PluginFailure> {
        let Self { instance, guest, episode, .. } = self;
        let given = conversion::to_moves(&moves);
        let answer = instance.call("act", self.moves.len(), |store| {
            guest.episode().call_act(store, *episode, &given)
        })?;
        let outcome = self.checked("act", |limit| match answer {
            Ok(outcome) => conversion::outcome(outcome, moves.len(), limit),
            Err(problem) => Err(conversion::problem(problem, limit)),
        })?;
        self.moves.push(moves);
        Ok(outcome)
    }

    /// The expert's next action for the seat; nothing if there is no expert.
    pub fn demonstrate(&mut self, seat: &Seat) -> Result<Option<Action>, PluginFailure> {
        let Self { instance, guest, episode, .. } = self;
        let seat = conversion::to_seat(seat);
        let answer = instance.call("demonstrate", self.moves.len(), |store| {
            guest.episode().call_demonstrate(store, *episode, &seat)
        })?;
        self.checked("demonstrate", |limit| conversion::expert(answer, limit))
    }

    /// What only a critic may see, if there is such.
    pub fn reveal(&mut self) -> Result<Option<String>, PluginFailure> {
        let Self { instance, guest, episode, .. } = self;
        let answer = instance.call("reveal", self.moves.len(), |store| {
            guest.episode().call_reveal(store, *episode)
        })?;
        self.checked("reveal", |limit| match answer {
            Ok(text) => text.map(|text| limit.text("what it reveals", text)).transpose(),
            Err(problem) => Err(conversion::problem(problem, limit)),
        })
    }

    /// The episode as a value.
    pub fn save(&mut self) -> Result<EnvironmentState, PluginFailure> {
        let Self { instance, guest, episode, .. } = self;
        let answer = instance
            .call("save", self.moves.len(), |store| guest.episode().call_save(store, *episode))?;
        let saved = self.checked("save", |limit| limit.saved(answer))?;
        Ok(EnvironmentState { task: self.task.clone(), moves: self.moves.clone(), saved })
    }

    /// The lines the plugin logged since the last time.
    pub fn take_log(&mut self) -> Vec<LogLine> {
        self.instance.take_log()
    }

    fn checked<T>(
        &mut self,
        call: &'static str,
        check: impl FnOnce(conversion::TextLimit) -> Result<T, Cause>,
    ) -> Result<T, PluginFailure> {
        check(self.environment.text_limit()).map_err(|cause| self.instance.condemn(call, cause))
    }
}

impl std::fmt::Debug for LiveEpisode {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("LiveEpisode").finish_non_exhaustive()
    }
}
