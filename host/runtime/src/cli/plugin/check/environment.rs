//! A component's environment as the conformance suite sees it.

use plugin_sdk::Settings;
use plugin_sdk::environment as sdk;
use plugin_sdk::testing::{EnvironmentUnderTest, EpisodeUnderTest};

use super::{Archive, settings};
use crate::plugin as host;
use crate::trajectory::Status;

/// An environment behind the sandbox. Every episode has an instance of its own.
pub(super) struct ComponentEnvironment<'a> {
    plugin: &'a host::EnvironmentPlugin,
    saved: Archive<host::EnvironmentState>,
}

struct ComponentEpisode<'a> {
    live: host::LiveEpisode,
    saved: &'a Archive<host::EnvironmentState>,
}

impl<'a> ComponentEnvironment<'a> {
    pub(super) fn new(plugin: &'a host::EnvironmentPlugin) -> Self {
        ComponentEnvironment { plugin, saved: Archive::new() }
    }

    fn configure(&self, given: &Settings) -> Result<host::Settings, sdk::Problem> {
        let configured = self.plugin.configure(&settings::table(given));
        configured.map_err(|error| sdk::Problem::InvalidSettings(error.to_string()))
    }

    fn episode(&self, live: host::LiveEpisode) -> Box<dyn EpisodeUnderTest + '_> {
        Box::new(ComponentEpisode { live, saved: &self.saved })
    }
}

impl EnvironmentUnderTest for ComponentEnvironment<'_> {
    fn describe(&self) -> Result<sdk::Description, sdk::Problem> {
        let description = self.plugin.description().clone();
        let action =
            |kind: host::ActionKind| sdk::ActionKind { name: kind.name, summary: kind.summary };
        Ok(sdk::Description {
            name: description.name,
            version: description.version,
            summary: description.summary,
            settings: settings::declared(&description.settings),
            actions: description.actions.into_iter().map(action).collect(),
            workflows: description.workflows,
            max_turns: description.max_turns,
        })
    }

    fn vocabulary(&self, settings: &Settings) -> Result<Vec<String>, sdk::Problem> {
        self.plugin.vocabulary(&self.configure(settings)?).map_err(problem)
    }

    fn start(&self, task: &sdk::Task) -> Result<Box<dyn EpisodeUnderTest + '_>, sdk::Problem> {
        let task = host::Task {
            split: split(task.split),
            seed: task.seed,
            settings: self.configure(&task.settings)?,
            entry: task.entry.clone(),
        };
        Ok(self.episode(self.plugin.start(&task).map_err(problem)?))
    }

    fn resume(&self, state: &[u8]) -> Result<Box<dyn EpisodeUnderTest + '_>, sdk::Problem> {
        let state = self.saved.find(state).map_err(sdk::Problem::InvalidState)?;
        Ok(self.episode(self.plugin.resume(&state).map_err(problem)?))
    }
}

impl EpisodeUnderTest for ComponentEpisode<'_> {
    fn rules(&mut self) -> Result<String, sdk::Problem> {
        self.live.rules().map_err(problem)
    }

    fn observe(&mut self) -> Result<String, sdk::Problem> {
        self.live.observe().map_err(problem)
    }

    fn act(&mut self, role: &str, action: &sdk::Action) -> Result<sdk::Outcome, sdk::Problem> {
        let outcome = self.live.act(role, &action.kind, &action.text);
        outcome.map(self::outcome).map_err(problem)
    }

    fn demonstrate(&mut self) -> Result<Option<sdk::Action>, sdk::Problem> {
        let action = self.live.demonstrate().map_err(problem)?;
        Ok(action.map(|(kind, text)| sdk::Action { kind, text }))
    }

    fn save(&mut self) -> Result<Option<Vec<u8>>, sdk::Problem> {
        let state = self.live.save().map_err(problem)?;
        Ok(self.saved.keep(state.saved().map(<[u8]>::to_vec), state))
    }
}

fn split(split: sdk::Split) -> host::Split {
    match split {
        sdk::Split::Train => host::Split::Train,
        sdk::Split::Validation => host::Split::Validation,
        sdk::Split::Test => host::Split::Test,
    }
}

fn outcome(outcome: host::Outcome) -> sdk::Outcome {
    let parts = outcome.reward.parts.into_iter();
    sdk::Outcome {
        feedback: outcome.feedback,
        accepted: outcome.accepted,
        team: outcome.reward.team,
        local: outcome.reward.local,
        parts: parts.map(|(name, value)| sdk::RewardPart { name, value }).collect(),
        status: match outcome.status {
            Status::Ongoing => sdk::Status::Ongoing,
            Status::Solved => sdk::Status::Solved,
            Status::Failed => sdk::Status::Failed,
        },
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
        host::Problem::InvalidTask(text) => sdk::Problem::InvalidTask(text),
        host::Problem::InvalidState(text) => sdk::Problem::InvalidState(text),
        host::Problem::Finished => sdk::Problem::Finished,
        host::Problem::UnexpectedEvent(_) | host::Problem::Internal(_) => {
            sdk::Problem::Internal(failure.to_string())
        }
    }
}
