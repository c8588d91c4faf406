//! The clock behind the wall-clock guard.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How often it ticks, and so how precise a timeout is.
pub(super) const TICK_MS: u64 = 10;

/// A thread that advances an engine's epoch until the ticker is dropped.
#[derive(Debug)]
pub struct Ticker {
    /// Dropped to wake and end the thread.
    alive: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Advance the epoch of the engine from now on, until this is dropped.
    ///
    /// # Errors
    /// If there is no thread to be had.
    pub fn start(engine: wasmtime::Engine) -> std::io::Result<Self> {
        let (alive, dropped) = channel();
        let tick = Duration::from_millis(TICK_MS);
        let thread = Builder::new().name("plugin-ticker".to_owned()).spawn(move || {
            while dropped.recv_timeout(tick) == Err(RecvTimeoutError::Timeout) {
                engine.increment_epoch();
            }
        })?;
        Ok(Ticker { alive: Some(alive), thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.alive.take());
        if let Some(thread) = self.thread.take() {
            // The thread runs no code that panics, and has no way to report it.
            let _ = thread.join();
        }
    }
}

/// The epochs after which a call has run for at least `milliseconds`.
pub(super) fn ticks(milliseconds: u64) -> u64 {
    milliseconds.div_ceil(TICK_MS).saturating_add(1)
}
