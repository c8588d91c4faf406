//! The glue between an author's type and the generated bindings: what
//! [`export!`](crate::export) exports.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::marker::PhantomData;

use crate::bindings::environment_plugin::exports::troupe::plugin::environment as exported_environment;
use crate::bindings::interpreter_plugin::exports::troupe::plugin::interpreter as exported_interpreter;
use crate::bindings::interpreter_plugin::troupe::plugin::streams::{self, Output};
use crate::bindings::rendering_plugin::exports::troupe::plugin::rendering as exported_rendering;
use crate::bindings::workflow_plugin::exports::troupe::plugin::workflow as exported_workflow;
use crate::environment::{self, Environment, Episode};
use crate::interpreter::{self, Interpreter, Streams};
use crate::log::warning;
use crate::rendering::{Rendered, Rendering};
use crate::settings;
use crate::types::{Action, ActionKind, Configured, Part, Problem, Seat};
use crate::workflow::{self, Workflow};

/// Write panics of this plugin to the log from now on. A native program shows
/// them anyway.
fn log_panics() {
    if cfg!(target_family = "wasm") {
        std::panic::set_hook(Box::new(|panic| warning(&panic.to_string())));
    }
}

/// The component that brings environment `E`.
pub struct EnvironmentComponent<E>(PhantomData<E>);

/// The component's `episode` resource.
pub struct EpisodeResource<E>(RefCell<Episode<E>>);

impl<E: Environment + 'static> EpisodeResource<E> {
    /// Writes panics to the log, if the author wants that, and hands out what
    /// was begun or resumed.
    fn open(
        begin: impl FnOnce() -> Result<Episode<E>, Problem>,
    ) -> Result<exported_environment::Episode, Problem> {
        if E::LOG_PANICS {
            log_panics();
        }
        let resource = EpisodeResource(RefCell::new(begin()?));
        Ok(exported_environment::Episode::new(resource))
    }
}

impl<E: Environment + 'static> exported_environment::Guest for EnvironmentComponent<E> {
    type Episode = EpisodeResource<E>;

    fn describe() -> environment::Description {
        E::describe()
    }

    fn configure(settings: Vec<Configured>) -> Result<environment::Configuration, Problem> {
        settings::check(&E::describe().settings, &settings)?;
        E::configure(&settings)
    }
}

impl<E: Environment + 'static> exported_environment::GuestEpisode for EpisodeResource<E> {
    fn start(task: environment::Task) -> Result<exported_environment::Episode, Problem> {
        Self::open(|| Episode::start(&task))
    }

    fn rules(&self, seat: Seat) -> Result<String, Problem> {
        Ok(self.0.borrow().environment().rules(&seat))
    }

    fn observe(&self, seat: Seat) -> Result<Vec<Part>, Problem> {
        Ok(self.0.borrow().observe(&seat))
    }

    fn act(&self, moves: Vec<environment::Move>) -> Result<environment::Outcome, Problem> {
        self.0.borrow_mut().act(&moves)
    }

    fn demonstrate(&self, seat: Seat) -> Result<Option<Action>, Problem> {
        Ok(self.0.borrow().demonstrate(&seat))
    }

    fn reveal(&self) -> Result<Option<String>, Problem> {
        Ok(self.0.borrow().environment().reveal())
    }

    fn save(&self) -> Result<Option<Vec<u8>>, Problem> {
        Ok(self.0.borrow().save())
    }

    fn resume(state: Vec<u8>) -> Result<exported_environment::Episode, Problem> {
        Self::open(|| Episode::resume(&state))
    }
}

/// The component that says how episodes of `E` look.
pub struct RenderingComponent<E>(PhantomData<E>);

impl<E: Rendered + 'static> exported_rendering::Guest for RenderingComponent<E> {
    fn render(state: Vec<u8>) -> Result<Rendering, Problem> {
        Ok(Episode::<E>::resume(&state)?.environment().render())
    }
}

/// The component that brings workflow `W`.
pub struct WorkflowComponent<W>(PhantomData<W>);

/// The component's `session` resource.
pub struct SessionResource<W>(RefCell<W>);

impl<W: Workflow + 'static> SessionResource<W> {
    fn open(
        begin: impl FnOnce() -> Result<W, Problem>,
    ) -> Result<exported_workflow::Session, Problem> {
        if W::LOG_PANICS {
            log_panics();
        }
        Ok(exported_workflow::Session::new(SessionResource(RefCell::new(begin()?))))
    }
}

impl<W: Workflow + 'static> exported_workflow::Guest for WorkflowComponent<W> {
    type Session = SessionResource<W>;

    fn describe() -> workflow::Description {
        W::describe()
    }

    fn configure(
        settings: Vec<Configured>,
        environment: Vec<ActionKind>,
    ) -> Result<workflow::Configuration, Problem> {
        settings::check(&W::describe().settings, &settings)?;
        W::configure(&settings, &environment)
    }
}

impl<W: Workflow + 'static> exported_workflow::GuestSession for SessionResource<W> {
    fn start(briefing: workflow::Briefing) -> Result<exported_workflow::Session, Problem> {
        Self::open(|| W::start(&briefing))
    }

    fn advance(&self, event: workflow::Event) -> Result<workflow::Step, Problem> {
        self.0.borrow_mut().advance(event)
    }

    fn demonstrate(&self, seat: Seat, expert: Action) -> Result<Option<String>, Problem> {
        Ok(self.0.borrow().demonstrate(&seat, &expert))
    }

    fn save(&self) -> Result<Option<Vec<u8>>, Problem> {
        Ok(self.0.borrow().save())
    }

    fn resume(state: Vec<u8>) -> Result<exported_workflow::Session, Problem> {
        Self::open(|| W::resume(&state))
    }
}

/// The component that brings interpreter `I`.
pub struct InterpreterComponent<I>(PhantomData<I>);

impl<I: Interpreter + 'static> exported_interpreter::Guest for InterpreterComponent<I> {
    fn describe() -> interpreter::Description {
        I::describe()
    }

    fn run(program: Vec<u8>, arguments: Vec<String>) -> interpreter::Ending {
        let (mut stdin, mut stdout) = (HostInput, HostOutput(Output::Stdout));
        let mut stderr = HostOutput(Output::Stderr);
        let streams = Streams { stdin: &mut stdin, stdout: &mut stdout, stderr: &mut stderr };
        I::run(&program, &arguments, streams)
    }
}

/// Standard input, as the host serves it.
struct HostInput;

impl Read for HostInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let limit = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let bytes = streams::read(limit);
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        Ok(count)
    }
}

/// One of the output streams, as the host takes it.
struct HostOutput(Output);

impl Write for HostOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        streams::write(self.0, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
