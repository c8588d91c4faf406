//! A workflow's session: alive in an instance, or saved as a value that can be
//! copied, moved to another thread and resumed any number of times.

use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::ResourceAny;

use super::bindings::exports::troupe::plugin::workflow::{Guest, Problem};
use super::conversion::{self, TextLimit};
use super::dialogue::{Briefing, Directive, Event};
use super::failure::{Cause, PluginFailure};
use super::instance::{HostState, Instance};
use super::log::LogLine;
use super::workflow::WorkflowPlugin;
use crate::seed::Seed;

/// A session between calls, without an instance: its briefing and the events
/// so far, and what the guest saved, if it did.
#[derive(Clone, Debug)]
pub struct SessionState {
    briefing: Arc<Briefing>,
    events: Vec<Arc<Event>>,
    saved: Option<Arc<[u8]>>,
}

impl SessionState {
    /// What the session was told at its start.
    pub fn briefing(&self) -> &Briefing {
        &self.briefing
    }

    /// The events so far.
    pub fn events(&self) -> impl ExactSizeIterator<Item = &Event> {
        self.events.iter().map(|event| &**event)
    }

    /// What the guest saved.
    pub fn saved(&self) -> Option<&[u8]> {
        self.saved.as_deref()
    }

    /// The same state without what the guest saved: it is resumed by replaying
    /// the events.
    #[must_use]
    pub fn as_replay(&self) -> Self {
        SessionState { saved: None, ..self.clone() }
    }

    /// A number for the state: the same briefing and events give the same number.
    pub fn digest(&self) -> u64 {
        let start = Seed::new(u64::from(self.briefing.max_turns))
            .named(&self.briefing.environment)
            .named(&self.briefing.rules);
        self.events.iter().fold(start, |seed, event| mix(seed, event)).value()
    }
}

fn mix(seed: Seed, event: &Event) -> Seed {
    match event {
        Event::Begun(observation) => seed.at(0).named(observation),
        Event::Replied { role, text, complete } => {
            seed.at(1 + u64::from(*complete)).named(role).named(text)
        }
        Event::Acted { role, accepted, feedback, observation, status } => seed
            .at(3 + u64::from(*accepted))
            .at(*status as u64)
            .named(role)
            .named(feedback)
            .named(observation),
        Event::Ran { role, succeeded, stdout, stderr } => {
            seed.at(5 + u64::from(*succeeded)).named(role).named(stdout).named(stderr)
        }
    }
}

/// A session alive in an instance of its own.
pub struct LiveSession {
    workflow: WorkflowPlugin,
    instance: Instance,
    guest: Guest,
    session: ResourceAny,
    briefing: Arc<Briefing>,
    events: Vec<Arc<Event>>,
}

impl LiveSession {
    pub(super) fn start(
        workflow: &WorkflowPlugin,
        briefing: Arc<Briefing>,
    ) -> Result<Self, PluginFailure> {
        let given = conversion::briefing(&briefing);
        Self::open(workflow, briefing, Vec::new(), "start", |guest, store| {
            guest.session().call_start(store, &given)
        })
    }

    pub(super) fn resume(
        workflow: &WorkflowPlugin,
        state: &SessionState,
    ) -> Result<Self, PluginFailure> {
        let briefing = state.briefing.clone();
        if let Some(saved) = &state.saved {
            return Self::open(
                workflow,
                briefing,
                state.events.clone(),
                "resume",
                |guest, store| guest.session().call_resume(store, saved),
            );
        }
        let mut live = Self::start(workflow, briefing)?;
        for event in &state.events {
            live.take_in(event.clone())?;
        }
        Ok(live)
    }

    fn open(
        workflow: &WorkflowPlugin,
        briefing: Arc<Briefing>,
        events: Vec<Arc<Event>>,
        function: &'static str,
        call: impl FnOnce(
            &Guest,
            &mut Store<HostState>,
        ) -> wasmtime::Result<Result<ResourceAny, Problem>>,
    ) -> Result<Self, PluginFailure> {
        let (mut instance, wasm) = workflow.instantiate()?;
        let (guest, answer) = instance.call(function, events.len(), |store| {
            let guest = workflow.indices().load(&mut *store, &wasm)?;
            let answer = call(&guest, store)?;
            Ok((guest, answer))
        })?;
        let session = answer.map_err(|problem| {
            let cause = conversion::workflow_problem(problem, workflow.text_limit());
            instance.condemn(function, cause)
        })?;
        Ok(LiveSession { workflow: workflow.clone(), instance, guest, session, briefing, events })
    }

    /// Reports what happened; the answer is what to do next.
    pub fn advance(&mut self, event: Event) -> Result<Directive, PluginFailure> {
        self.take_in(Arc::new(event))
    }

    fn take_in(&mut self, event: Arc<Event>) -> Result<Directive, PluginFailure> {
        let Self { instance, guest, session, .. } = self;
        let given = conversion::event(&event);
        let answer = instance.call("advance", self.events.len(), |store| {
            guest.session().call_advance(store, *session, &given)
        })?;
        let workflow = self.workflow.clone();
        let roles = &workflow.description().roles;
        let directive = self.checked("advance", |limit| match answer {
            Ok(directive) => conversion::directive(directive, roles, limit),
            Err(problem) => Err(conversion::workflow_problem(problem, limit)),
        })?;
        self.events.push(event);
        Ok(directive)
    }

    /// How `role`, which has just been asked, would phrase the expert's
    /// action; nothing if it would not speak to it.
    pub fn demonstrate(
        &mut self,
        role: &str,
        kind: &str,
        text: &str,
    ) -> Result<Option<String>, PluginFailure> {
        let Self { instance, guest, session, .. } = self;
        let answer = instance.call("demonstrate", self.events.len(), |store| {
            guest.session().call_demonstrate(store, *session, role, kind, text)
        })?;
        self.checked("demonstrate", |limit| {
            answer.map(|text| limit.demonstration("a demonstrated answer", text)).transpose()
        })
    }

    /// The session as a value.
    pub fn save(&mut self) -> Result<SessionState, PluginFailure> {
        let Self { instance, guest, session, .. } = self;
        let saved = instance
            .call("save", self.events.len(), |store| guest.session().call_save(store, *session))?;
        let saved = self.checked("save", |limit| match saved {
            None => Ok(None),
            Some(bytes) => limit.bytes("its saved state", &bytes).map(|()| Some(bytes.into())),
        })?;
        Ok(SessionState { briefing: self.briefing.clone(), events: self.events.clone(), saved })
    }

    /// The lines the plugin logged since the last time.
    pub fn take_log(&mut self) -> Vec<LogLine> {
        self.instance.take_log()
    }

    fn checked<T>(
        &mut self,
        call: &'static str,
        check: impl FnOnce(TextLimit) -> Result<T, Cause>,
    ) -> Result<T, PluginFailure> {
        check(self.workflow.text_limit()).map_err(|cause| self.instance.condemn(call, cause))
    }
}

impl std::fmt::Debug for LiveSession {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("LiveSession").finish_non_exhaustive()
    }
}
