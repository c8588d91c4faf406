//! Types that implement the SDK's traits, put under test without WebAssembly.

use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{EnvironmentUnderTest, EpisodeUnderTest, SessionUnderTest, WorkflowUnderTest};
use crate::environment::{self, Environment, Episode, Move, Outcome, Task};
use crate::settings;
use crate::types::{Action, ActionKind, Configured, Part, Problem, Seat};
use crate::workflow::{self, Briefing, Event, Step, Workflow};

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
        Problem::internal(format!("it panicked: {}", words.unwrap_or_default()))
    };
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| Err(panicked(payload)))
}

impl<E: Environment + 'static> EnvironmentUnderTest for Native<E> {
    fn describe(&self) -> Result<environment::Description, Problem> {
        caught(|| Ok(E::describe()))
    }

    fn configure(&self, settings: &[Configured]) -> Result<environment::Configuration, Problem> {
        caught(|| {
            settings::check(&E::describe().settings, settings)?;
            E::configure(settings)
        })
    }

    fn start(&self, task: &Task) -> Result<Box<dyn EpisodeUnderTest>, Problem> {
        caught(|| Ok(Box::new(Episode::<E>::start(task)?) as Box<dyn EpisodeUnderTest>))
    }

    fn resume(&self, state: &[u8]) -> Result<Box<dyn EpisodeUnderTest>, Problem> {
        caught(|| Ok(Box::new(Episode::<E>::resume(state)?) as Box<dyn EpisodeUnderTest>))
    }
}

impl<E: Environment> EpisodeUnderTest for Episode<E> {
    fn rules(&mut self, seat: &Seat) -> Result<String, Problem> {
        caught(|| Ok(self.environment().rules(seat)))
    }

    fn observe(&mut self, seat: &Seat) -> Result<Vec<Part>, Problem> {
        caught(|| Ok(Episode::observe(self, seat)))
    }

    fn act(&mut self, moves: &[Move]) -> Result<Outcome, Problem> {
        caught(|| Episode::act(self, moves))
    }

    fn demonstrate(&mut self, seat: &Seat) -> Result<Option<Action>, Problem> {
        caught(|| Ok(Episode::demonstrate(self, seat)))
    }

    fn reveal(&mut self) -> Result<Option<String>, Problem> {
        caught(|| Ok(self.environment().reveal()))
    }

    fn save(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        caught(|| Ok(Episode::save(self)))
    }

    fn restart(&mut self, task: &Task) -> Result<(), Problem> {
        *self = caught(|| Episode::start(task))?;
        Ok(())
    }
}

impl<W: Workflow + 'static> WorkflowUnderTest for Native<W> {
    fn describe(&self) -> Result<workflow::Description, Problem> {
        caught(|| Ok(W::describe()))
    }

    fn configure(
        &self,
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<workflow::Configuration, Problem> {
        caught(|| {
            settings::check(&W::describe().settings, settings)?;
            W::configure(settings, environment)
        })
    }

    fn start(&self, briefing: &Briefing) -> Result<Box<dyn SessionUnderTest>, Problem> {
        caught(|| Ok(Box::new(NativeSession(W::start(briefing)?)) as Box<dyn SessionUnderTest>))
    }

    fn resume(&self, state: &[u8]) -> Result<Box<dyn SessionUnderTest>, Problem> {
        caught(|| Ok(Box::new(NativeSession(W::resume(state)?)) as Box<dyn SessionUnderTest>))
    }
}

struct NativeSession<W>(W);

impl<W: Workflow> SessionUnderTest for NativeSession<W> {
    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        caught(|| self.0.advance(event))
    }

    fn demonstrate(&mut self, seat: &Seat, expert: &Action) -> Result<Option<String>, Problem> {
        caught(|| Ok(self.0.demonstrate(seat, expert)))
    }

    fn save(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        caught(|| Ok(self.0.save()))
    }
}
