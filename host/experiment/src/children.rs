//! The child processes under way, which are told when the experiment is to stop.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};

/// With this in its environment, a child ends when its parent is gone.
pub const LEASH: &str = "TROUPE_END_WITH_PARENT";

/// Have this process end, as SIGTERM ends it, when the one that started it is gone; only if that
/// one asked for it. It still holds for a program that this one becomes.
pub fn heed_leash() {
    if std::env::var_os(LEASH).is_some() {
        // Without it, the process goes on to its own end, and keeps what it made.
        let _ = set_parent_process_death_signal(Some(Signal::TERM));
    }
}

/// The child processes under way.
#[derive(Debug, Default)]
pub struct Children {
    asked: AtomicI32,
    running: Mutex<BTreeSet<u32>>,
}

impl Children {
    /// Start no more children, and pass the wish on to those that run: the first asks them to
    /// stop once they have saved, the second ends them at once.
    pub fn ask_to_stop(&self, signal: i32) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        self.asked.store(signal, Ordering::Relaxed);
        for &id in running.iter() {
            let id = i32::try_from(id).ok().and_then(Pid::from_raw);
            // One that has ended meanwhile needs to be told nothing.
            let _ = id.map(|id| kill_process(id, Signal::TERM));
        }
    }

    /// The signal that asked for it, if one did.
    pub fn asked(&self) -> Option<i32> {
        Some(self.asked.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    /// Run a command to its end; nothing if none is to be started any more.
    pub(super) fn run(&self, command: &mut Command) -> io::Result<Option<ExitStatus>> {
        // What the terminal sends to its group reaches the parent, which passes it on once.
        command.process_group(0).env(LEASH, "1");
        let mut child = {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            if self.asked().is_some() {
                return Ok(None);
            }
            let child = command.spawn()?;
            running.insert(child.id());
            child
        };
        let status = child.wait();
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&child.id());
        status.map(Some)
    }
}
