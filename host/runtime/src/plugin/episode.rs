//! An episode: alive in an instance, or saved as a value that can be copied,
//! moved to another thread and resumed any number of times.

use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::ResourceAny;

use super::bindings::exports::troupe::plugin::environment::{Guest, Problem};
use super::conversion;
use super::environment::EnvironmentPlugin;
use super::failure::{Cause, PluginFailure};
use super::instance::{HostState, Instance};
use super::log::LogLine;
use super::task::{Outcome, Task};
use crate::seed::Seed;
use crate::trajectory::Action;

/// An episode between calls, without an instance: its task and the actions so
/// far, and what the guest saved, if it did.
#[derive(Clone, Debug)]
pub struct EnvironmentState {
    task: Arc<Task>,
    actions: Vec<Arc<Action>>,
    saved: Option<Arc<[u8]>>,
}

impl EnvironmentState {
    /// The task.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The actions so far.
    pub fn actions(&self) -> impl ExactSizeIterator<Item = &Action> {
        self.actions.iter().map(|action| &**action)
    }

    /// What the guest saved.
    pub fn saved(&self) -> Option<&[u8]> {
        self.saved.as_deref()
    }

    /// The same state without what the guest saved: it is resumed by replaying
    /// the actions.
    #[must_use]
    pub fn as_replay(&self) -> Self {
        EnvironmentState { saved: None, ..self.clone() }
    }

    /// A number for the state: the same task and actions give the same number.
    pub fn digest(&self) -> u64 {
        let start = task_seed(&self.task);
        let end = self.actions.iter().fold(start, |seed, action| {
            seed.named(&action.role).named(&action.kind).named(&action.text)
        });
        end.value()
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
    actions: Vec<Arc<Action>>,
}

impl LiveEpisode {
    pub(super) fn start(
        environment: &EnvironmentPlugin,
        task: Arc<Task>,
    ) -> Result<Self, PluginFailure> {
        let given = conversion::task(&task);
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
            return Self::open(
                environment,
                task,
                state.actions.clone(),
                "resume",
                |guest, store| guest.episode().call_resume(store, saved),
            );
        }
        let mut live = Self::start(environment, task)?;
        for action in &state.actions {
            live.carry_out(action.clone())?;
        }
        Ok(live)
    }

    fn open(
        environment: &EnvironmentPlugin,
        task: Arc<Task>,
        actions: Vec<Arc<Action>>,
        function: &'static str,
        call: impl FnOnce(
            &Guest,
            &mut Store<HostState>,
        ) -> wasmtime::Result<Result<ResourceAny, Problem>>,
    ) -> Result<Self, PluginFailure> {
        let (mut instance, wasm) = environment.instantiate(task_seed(&task))?;
        let (guest, answer) = instance.call(function, actions.len(), |store| {
            let guest = environment.indices().load(&mut *store, &wasm)?;
            let answer = call(&guest, store)?;
            Ok((guest, answer))
        })?;
        let episode = answer.map_err(|problem| {
            let cause = conversion::environment_problem(problem, environment.text_limit());
            instance.condemn(function, cause)
        })?;
        Ok(LiveEpisode {
            environment: environment.clone(),
            instance,
            guest,
            episode,
            task,
            actions,
        })
    }

    /// What the rules and the notation are.
    pub fn rules(&mut self) -> Result<String, PluginFailure> {
        let Self { instance, guest, episode, .. } = self;
        let text = instance.call("rules", self.actions.len(), |store| {
            guest.episode().call_rules(store, *episode)
        })?;
        self.checked("rules", |limit| limit.text("its rules", text))
    }

    /// What can be seen now.
    pub fn observe(&mut self) -> Result<String, PluginFailure> {
        let Self { instance, guest, episode, .. } = self;
        let answer = instance.call("observe", self.actions.len(), |store| {
            guest.episode().call_observe(store, *episode)
        })?;
        self.checked("observe", |limit| match answer {
            Ok(text) => limit.text("its observation", text),
            Err(problem) => Err(conversion::environment_problem(problem, limit)),
        })
    }

    /// Carries out an action.
    pub fn act(&mut self, role: &str, kind: &str, text: &str) -> Result<Outcome, PluginFailure> {
        let (role, kind, text) = (role.to_owned(), kind.to_owned(), text.to_owned());
        self.carry_out(Arc::new(Action { role, kind, text }))
    }

    fn carry_out(&mut self, action: Arc<Action>) -> Result<Outcome, PluginFailure> {
        let Self { instance, guest, episode, .. } = self;
        let given = conversion::action(&action);
        let answer = instance.call("act", self.actions.len(), |store| {
            guest.episode().call_act(store, *episode, &action.role, &given)
        })?;
        let outcome = self.checked("act", |limit| match answer {
            Ok(outcome) => conversion::outcome(outcome, limit),
            Err(problem) => Err(conversion::environment_problem(problem, limit)),
        })?;
        self.actions.push(action);
        Ok(outcome)
    }

    /// Kind and text of the expert's next action; nothing if there is no expert.
    pub fn demonstrate(&mut self) -> Result<Option<(String, String)>, PluginFailure> {
        let Self { instance, guest, episode, .. } = self;
        let answer = instance.call("demonstrate", self.actions.len(), |store| {
            guest.episode().call_demonstrate(store, *episode)
        })?;
        self.checked("demonstrate", |limit| match answer {
            None => Ok(None),
            Some(action) => Ok(Some((
                limit.demonstration("the expert's action", action.kind)?,
                limit.demonstration("the expert's action", action.text)?,
            ))),
        })
    }

    /// The episode as a value.
    pub fn save(&mut self) -> Result<EnvironmentState, PluginFailure> {
        let Self { instance, guest, episode, .. } = self;
        let saved = instance
            .call("save", self.actions.len(), |store| guest.episode().call_save(store, *episode))?;
        let saved = self.checked("save", |limit| match saved {
            None => Ok(None),
            Some(bytes) => limit.bytes("its saved state", &bytes).map(|()| Some(bytes.into())),
        })?;
        Ok(EnvironmentState { task: self.task.clone(), actions: self.actions.clone(), saved })
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
