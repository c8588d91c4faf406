//! A worker process, seen from the process that uses it.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::pool::Source;
use super::protocol::{Loaded, Reply, Request, receive, send};
use troupe_core::program::{Execution, Program, RunLimits, SandboxError};

/// Loading an interpreter may include compiling it.
const LOADING: Duration = Duration::from_secs(600);
/// A worker stops a starved run itself; one that has not answered so long
/// after that hangs.
const GRACE: Duration = Duration::from_secs(10);

/// A running worker. Dropping it ends the process.
pub(super) struct WorkerProcess {
    child: Child,
    requests: ChildStdin,
    replies: Receiver<io::Result<Reply>>,
    /// Digests of the interpreters it has, by language.
    loaded: BTreeMap<String, String>,
    program: Option<Program>,
}

/// The process is of no further use.
#[derive(Debug)]
pub(super) struct Lost(pub(super) String);

impl From<io::Error> for Lost {
    fn from(error: io::Error) -> Self {
        Lost(error.to_string())
    }
}

impl WorkerProcess {
    /// Starts one. Of the environment it gets what says where libraries and
    /// compiled components are, and nothing else.
    pub(super) fn start(program: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg(WORKER_COMMAND).env_clear();
        for name in INHERITED {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (Some(requests), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("a worker came without its pipes"));
        };
        let replies = listen(stdout)?;
        Ok(WorkerProcess { child, requests, replies, loaded: BTreeMap::new(), program: None })
    }

    /// Its process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// One run; the outer error means that the worker is lost.
    pub(super) fn run(
        &mut self,
        source: &Source,
        program: &Program,
        stdin: &Arc<[u8]>,
        limits: &RunLimits,
    ) -> Result<Result<Execution, SandboxError>, Lost> {
        if self.loaded.get(&program.language) != Some(&source.digest) {
            let (language, digest) = (program.language.clone(), source.digest.clone());
            if let Err(reason) = self.load(&source.file, Some(language), Some(digest))? {
                return Ok(Err(SandboxError::harness(reason)));
            }
        }
        if self.program.as_ref() != Some(program) {
            self.send(&Request::Program {
                language: program.language.clone(),
                source: program.source.to_vec(),
                arguments: program.arguments.clone(),
            })?;
            self.program = Some(program.clone());
        }
        self.send(&Request::Run { stdin: stdin.to_vec(), limits: *limits })?;
        let longest = Duration::from_millis(limits.timeout_ms) * super::state::STARVED + GRACE;
        match self.reply(longest)? {
            Reply::Ran(ran) => Ok(ran),
            Reply::Loaded(_) => Err(Lost("it answered another question".to_owned())),
        }
    }

    /// Loads an interpreter, compiling it if need be: for this language, or the
    /// one it says it runs; of this digest, or whichever it has. The outer error
    /// means that the worker is lost.
    pub(super) fn load(
        &mut self,
        file: &Path,
        language: Option<String>,
        digest: Option<String>,
    ) -> Result<Result<Loaded, String>, Lost> {
        self.send(&Request::Load { file: file.to_owned(), language, digest })?;
        match self.reply(LOADING)? {
            Reply::Loaded(loaded) => {
                if let Ok(Loaded { language, digest }) = &loaded {
                    self.loaded.insert(language.clone(), digest.clone());
                }
                Ok(loaded)
            }
            Reply::Ran(_) => Err(Lost("it answered another question".to_owned())),
        }
    }

    fn send(&mut self, request: &Request) -> io::Result<()> {
        send(&mut self.requests, request)?;
        self.requests.flush()
    }

    fn reply(&mut self, longest: Duration) -> Result<Reply, Lost> {
        match self.replies.recv_timeout(longest) {
            Ok(reply) => Ok(reply?),
            Err(RecvTimeoutError::Timeout) => {
                Err(Lost(format!("it did not answer in {} s", longest.as_secs())))
            }
            Err(RecvTimeoutError::Disconnected) => Err(Lost("it ended".to_owned())),
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // It may be gone already; either way its answer is not awaited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command of our own program that makes it a worker.
pub const WORKER_COMMAND: &str = "sandbox-worker";

/// Where libraries and compiled components are found.
const INHERITED: [&str; 4] = ["LD_LIBRARY_PATH", "HOME", "XDG_CACHE_HOME", "TMPDIR"];

/// Replies as they come, so that waiting for one can end.
fn listen(stdout: ChildStdout) -> io::Result<Receiver<io::Result<Reply>>> {
    let (replies, received) = channel();
    std::thread::Builder::new().name("sandbox-replies".to_owned()).spawn(move || {
        let mut stdout = BufReader::new(stdout);
        loop {
            let reply = receive(&mut stdout);
            let last = reply.is_err();
            if replies.send(reply).is_err() || last {
                return;
            }
        }
    })?;
    Ok(received)
}
