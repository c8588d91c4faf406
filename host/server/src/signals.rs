//! Being asked to stop.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The two signals that ask: SIGTERM, and SIGINT from ctrl-c.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// From now on they do not end the process by themselves.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next of them.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
