//! A workflow's session: alive in an instance, or saved as a value that can be
//! copied, moved to another thread and resumed any number of times.

use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::ResourceAny;

use plugin_sdk::types::{Action, Part, Seat};
use plugin_sdk::workflow::{Briefing, Event, Role, Step, View};

use super::bindings::exports::troupe::plugin::workflow::Guest;
use super::failure::PluginFailure;
use super::instance::HostState;
use super::kept::Used;
use super::log::LogLine;
use super::workflow::WorkflowPlugin;
use troupe_core::seed::Seed;

/// A session between calls, without an instance: its briefing and the events
/// so far, and what the guest saved, if it did.
#[derive(Clone, Debug)]
pub struct SessionState {
    roles: Arc<[Role]>,
    briefing: Arc<Briefing>,
    events: Vec<Arc<Event>>,
    saved: Option<Arc<[u8]>>,
}

impl SessionState {
    /// What the session began with.
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
        let start = Seed::new(self.briefing.max_turns.into()).named(&self.briefing.environment);
        let start = self.briefing.rules.iter().fold(start, |seed, (_, rules)| seed.named(rules));
        self.events.iter().fold(start, |seed, event| mix(seed, event)).value()
    }
}

fn mix(seed: Seed, event: &Event) -> Seed {
    match event {
        Event::Begun(views) => views.iter().fold(seed.at(0), mix_view),
        Event::Replied(reply) => mix_seat(seed.at(1 + u64::from(reply.complete)), &reply.seat)
            .named(&reply.thread)
            .named(&reply.text),
        Event::Acted(seen) => {
            let start = seed.at(3).at(seen.status as u64);
            let start = seen.results.iter().fold(start, |seed, result| {
                mix_seat(seed.at(result.accepted.into()), &result.seat).named(&result.feedback)
            });
            seen.views.iter().fold(start, mix_view)
        }
        Event::Returned(returned) => returned.iter().fold(seed.at(5), |seed, result| {
            mix_seat(seed.at(result.succeeded.into()), &result.seat)
                .named(&result.tool)
                .named(&result.answer)
        }),
    }
}

fn mix_seat(seed: Seed, seat: &Seat) -> Seed {
    seed.named(&seat.role).at(seat.instance.into())
}

fn mix_view(seed: Seed, view: &View) -> Seed {
    let seed = view.seat.as_ref().map_or(seed, |seat| mix_seat(seed, seat));
    view.parts.iter().fold(seed, |seed, part| match part {
        Part::Text(text) => seed.named(text),
        Part::Image(image) => seed.named(&blake3::hash(&image.data).to_hex()),
    })
}

/// A session alive in an instance that is its own while it lives.
pub struct LiveSession {
    workflow: WorkflowPlugin,
    used: Used<Guest>,
    session: ResourceAny,
    roles: Arc<[Role]>,
    briefing: Arc<Briefing>,
    events: Vec<Arc<Event>>,
}

impl LiveSession {
    pub(super) fn start(
        workflow: &WorkflowPlugin,
        roles: Arc<[Role]>,
        briefing: Arc<Briefing>,
    ) -> Result<Self, PluginFailure> {
        Self::open(workflow, (roles, briefing), Vec::new(), None)
    }

    pub(super) fn resume(
        workflow: &WorkflowPlugin,
        state: &SessionState,
    ) -> Result<Self, PluginFailure> {
        let SessionState { roles, briefing, events, saved } = state;
        let opening = (roles.clone(), briefing.clone());
        if saved.is_some() {
            return Self::open(workflow, opening, events.clone(), saved.as_deref());
        }
        let mut live = Self::open(workflow, opening, Vec::new(), None)?;
        events.iter().try_for_each(|event| live.take_in(event.clone()).map(drop))?;
        Ok(live)
    }

    fn open(
        workflow: &WorkflowPlugin,
        (roles, briefing): (Arc<[Role]>, Arc<Briefing>),
        events: Vec<Arc<Event>>,
        saved: Option<&[u8]>,
    ) -> Result<Self, PluginFailure> {
        let mut used = workflow.instance()?;
        let (instance, guest) = used.parts();
        let begin = |store: &mut Store<HostState>| match saved {
            Some(saved) => guest.session().call_resume(store, saved),
            None => guest.session().call_start(store, &briefing),
        };
        let function = if saved.is_some() { "resume" } else { "start" };
        let session = instance.ask(function, events.len(), begin, |_, _| Ok(()))?;
        Ok(LiveSession { workflow: workflow.clone(), used, session, roles, briefing, events })
    }

    /// Reports an event; returns the workflow's credits and what it wants next.
    ///
    /// # Errors
    /// If the workflow fails; the episode is void.
    pub fn advance(&mut self, event: Event) -> Result<Step, PluginFailure> {
        self.take_in(Arc::new(event))
    }

    fn take_in(&mut self, event: Arc<Event>) -> Result<Step, PluginFailure> {
        let Self { used, session, roles, events, .. } = self;
        let (instance, guest) = used.parts();
        let step = instance.ask(
            "advance",
            events.len(),
            |store| guest.session().call_advance(store, *session, &event),
            |step, limit| limit.step(step, roles),
        )?;
        events.push(event);
        Ok(step)
    }

    /// How the seat, which has just been asked, would phrase the expert's
    /// action; nothing if it would not speak to it.
    ///
    /// # Errors
    /// If the workflow fails; the episode is void.
    pub fn demonstrate(
        &mut self,
        seat: &Seat,
        expert: &Action,
    ) -> Result<Option<String>, PluginFailure> {
        let Self { used, session, events, .. } = self;
        let (instance, guest) = used.parts();
        let what = "a demonstrated answer";
        instance.ask(
            "demonstrate",
            events.len(),
            |store| guest.session().call_demonstrate(store, *session, seat, expert),
            |text, limit| text.iter().try_for_each(|text| limit.demonstration(what, text)),
        )
    }

    /// The session as a value, from which it can be resumed.
    ///
    /// # Errors
    /// If the workflow fails; the episode is void.
    pub fn save(&mut self) -> Result<SessionState, PluginFailure> {
        let Self { used, session, roles, briefing, events, .. } = self;
        let (instance, guest) = used.parts();
        let saved = instance.ask(
            "save",
            events.len(),
            |store| guest.session().call_save(store, *session),
            |state, limit| limit.saved(state),
        )?;
        let (roles, briefing, events) = (roles.clone(), briefing.clone(), events.clone());
        Ok(SessionState { roles, briefing, events, saved: saved.map(Into::into) })
    }

    /// The lines the plugin logged since the last time.
    pub fn take_log(&mut self) -> Vec<LogLine> {
        self.used.parts().0.take_log()
    }
}

impl Drop for LiveSession {
    fn drop(&mut self) {
        self.workflow.shared.kept.give_back(&mut self.used, self.session);
    }
}

impl std::fmt::Debug for LiveSession {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("LiveSession").finish_non_exhaustive()
    }
}
