//! The sandbox: worker processes, and which run gets one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::memo::Memo;
use super::process::{Lost, WorkerProcess};
use super::start_error::StartError;
use troupe_core::config::SandboxConfig;
use troupe_core::installation::{self, plugin_folders};
use troupe_core::parallel;
use troupe_core::program::{Execution, Program, RunLimits, Runner, SandboxError};
use troupe_guests::plugin::{ComponentFile, PluginError, find_named, find_plugin};

/// Workers a run may lose before it is given up.
const ATTEMPTS: usize = 3;
/// Loading takes longer than most runs, and without it there is no run at all.
const ATTEMPTS_TO_LOAD: usize = 10;
/// No interpreter is made ready in less on any machine.
const LEAST_TIME_MS: u64 = 10;

/// Runs model-written programs, each in a fresh instance in one of several
/// worker processes. Clones share the workers, which start when first needed.
#[derive(Clone)]
pub struct Sandbox {
    shared: Arc<Shared>,
}

struct Shared {
    /// Our own program, which is also the worker's.
    program: PathBuf,
    jobs: usize,
    /// The folders where an interpreter is looked up by its language.
    folders: Vec<PathBuf>,
    sources: Mutex<BTreeMap<String, Source>>,
    workers: Mutex<Workers>,
    freed: Condvar,
    memo: Memo,
}

#[derive(Default)]
struct Workers {
    idle: Vec<WorkerProcess>,
    busy: usize,
}

/// An interpreter's component, as workers load it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its component.
    pub file: PathBuf,
    /// BLAKE3 of the component, in hexadecimal.
    pub digest: String,
}

impl Sandbox {
    /// A sandbox as configured. Interpreters are looked up in the folders `path`, then in
    /// `target/plugins`.
    ///
    /// # Errors
    /// If the worker's program or an interpreter is missing or unfit.
    pub fn new(config: &SandboxConfig, path: &[PathBuf]) -> Result<Self, StartError> {
        let program = installation::worker()?;
        let sandbox = Sandbox::with_worker(&program, config.jobs, path);
        for file in &config.interpreters {
            let file = find_plugin(file, &sandbox.shared.folders)?;
            sandbox.offer(None, &file)?;
        }
        Ok(sandbox)
    }

    /// A sandbox whose workers are another program than the one that is running.
    pub fn with_worker(program: &Path, jobs: usize, path: &[PathBuf]) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let shared = Shared {
            program: program.to_owned(),
            jobs: if jobs == 0 { cores() } else { jobs },
            folders: path.iter().cloned().chain(plugin_folders()).collect(),
            sources: Mutex::default(),
            workers: Mutex::default(),
            freed: Condvar::new(),
            memo: Memo::new(),
        };
        Sandbox { shared: Arc::new(shared) }
    }

    /// The number of programs that run at a time.
    pub fn jobs(&self) -> usize {
        self.shared.jobs
    }

    /// Processes of the workers that are idle now.
    pub fn idle_workers(&self) -> Vec<u32> {
        lock(&self.shared.workers).idle.iter().map(WorkerProcess::id).collect()
    }

    /// The interpreter of a language, compiled; looked up the first time.
    ///
    /// # Errors
    /// If there is none, or it is unfit.
    pub fn interpreter(&self, language: &str) -> Result<Source, StartError> {
        // Held while compiling: two that want the same language do it once.
        let mut sources = lock(&self.shared.sources);
        if let Some(source) = sources.get(language) {
            return Ok(source.clone());
        }
        let file = find_named(language, &self.shared.folders)?;
        // A worker would say in words only that it is no component.
        ComponentFile::read(&file)?;
        let (_, source) = self.load(Some(language), &file)?;
        sources.insert(language.to_owned(), source.clone());
        Ok(source)
    }

    /// What the interpreter itself needs, as an empty program within the default limits shows.
    ///
    /// # Errors
    /// If an empty program cannot be run.
    pub fn needs(&self, language: &str) -> Result<RunLimits, SandboxError> {
        let program = Program::new(language, *b"");
        let run = self.run(&program, &Arc::from([]), &RunLimits::default())?;
        Ok(RunLimits {
            fuel: run.fuel,
            timeout_ms: LEAST_TIME_MS,
            memory_mib: run.memory_bytes.div_ceil(1 << 20),
            output_bytes: 0,
        })
    }

    /// Adds an interpreter, for this language or the one that it names itself.
    ///
    /// # Errors
    /// If the file is no interpreter that can be used.
    pub fn offer(&self, language: Option<&str>, file: &Path) -> Result<(), StartError> {
        let (language, source) = self.load(language, file)?;
        lock(&self.shared.sources).insert(language, source);
        Ok(())
    }

    /// Has a worker load it, and compile it if need be: this process runs nothing
    /// of it. The worker is kept for the first run.
    fn load(&self, language: Option<&str>, file: &Path) -> Result<(String, Source), StartError> {
        let load =
            |worker: &mut WorkerProcess| worker.load(file, language.map(str::to_owned), None);
        let loaded = self.lease_and(ATTEMPTS_TO_LOAD, load);
        let loaded = loaded.map_err(StartError::engine)?.map_err(|reason| refused(file, reason))?;
        Ok((loaded.language, Source { file: file.to_owned(), digest: loaded.digest }))
    }

    fn run_anew(
        &self,
        program: &Program,
        stdin: &Arc<[u8]>,
        limits: &RunLimits,
    ) -> Result<Execution, SandboxError> {
        let source = self.source(&program.language)?;
        self.lease_and(ATTEMPTS, |worker| worker.run(&source, program, stdin, limits))?
    }

    /// The interpreter of a program's language. Models and plugins name languages: that none is
    /// there is about the language, and all else is the harness's failure. What is no name is
    /// not looked up, or it would be a way to the host's files.
    fn source(&self, language: &str) -> Result<Source, SandboxError> {
        let unknown = |hint: String| {
            Err(SandboxError::UnknownLanguage { language: language.to_owned(), hint })
        };
        if !is_name(language) && !lock(&self.shared.sources).contains_key(language) {
            return unknown(": that is no name of a language".to_owned());
        }
        match self.interpreter(language) {
            Ok(source) => Ok(source),
            Err(
                error @ (StartError::Plugin(
                    PluginError::Missing { .. } | PluginError::NotAComponent(..),
                )
                | StartError::NoInterpreter { .. }),
            ) => unknown(format!(": {error}")),
            Err(error) => Err(SandboxError::harness(error.to_string())),
        }
    }

    /// Lets a worker do something; if it is lost over that, another.
    fn lease_and<R>(
        &self,
        attempts: usize,
        work: impl Fn(&mut WorkerProcess) -> Result<R, Lost>,
    ) -> Result<R, SandboxError> {
        let mut lost = Lost(String::new());
        for _ in 0..attempts {
            let mut worker = self.lease()?;
            match work(&mut worker) {
                Ok(done) => {
                    self.shared.release(Some(worker));
                    return Ok(done);
                }
                Err(reason) => {
                    // Killed from outside, perhaps because another program needed memory.
                    drop(worker);
                    self.shared.release(None);
                    lost = reason;
                }
            }
        }
        Err(SandboxError::harness(format!("{attempts} workers were lost: {}", lost.0)))
    }

    /// A worker for this run alone; waits until there is one.
    fn lease(&self) -> Result<WorkerProcess, SandboxError> {
        let shared = &*self.shared;
        let mut workers = lock(&shared.workers);
        while workers.busy >= shared.jobs {
            workers = shared.freed.wait(workers).unwrap_or_else(PoisonError::into_inner);
        }
        workers.busy += 1;
        let idle = workers.idle.pop();
        drop(workers);
        if let Some(worker) = idle {
            return Ok(worker);
        }
        WorkerProcess::start(&shared.program).map_err(|error| {
            shared.release(None);
            SandboxError::harness(format!("no worker could be started: {error}"))
        })
    }
}

impl Runner for Sandbox {
    fn run(
        &self,
        program: &Program,
        stdin: &Arc<[u8]>,
        limits: &RunLimits,
    ) -> Result<Arc<Execution>, SandboxError> {
        let run = || self.run_anew(program, stdin, limits);
        self.shared.memo.recall(program, stdin, limits, run)
    }

    fn run_batch(
        &self,
        program: &Program,
        stdins: &[Arc<[u8]>],
        limits: &RunLimits,
    ) -> Vec<Result<Arc<Execution>, SandboxError>> {
        parallel::in_order(self.jobs(), stdins, |stdin| self.run(program, stdin, limits))
    }
}

impl Shared {
    fn release(&self, worker: Option<WorkerProcess>) {
        let mut workers = lock(&self.workers);
        workers.busy -= 1;
        workers.idle.extend(worker);
        drop(workers);
        self.freed.notify_one();
    }
}

fn is_name(language: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "+-_#".contains(letter);
    !language.is_empty() && language.chars().all(fits)
}

/// Why a worker did not load the file. It says so in words.
fn refused(file: &Path, reason: String) -> StartError {
    let file = file.to_owned();
    let none = StartError::NoInterpreter { file: file.clone() };
    match none.to_string() == reason {
        true => none,
        false => StartError::Interpreter { file, reason },
    }
}

/// A panic elsewhere leaves the lists as they are.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_whose_file_is_no_component_is_unknown_and_no_failure_of_the_harness() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("lua.wasm"), b"print(1)").unwrap();
        std::fs::write(folder.path().join("cobol"), b"").unwrap();
        let sandbox = Sandbox::with_worker(Path::new("none"), 1, &[folder.path().to_owned()]);
        for language in ["lua", "cobol", "lua.wasm"] {
            let program = Program::new(language, *b"");
            let run = sandbox.run(&program, &Arc::from([]), &RunLimits::default());
            let error = run.unwrap_err();
            assert!(matches!(error, SandboxError::UnknownLanguage { .. }), "{language}: {error}");
        }
    }
}
