//! The glue between an author's type and the generated bindings: what
//! [`export!`](crate::export) exports.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::marker::PhantomData;

use crate::bindings::environment_plugin::exports::troupe::plugin::environment as wit_environment;
use crate::bindings::interpreter_plugin::exports::troupe::plugin::interpreter as wit_interpreter;
use crate::bindings::interpreter_plugin::troupe::plugin::streams::{self, Output};
use crate::bindings::workflow_plugin::exports::troupe::plugin::workflow as wit_workflow;
use crate::environment::{Environment, Episode};
use crate::interpreter::{Interpreter, Streams};
use crate::log::log_panics;
use crate::settings::Settings;
use crate::workflow::Workflow;

/// The component that brings environment `E`.
pub struct EnvironmentComponent<E>(PhantomData<E>);

/// The component's `episode` resource.
pub struct EpisodeResource<E>(RefCell<Episode<E>>);

impl<E: Environment + 'static> wit_environment::Guest for EnvironmentComponent<E> {
    type Episode = EpisodeResource<E>;

    fn describe() -> wit_environment::Description {
        E::describe().into()
    }

    fn vocabulary(
        settings: Vec<wit_environment::Configured>,
    ) -> Result<Vec<String>, wit_environment::Problem> {
        let settings: Settings = settings.into_iter().map(Into::into).collect();
        Ok(E::vocabulary(&settings)?)
    }
}

impl<E: Environment + 'static> wit_environment::GuestEpisode for EpisodeResource<E> {
    fn start(
        task: wit_environment::Task,
    ) -> Result<wit_environment::Episode, wit_environment::Problem> {
        if E::LOG_PANICS {
            log_panics();
        }
        let episode = Episode::<E>::start(&task.into())?;
        Ok(wit_environment::Episode::new(EpisodeResource(RefCell::new(episode))))
    }

    fn rules(&self) -> String {
        self.0.borrow().environment().rules()
    }

    fn observe(&self) -> Result<String, wit_environment::Problem> {
        Ok(self.0.borrow().environment().observe())
    }

    fn act(
        &self,
        role: String,
        action: wit_environment::Action,
    ) -> Result<wit_environment::Outcome, wit_environment::Problem> {
        Ok(self.0.borrow_mut().act(&role, &action.into())?.into())
    }

    fn demonstrate(&self) -> Option<wit_environment::Action> {
        self.0.borrow().demonstrate().map(Into::into)
    }

    fn save(&self) -> Option<Vec<u8>> {
        self.0.borrow().save()
    }

    fn resume(state: Vec<u8>) -> Result<wit_environment::Episode, wit_environment::Problem> {
        if E::LOG_PANICS {
            log_panics();
        }
        let episode = Episode::<E>::resume(&state)?;
        Ok(wit_environment::Episode::new(EpisodeResource(RefCell::new(episode))))
    }
}

/// The component that brings workflow `W`.
pub struct WorkflowComponent<W>(PhantomData<W>);

/// The component's `session` resource.
pub struct SessionResource<W>(RefCell<W>);

impl<W: Workflow + 'static> wit_workflow::Guest for WorkflowComponent<W> {
    type Session = SessionResource<W>;

    fn describe() -> wit_workflow::Description {
        W::describe().into()
    }

    fn vocabulary(settings: Vec<wit_workflow::Configured>) -> Vec<String> {
        W::vocabulary(&settings.into_iter().map(Into::into).collect())
    }
}

impl<W: Workflow + 'static> wit_workflow::GuestSession for SessionResource<W> {
    fn start(
        briefing: wit_workflow::Briefing,
    ) -> Result<wit_workflow::Session, wit_workflow::Problem> {
        if W::LOG_PANICS {
            log_panics();
        }
        let session = W::start(&briefing.into())?;
        Ok(wit_workflow::Session::new(SessionResource(RefCell::new(session))))
    }

    fn advance(
        &self,
        event: wit_workflow::Event,
    ) -> Result<wit_workflow::Directive, wit_workflow::Problem> {
        Ok(self.0.borrow_mut().advance(event.into())?.into())
    }

    fn demonstrate(&self, role: String, kind: String, text: String) -> Option<String> {
        self.0.borrow().demonstrate(&role, &crate::environment::Action { kind, text })
    }

    fn save(&self) -> Option<Vec<u8>> {
        self.0.borrow().save()
    }

    fn resume(state: Vec<u8>) -> Result<wit_workflow::Session, wit_workflow::Problem> {
        if W::LOG_PANICS {
            log_panics();
        }
        let session = W::resume(&state)?;
        Ok(wit_workflow::Session::new(SessionResource(RefCell::new(session))))
    }
}

/// The component that brings interpreter `I`.
pub struct InterpreterComponent<I>(PhantomData<I>);

impl<I: Interpreter + 'static> wit_interpreter::Guest for InterpreterComponent<I> {
    fn describe() -> wit_interpreter::Description {
        I::describe().into()
    }

    fn run(program: Vec<u8>, arguments: Vec<String>) -> wit_interpreter::Ending {
        let (mut stdin, mut stdout) = (HostInput, HostOutput(Output::Stdout));
        let mut stderr = HostOutput(Output::Stderr);
        let streams = Streams { stdin: &mut stdin, stdout: &mut stdout, stderr: &mut stderr };
        I::run(&program, &arguments, streams).into()
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

/// Compiles only for environments.
pub const fn is_environment<E: Environment>() {}

/// Compiles only for workflows.
pub const fn is_workflow<W: Workflow>() {}

/// Compiles only for interpreters.
pub const fn is_interpreter<I: Interpreter>() {}
