//! Doing the work: several jobs at a time, each when what it needs is there, none twice.
//!
//! A job is done under a lock that its child process holds, too. So two calls work on different
//! jobs, and a child that outlives a call that was killed is waited for.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::children::Children;
use super::error::ExperimentError;
use super::folder::Folder;
use super::job::{Job, Work};
use super::setup::Program;
use troupe_core::error::ExitCode;
use troupe_core::storage::{StorageError, read_json, write_json};

/// How long a thread without work waits before it looks again.
const PAUSE: Duration = Duration::from_millis(300);
/// The end of a log that is looked at for what went wrong.
const LOG_TAIL: i64 = 8192;

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The child's exit code; nothing if a signal ended it.
    pub code: Option<i32>,
    /// What it said last.
    pub message: String,
}

impl Failure {
    /// Whether a run was stopped by what happened in it, and would be again.
    fn is_final(&self) -> bool {
        self.code == Some(ExitCode::Run as i32)
    }
}

/// What became of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing yet.
    Waiting,
    /// It is being done.
    Running,
    /// What comes out of it is there.
    Done,
    /// Its child failed.
    Failed(Failure),
    /// What it needs is not there and will not be.
    Skipped,
}

impl State {
    /// Whether what would come out of it will not be there.
    fn is_lost(&self) -> bool {
        matches!(self, State::Failed(_) | State::Skipped)
    }
}

/// How far everything is.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// Places of jobs that are done, failed or skipped.
    pub over: Vec<usize>,
    /// Places of jobs under way.
    pub running: Vec<usize>,
}

/// What happened to a job, for people.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Its child was started, or started again.
    Begun(&'a Job),
    /// It is done.
    Done(&'a Job),
    /// It ended itself, and was examined as it then was.
    Ended(&'a Job, &'a Failure),
    /// It failed.
    Failed(&'a Job, &'a Failure),
}

/// The work of an experiment.
pub struct Schedule<'a> {
    /// The jobs, in an order in which everything comes after what it needs.
    pub jobs: &'a [Job],
    /// Where everything is.
    pub folder: &'a Folder,
    /// What does it.
    pub program: &'a Program,
    /// The child processes.
    pub children: &'a Children,
}

struct Shared {
    states: Mutex<Vec<State>>,
    changed: Condvar,
}

impl Shared {
    fn states(&self) -> MutexGuard<'_, Vec<State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, place: usize, state: State) {
        self.states()[place] = state;
        self.changed.notify_all();
    }
}

impl Schedule<'_> {
    /// Do what is missing, `slots` jobs at a time; `watch` is shown how far it is every half a
    /// second, `report` what happens. Comes back when nothing is left to do, or, if the children
    /// were asked to stop, when they have.
    ///
    /// # Errors
    /// If a file cannot be written or no child started.
    pub fn run(
        &self,
        slots: usize,
        mut watch: impl FnMut(&Standing),
        report: impl Fn(Event) + Sync,
    ) -> Result<Vec<State>, ExperimentError> {
        let shared = Shared { states: Mutex::new(self.earlier()?), changed: Condvar::new() };
        let result = thread::scope(|scope| {
            let work = || self.work(&shared, &report);
            let workers: Vec<_> = (0..slots.max(1)).map(|_| scope.spawn(work)).collect();
            while workers.iter().any(|worker| !worker.is_finished()) {
                watch(&standing(&shared.states()));
                let states = shared.states();
                drop(
                    shared
                        .changed
                        .wait_timeout(states, PAUSE)
                        .unwrap_or_else(PoisonError::into_inner),
                );
            }
            let end = |worker: thread::ScopedJoinHandle<'_, Result<(), ExperimentError>>| {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            workers.into_iter().try_for_each(end)
        });
        result.map(|()| shared.states().clone())
    }

    /// What earlier calls left. A run that was stopped by what happened in it would be stopped
    /// again, and what needs it is skipped; what failed otherwise is tried again.
    ///
    /// # Errors
    /// If the note of a failure cannot be read.
    pub fn earlier(&self) -> Result<Vec<State>, ExperimentError> {
        let state = |job: &Job| -> Result<State, ExperimentError> {
            if job.is_done(self.folder) {
                return Ok(State::Done);
            }
            let path = self.folder.failure(&job.address);
            if !path.is_file() {
                return Ok(State::Waiting);
            }
            let failure: Failure = read_json(&path)?;
            Ok(if failure.is_final() { State::Failed(failure) } else { State::Waiting })
        };
        let mut states = self.jobs.iter().map(state).collect::<Result<Vec<State>, _>>()?;
        for (place, job) in self.jobs.iter().enumerate() {
            let is_lost = job.needs.iter().any(|&need| states[need].is_lost());
            if is_lost && states[place] == State::Waiting {
                states[place] = State::Skipped;
            }
        }
        Ok(states)
    }

    /// What one thread does.
    fn work(
        &self,
        shared: &Shared,
        report: &(impl Fn(Event) + Sync),
    ) -> Result<(), ExperimentError> {
        loop {
            if self.children.asked().is_some() {
                return Ok(());
            }
            match self.take(shared)? {
                Taken::Nothing => return Ok(()),
                Taken::Later => {
                    let states = shared.states();
                    let waited = shared.changed.wait_timeout(states, PAUSE);
                    drop(waited.unwrap_or_else(PoisonError::into_inner));
                }
                Taken::Job(place, lock) => {
                    let done = self.perform(&self.jobs[place], lock, report);
                    // Jobs that wait for it are told, whatever became of it.
                    shared.set(place, done.as_ref().map_or(State::Waiting, Clone::clone));
                    done?;
                }
            }
        }
    }

    /// A job that can be begun, if there is one.
    fn take(&self, shared: &Shared) -> Result<Taken, ExperimentError> {
        let mut states = shared.states();
        for (place, job) in self.jobs.iter().enumerate() {
            if states[place] != State::Waiting {
                continue;
            }
            if job.needs.iter().any(|&need| states[need].is_lost()) {
                states[place] = State::Skipped;
                continue;
            }
            if !job.needs.iter().all(|&need| states[need] == State::Done) {
                continue;
            }
            if let Some(lock) = self.folder.lock(&job.address)? {
                states[place] = State::Running;
                return Ok(Taken::Job(place, lock));
            }
        }
        let left = states.iter().any(|state| matches!(state, State::Waiting | State::Running));
        Ok(if left { Taken::Later } else { Taken::Nothing })
    }

    fn perform(
        &self,
        job: &Job,
        lock: File,
        report: &(impl Fn(Event) + Sync),
    ) -> Result<State, ExperimentError> {
        // Another call may have done it since this one began.
        if job.is_done(self.folder) {
            return Ok(State::Done);
        }
        report(Event::Begun(job));
        match self.carry_out(job.commands(self.folder, self.program)?, job, &lock)? {
            Outcome::Stopped => return Ok(State::Waiting),
            Outcome::Failed(failure) => return self.failed(job, failure, &lock, report),
            Outcome::Done => {}
        }
        job.publish(self.folder)?;
        let failure = self.folder.failure(&job.address);
        if failure.exists() {
            std::fs::remove_file(&failure).map_err(StorageError::io("remove", &failure))?;
        }
        report(Event::Done(job));
        Ok(State::Done)
    }

    /// Run the commands of a job, one after the other.
    fn carry_out(
        &self,
        commands: Vec<Command>,
        job: &Job,
        lock: &File,
    ) -> Result<Outcome, ExperimentError> {
        for mut command in commands {
            let status = self.child(&mut command, job, lock)?;
            // One that was asked to stop has not failed.
            let Some(status) =
                status.filter(|one| one.success() || self.children.asked().is_none())
            else {
                return Ok(Outcome::Stopped);
            };
            if !status.success() {
                let said = last_error(&self.folder.log(&job.address))?;
                let message = if said.is_empty() { status.to_string() } else { said };
                return Ok(Outcome::Failed(Failure { code: status.code(), message }));
            }
        }
        Ok(Outcome::Done)
    }

    fn child(
        &self,
        command: &mut Command,
        job: &Job,
        lock: &File,
    ) -> Result<Option<ExitStatus>, ExperimentError> {
        let path = self.folder.log(&job.address);
        let io = |error| StorageError::io("write", &path)(error);
        let log = OpenOptions::new().create(true).append(true).open(&path).map_err(io)?;
        let log_too = log.try_clone().map_err(io)?;
        let lock = lock.try_clone().map_err(io)?;
        command.stdin(Stdio::from(lock)).stdout(Stdio::from(log)).stderr(Stdio::from(log_too));
        let started = self.children.run(command);
        started
            .map_err(|reason| ExperimentError::Start { program: self.program.host.clone(), reason })
    }

    /// What becomes of a job whose child failed. A run that was stopped by what happened in it came
    /// to something, like others: its last checkpoint is examined. Left out, a row would be judged
    /// by those of its seeds that went well.
    fn failed(
        &self,
        job: &Job,
        failure: Failure,
        lock: &File,
        report: &(impl Fn(Event) + Sync),
    ) -> Result<State, ExperimentError> {
        if failure.is_final() && matches!(job.work, Work::Train { .. }) {
            match self.carry_out(job.sittings(self.folder, self.program)?, job, lock)? {
                Outcome::Stopped => return Ok(State::Waiting),
                Outcome::Failed(_) => {}
                Outcome::Done => {
                    write_json(&self.folder.ended(&job.address), &failure)?;
                    job.publish_exam(self.folder)?;
                    report(Event::Ended(job, &failure));
                    return Ok(State::Done);
                }
            }
        }
        write_json(&self.folder.failure(&job.address), &failure)?;
        report(Event::Failed(job, &failure));
        Ok(State::Failed(failure))
    }

    /// How far a job under way is, from 0 to 1.
    pub fn share(&self, job: &Job) -> f64 {
        match &job.work {
            Work::Train { .. } => super::progress::share_of(&self.folder.run(&job.address)),
            _ => 0.0,
        }
    }
}

/// How the commands of a job ended.
enum Outcome {
    /// All of them well.
    Done,
    /// They were asked to.
    Stopped,
    /// One of them failed.
    Failed(Failure),
}

enum Taken {
    /// It is this call's, at this place.
    Job(usize, File),
    /// Something is left that cannot be begun yet.
    Later,
    /// Nothing is left.
    Nothing,
}

fn standing(states: &[State]) -> Standing {
    let places = |is: fn(&State) -> bool| {
        states.iter().enumerate().filter(|(_, state)| is(state)).map(|(place, _)| place).collect()
    };
    Standing {
        over: places(|state| !matches!(state, State::Waiting | State::Running)),
        running: places(|state| *state == State::Running),
    }
}

/// The last error that a log tells of, or its last line.
fn last_error(log: &Path) -> Result<String, StorageError> {
    let io = |error| StorageError::io("read", log)(error);
    let mut file = File::open(log).map_err(io)?;
    let length = i64::try_from(file.metadata().map_err(io)?.len()).unwrap_or(i64::MAX);
    file.seek(SeekFrom::End(-length.min(LOG_TAIL))).map_err(io)?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail).map_err(io)?;
    let tail = String::from_utf8_lossy(&tail);
    let error = tail.lines().rev().find_map(|line| line.strip_prefix("error: "));
    let last = || tail.lines().rev().find(|line| !line.trim().is_empty());
    Ok(error.or_else(last).unwrap_or_default().to_owned())
}
