//! Types that implement the SDK's traits, put under test without WebAssembly.

use std::marker::PhantomData;

use super::{EnvironmentUnderTest, EpisodeUnderTest, SessionUnderTest, WorkflowUnderTest};
use crate::environment::{self, Action, Environment, Episode, Outcome, Task};
use crate::settings::Settings;
use crate::workflow::{self, Briefing, Directive, Event, Workflow};

/// An environment or a workflow in this very program.
pub struct Native<T>(PhantomData<T>);

impl<T> Default for Native<T> {
    fn default() -> Self {
        Native(PhantomData)
    }
}

impl<E: Environment + 'static> EnvironmentUnderTest for Native<E> {
    fn describe(&self) -> Result<environment::Description, environment::Problem> {
        Ok(E::describe())
    }

    fn vocabulary(&self, settings: &Settings) -> Result<Vec<String>, environment::Problem> {
        E::vocabulary(settings)
    }

    fn start(&self, task: &Task) -> Result<Box<dyn EpisodeUnderTest>, environment::Problem> {
        Ok(Box::new(Episode::<E>::start(task)?))
    }

    fn resume(&self, state: &[u8]) -> Result<Box<dyn EpisodeUnderTest>, environment::Problem> {
        Ok(Box::new(Episode::<E>::resume(state)?))
    }
}

impl<E: Environment> EpisodeUnderTest for Episode<E> {
    fn rules(&mut self) -> Result<String, environment::Problem> {
        Ok(self.environment().rules())
    }

    fn observe(&mut self) -> Result<String, environment::Problem> {
        Ok(self.environment().observe())
    }

    fn act(&mut self, role: &str, action: &Action) -> Result<Outcome, environment::Problem> {
        Episode::act(self, role, action)
    }

    fn demonstrate(&mut self) -> Result<Option<Action>, environment::Problem> {
        Ok(Episode::demonstrate(self))
    }

    fn save(&mut self) -> Result<Option<Vec<u8>>, environment::Problem> {
        Ok(Episode::save(self))
    }
}

impl<W: Workflow + 'static> WorkflowUnderTest for Native<W> {
    fn describe(&self) -> Result<workflow::Description, workflow::Problem> {
        Ok(W::describe())
    }

    fn vocabulary(&self, settings: &Settings) -> Result<Vec<String>, workflow::Problem> {
        Ok(W::vocabulary(settings))
    }

    fn start(&self, briefing: &Briefing) -> Result<Box<dyn SessionUnderTest>, workflow::Problem> {
        Ok(Box::new(NativeSession(W::start(briefing)?)))
    }

    fn resume(&self, state: &[u8]) -> Result<Box<dyn SessionUnderTest>, workflow::Problem> {
        Ok(Box::new(NativeSession(W::resume(state)?)))
    }
}

struct NativeSession<W>(W);

impl<W: Workflow> SessionUnderTest for NativeSession<W> {
    fn advance(&mut self, event: Event) -> Result<Directive, workflow::Problem> {
        self.0.advance(event)
    }

    fn demonstrate(
        &mut self,
        role: &str,
        expert: &Action,
    ) -> Result<Option<String>, workflow::Problem> {
        Ok(self.0.demonstrate(role, expert))
    }

    fn save(&mut self) -> Result<Option<Vec<u8>>, workflow::Problem> {
        Ok(self.0.save())
    }
}
