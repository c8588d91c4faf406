//! A component's environment as the conformance suite sees it.

use plugin_sdk::testing::{EnvironmentUnderTest, EpisodeUnderTest};

use super::{Archive, problem};
use troupe_guests::plugin::{
    Action, Configured, EnvironmentConfiguration, EnvironmentDescription, EnvironmentPlugin,
    EnvironmentState, LiveEpisode, Move, Outcome, Part, Problem, Rendering, Seat, Settings, Task,
};

/// An environment behind the sandbox. Every episode has an instance of its own.
pub(super) struct ComponentEnvironment<'a> {
    plugin: &'a EnvironmentPlugin,
    saved: Archive<EnvironmentState>,
}

struct ComponentEpisode<'a> {
    live: LiveEpisode,
    saved: &'a Archive<EnvironmentState>,
}

impl<'a> ComponentEnvironment<'a> {
    pub(super) fn new(plugin: &'a EnvironmentPlugin) -> Self {
        ComponentEnvironment { plugin, saved: Archive::new() }
    }

    fn episode(&self, live: LiveEpisode) -> Box<dyn EpisodeUnderTest + '_> {
        Box::new(ComponentEpisode { live, saved: &self.saved })
    }
}

impl EnvironmentUnderTest for ComponentEnvironment<'_> {
    fn describe(&self) -> Result<EnvironmentDescription, Problem> {
        Ok(self.plugin.description().clone())
    }

    fn configure(&self, settings: &[Configured]) -> Result<EnvironmentConfiguration, Problem> {
        self.plugin.configure(&Settings::from(settings)).map_err(problem)
    }

    fn questioned_twice(
        &self,
        settings: &[Configured],
    ) -> Result<[(EnvironmentDescription, EnvironmentConfiguration); 2], Problem> {
        self.plugin.questioned_twice(&Settings::from(settings)).map_err(problem)
    }

    fn start(&self, task: &Task) -> Result<Box<dyn EpisodeUnderTest + '_>, Problem> {
        Ok(self.episode(self.plugin.start(task).map_err(problem)?))
    }

    fn resume(&self, state: &[u8]) -> Result<Box<dyn EpisodeUnderTest + '_>, Problem> {
        let state = self.saved.find(state).map_err(Problem::state)?;
        Ok(self.episode(self.plugin.resume(&state).map_err(problem)?))
    }

    fn render(&self, state: &[u8]) -> Option<Result<Rendering, Problem>> {
        match self.saved.find(state) {
            Err(unknown) => Some(Err(Problem::state(unknown))),
            Ok(state) => self.plugin.render(&state).map_err(problem).transpose(),
        }
    }
}

impl EpisodeUnderTest for ComponentEpisode<'_> {
    fn rules(&mut self, seat: &Seat) -> Result<String, Problem> {
        self.live.rules(seat).map_err(problem)
    }

    fn observe(&mut self, seat: &Seat) -> Result<Vec<Part>, Problem> {
        self.live.observe(seat).map_err(problem)
    }

    fn act(&mut self, moves: &[Move]) -> Result<Outcome, Problem> {
        self.live.act(moves.to_vec()).map_err(problem)
    }

    fn demonstrate(&mut self, seat: &Seat) -> Result<Option<Action>, Problem> {
        self.live.demonstrate(seat).map_err(problem)
    }

    fn reveal(&mut self) -> Result<Option<String>, Problem> {
        self.live.reveal().map_err(problem)
    }

    fn save(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        let state = self.live.save().map_err(problem)?;
        Ok(self.saved.keep(state.saved().map(<[u8]>::to_vec), state))
    }

    fn restart(&mut self, task: &Task) -> Result<(), Problem> {
        self.live.restart(task).map_err(problem)
    }
}
