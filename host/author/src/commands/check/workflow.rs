//! A component's workflow as the conformance suite sees it.

use std::cell::RefCell;
use std::sync::Arc;

use plugin_sdk::testing::{SessionUnderTest, WorkflowUnderTest};

use super::{Archive, problem};
use troupe_guests::plugin::{
    Action, ActionKind, Briefing, Configured, Event, LiveSession, Problem, Role, Seat,
    SessionState, Settings, Step, WorkflowConfiguration, WorkflowDescription, WorkflowPlugin,
};

/// A workflow behind the sandbox. Every session has an instance of its own.
pub(super) struct ComponentWorkflow<'a> {
    plugin: &'a WorkflowPlugin,
    /// The roles it had when it was configured last.
    roles: RefCell<Arc<[Role]>>,
    saved: Archive<SessionState>,
}

struct ComponentSession<'a> {
    live: LiveSession,
    saved: &'a Archive<SessionState>,
}

impl<'a> ComponentWorkflow<'a> {
    pub(super) fn new(plugin: &'a WorkflowPlugin) -> Self {
        ComponentWorkflow { plugin, roles: RefCell::new(Arc::new([])), saved: Archive::new() }
    }

    fn session(&self, live: LiveSession) -> Box<dyn SessionUnderTest + '_> {
        Box::new(ComponentSession { live, saved: &self.saved })
    }
}

impl WorkflowUnderTest for ComponentWorkflow<'_> {
    fn describe(&self) -> Result<WorkflowDescription, Problem> {
        Ok(self.plugin.description().clone())
    }

    fn configure(
        &self,
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<WorkflowConfiguration, Problem> {
        let configured = self.plugin.configure(&Settings::from(settings), environment);
        let configuration = configured.map_err(problem)?;
        self.roles.replace(configuration.roles.clone().into());
        Ok(configuration)
    }

    fn questioned_twice(
        &self,
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<[(WorkflowDescription, WorkflowConfiguration); 2], Problem> {
        self.plugin.questioned_twice(&Settings::from(settings), environment).map_err(problem)
    }

    fn start(&self, briefing: &Briefing) -> Result<Box<dyn SessionUnderTest + '_>, Problem> {
        let live = self.plugin.start(&self.roles.borrow(), briefing);
        Ok(self.session(live.map_err(problem)?))
    }

    fn resume(&self, state: &[u8]) -> Result<Box<dyn SessionUnderTest + '_>, Problem> {
        let state = self.saved.find(state).map_err(Problem::state)?;
        Ok(self.session(self.plugin.resume(&state).map_err(problem)?))
    }
}

impl SessionUnderTest for ComponentSession<'_> {
    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        self.live.advance(event).map_err(problem)
    }

    fn demonstrate(&mut self, seat: &Seat, expert: &Action) -> Result<Option<String>, Problem> {
        self.live.demonstrate(seat, expert).map_err(problem)
    }

    fn save(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        let state = self.live.save().map_err(problem)?;
        Ok(self.saved.keep(state.saved().map(<[u8]>::to_vec), state))
    }
}
