//! Types that implement the SDK's traits, put under test without WebAssembly.

use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{EnvironmentUnderTest, EpisodeUnderTest, SessionUnderTest, WorkflowUnderTest};
use crate::environment::{self, Action, Environment, Episode, Outcome, Problem, Task};
use crate::settings::Settings;
use crate::workflow::{self, Briefing, Directive, Event, Workflow};

/// An environment or a workflow in this very program.
pub struct Native<T>(PhantomData<T>);

impl<T> Default for Native<T> {
    fn default() -> Self {
        Native(PhantomData)
    }
}

/// A panic is the plugin's own fault, as a trap is in a component.
fn caught<R>(call: impl FnOnce() -> Result<R, Problem>) -> Result<R, Problem> {
    let panicked = |payload: Box<dyn Any + Send>| {
        let literal = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let words = literal.or_else(|| payload.downcast_ref::<String>().cloned());
        Problem::Internal(format!("it panicked: {}", words.unwrap_or_default()))
    };
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| Err(panicked(payload)))
}

impl<E: Environment + 'static> EnvironmentUnderTest for Native<E> {
    fn describe(&self) -> Result<environment::Description, Problem> {
        caught(|| Ok(E::describe()))
    }

    fn vocabulary(&self, settings: &Settings) -> Result<Vec<String>, Problem> {
        caught(|| E::vocabulary(settings))
    }

    fn start(&self, task: &Task) -> Result<Box<dyn EpisodeUnderTest>, Problem> {
        caught(|| Ok(Box::new(Episode::<E>::start(task)?) as Box<dyn EpisodeUnderTest>))
    }

    fn resume(&self, state: &[u8]) -> Result<Box<dyn EpisodeUnderTest>, Problem> {
        caught(|| Ok(Box::new(Episode::<E>::resume(state)?) as Box<dyn EpisodeUnderTest>))
    }
}

impl<E: Environment> EpisodeUnderTest for Episode<E> {
    fn rules(&mut self) -> Result<String, Problem> {
        caught(|| Ok(self.environment().rules()))
    }

    fn observe(&mut self) -> Result<String, Problem> {
        caught(|| Ok(self.environment().observe()))
    }

    fn act(&mut self, role: &str, action: &Action) -> Result<Outcome, Problem> {
        caught(|| Episode::act(self, role, action))
    }

    fn demonstrate(&mut self) -> Result<Option<Action>, Problem> {
        caught(|| Ok(Episode::demonstrate(self)))
    }

    fn save(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        caught(|| Ok(Episode::save(self)))
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
