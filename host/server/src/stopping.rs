//! The news that the server is to stop, for everybody who serves a connection.

use tokio::sync::watch::{self, Receiver, Sender};

/// Tells the news.
pub(super) struct Stop(Sender<bool>);

/// Waits for the news; as long as one is held, the server is not done.
#[derive(Clone)]
pub(super) struct Stopping(Receiver<bool>);

impl Stop {
    /// A signal, not given yet.
    pub(super) fn new() -> (Self, Stopping) {
        let (sender, receiver) = watch::channel(false);
        (Stop(sender), Stopping(receiver))
    }

    /// Tells it.
    pub(super) fn tell(&self) {
        self.0.send_replace(true);
    }

    /// Waits until no connection is served any more.
    pub(super) async fn done(&self) {
        self.0.closed().await;
    }
}

impl Stopping {
    /// Waits for it.
    pub(super) async fn told(&mut self) {
        // Without a server there is nothing to go on for either.
        let _ = self.0.wait_for(|told| *told).await;
    }
}
