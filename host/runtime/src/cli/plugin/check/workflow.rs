//! A component's workflow as the conformance suite sees it.

use plugin_sdk::Settings;
use plugin_sdk::environment::Action;
use plugin_sdk::testing::{SessionUnderTest, WorkflowUnderTest};
use plugin_sdk::workflow as sdk;

use super::{Archive, settings};
use crate::plugin as host;
use crate::trajectory::{Author, Message, Status};

/// A workflow behind the sandbox. Every session has an instance of its own.
pub(super) struct ComponentWorkflow<'a> {
    plugin: &'a host::WorkflowPlugin,
    saved: Archive<host::SessionState>,
}

struct ComponentSession<'a> {
    live: host::LiveSession,
    saved: &'a Archive<host::SessionState>,
}

impl<'a> ComponentWorkflow<'a> {
    pub(super) fn new(plugin: &'a host::WorkflowPlugin) -> Self {
        ComponentWorkflow { plugin, saved: Archive::new() }
    }

    fn configure(&self, given: &Settings) -> Result<host::Settings, sdk::Problem> {
        let configured = self.plugin.configure(&settings::table(given));
        configured.map_err(|error| sdk::Problem::InvalidSettings(error.to_string()))
    }

    fn session(&self, live: host::LiveSession) -> Box<dyn SessionUnderTest + '_> {
        Box::new(ComponentSession { live, saved: &self.saved })
    }
}

impl WorkflowUnderTest for ComponentWorkflow<'_> {
    fn describe(&self) -> Result<sdk::Description, sdk::Problem> {
        let description = self.plugin.description().clone();
        let role = |role: host::Role| sdk::Role { name: role.name, summary: role.summary };
        Ok(sdk::Description {
            name: description.name,
            version: description.version,
            summary: description.summary,
            settings: settings::declared(&description.settings),
            roles: description.roles.into_iter().map(role).collect(),
            actions: description.actions,
        })
    }

    fn vocabulary(&self, settings: &Settings) -> Result<Vec<String>, sdk::Problem> {
        self.plugin.vocabulary(&self.configure(settings)?).map_err(problem)
    }

    fn start(
        &self,
        briefing: &sdk::Briefing,
    ) -> Result<Box<dyn SessionUnderTest + '_>, sdk::Problem> {
        let actions = briefing.actions.iter();
        let briefing = host::Briefing {
            environment: briefing.environment.clone(),
            rules: briefing.rules.clone(),
            actions: actions.map(|kind| (kind.name.clone(), kind.summary.clone())).collect(),
            settings: self.configure(&briefing.settings)?,
            max_turns: briefing.max_turns,
        };
        Ok(self.session(self.plugin.start(&briefing).map_err(problem)?))
    }

    fn resume(&self, state: &[u8]) -> Result<Box<dyn SessionUnderTest + '_>, sdk::Problem> {
        let state = self.saved.find(state).map_err(sdk::Problem::InvalidState)?;
        Ok(self.session(self.plugin.resume(&state).map_err(problem)?))
    }
}

impl SessionUnderTest for ComponentSession<'_> {
    fn advance(&mut self, event: sdk::Event) -> Result<sdk::Directive, sdk::Problem> {
        self.live.advance(self::event(event)).map(directive).map_err(problem)
    }

    fn demonstrate(&mut self, role: &str, expert: &Action) -> Result<Option<String>, sdk::Problem> {
        self.live.demonstrate(role, &expert.kind, &expert.text).map_err(problem)
    }

    fn save(&mut self) -> Result<Option<Vec<u8>>, sdk::Problem> {
        let state = self.live.save().map_err(problem)?;
        Ok(self.saved.keep(state.saved().map(<[u8]>::to_vec), state))
    }
}

fn event(event: sdk::Event) -> host::Event {
    match event {
        sdk::Event::Begun(observation) => host::Event::Begun(observation),
        sdk::Event::Replied(sdk::Reply { role, text, complete }) => {
            host::Event::Replied { role, text, complete }
        }
        sdk::Event::Acted(sdk::Effect { role, accepted, feedback, observation, status }) => {
            let status = match status {
                sdk::Status::Ongoing => Status::Ongoing,
                sdk::Status::Solved => Status::Solved,
                sdk::Status::Failed => Status::Failed,
            };
            host::Event::Acted { role, accepted, feedback, observation, status }
        }
        sdk::Event::Ran(sdk::Execution { role, succeeded, stdout, stderr }) => {
            host::Event::Ran { role, succeeded, stdout, stderr }
        }
    }
}

fn directive(directive: host::Directive) -> sdk::Directive {
    match directive {
        host::Directive::Ask(requests) => {
            sdk::Directive::Ask(requests.into_iter().map(request).collect())
        }
        host::Directive::Act(action) => {
            sdk::Directive::Act(action.role, Action { kind: action.kind, text: action.text })
        }
        host::Directive::Run(host::Program { role, language, source, stdin }) => {
            sdk::Directive::Run(sdk::Program { role, language, source, stdin })
        }
        host::Directive::Wait => sdk::Directive::Wait,
        host::Directive::Finish => sdk::Directive::Finish,
    }
}

fn request(request: host::Request) -> sdk::Request {
    let message = |message: Message| sdk::Message {
        author: match message.author {
            Author::System => sdk::Author::System,
            Author::User => sdk::Author::User,
            Author::Assistant => sdk::Author::Assistant,
        },
        text: message.text,
    };
    sdk::Request {
        role: request.role,
        messages: request.messages.into_iter().map(message).collect(),
    }
}

/// What the guest said is wrong, in the SDK's words; every other failure, and
/// what the guest calls its own fault, with the call it happened in.
fn problem(failure: host::PluginFailure) -> sdk::Problem {
    let host::Cause::Problem { problem } = &failure.cause else {
        return sdk::Problem::Internal(failure.to_string());
    };
    match problem.clone() {
        host::Problem::InvalidSettings(text) => sdk::Problem::InvalidSettings(text),
        host::Problem::InvalidState(text) => sdk::Problem::InvalidState(text),
        host::Problem::UnexpectedEvent(text) => sdk::Problem::UnexpectedEvent(text),
        host::Problem::InvalidTask(_) | host::Problem::Finished | host::Problem::Internal(_) => {
            sdk::Problem::Internal(failure.to_string())
        }
    }
}
