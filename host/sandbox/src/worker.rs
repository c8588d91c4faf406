//! The other end: a process that does nothing but run programs. It is
//! told no secret and holds no file open; should a program ever break out of
//! its instance, this is where it would be.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::path::Path;
use std::process::exit;
use std::sync::mpsc::{Receiver, channel};

use bytes::Bytes;

use super::engine::THREAD_STACK_BYTES;
use super::interpreter::Interpreter;
use super::protocol::{Loaded, Reply, Request, receive, send};
use super::start_error::StartError;
use troupe_core::program::{Program, SandboxError};

/// Serves requests on standard input until it is closed, which ends the
/// process at once, also in the middle of a run.
///
/// # Errors
/// If the worker's engine cannot be set up.
pub fn work() -> Result<(), StartError> {
    let (requests, queue) = channel();
    let runner = std::thread::Builder::new()
        .name("sandbox-worker".to_owned())
        .stack_size(THREAD_STACK_BYTES)
        .spawn(move || serve(&queue))
        .map_err(StartError::engine)?;
    let mut stdin = BufReader::new(io::stdin().lock());
    while let Ok(request) = receive::<Request>(&mut stdin) {
        if requests.send(request).is_err() {
            // The runner is gone; so says its result.
            return runner.join().unwrap_or_else(|_| Err(StartError::engine("a run panicked")));
        }
    }
    exit(0)
}

fn serve(requests: &Receiver<Request>) -> Result<(), StartError> {
    let mut worker =
        Worker { interpreters: BTreeMap::new(), program: Program::new("", Vec::new()) };
    let mut stdout = io::stdout().lock();
    for request in requests {
        if let Some(reply) = worker.answer(request) {
            send(&mut stdout, &reply).map_err(StartError::engine)?;
        }
    }
    Ok(())
}

struct Worker {
    interpreters: BTreeMap<String, Interpreter>,
    program: Program,
}

impl Worker {
    fn answer(&mut self, request: Request) -> Option<Reply> {
        match request {
            Request::Load { file, language, digest } => {
                let loaded = self.load(&file, language, digest.as_deref());
                Some(Reply::Loaded(loaded.map_err(|error| error.to_string())))
            }
            Request::Program { language, source, arguments } => {
                self.program = Program { language, source: source.into(), arguments };
                None
            }
            Request::Run { stdin, limits } => {
                let run = match self.interpreters.get(&self.program.language) {
                    Some(interpreter) => {
                        interpreter.run(&self.program, Bytes::from(stdin), &limits)
                    }
                    None => Err(SandboxError::harness("the worker was not given the interpreter")),
                };
                Some(Reply::Ran(run))
            }
        }
    }

    fn load(
        &mut self,
        file: &Path,
        language: Option<String>,
        digest: Option<&str>,
    ) -> Result<Loaded, StartError> {
        let interpreter = Interpreter::load(file)?;
        if digest.is_some_and(|digest| digest != interpreter.digest()) {
            let file = file.display();
            return Err(StartError::engine(format!("`{file}` changed while it was in use")));
        }
        let language = language.map_or_else(|| interpreter.language(), Ok)?;
        let loaded = Loaded { language, digest: interpreter.digest().to_owned() };
        self.interpreters.insert(loaded.language.clone(), interpreter);
        Ok(loaded)
    }
}
