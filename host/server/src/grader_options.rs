//! How to serve.

use std::net::SocketAddr;
use std::time::Duration;

use super::error::ServeError;
use troupe_core::program::RunLimits;

/// What the server listens on, and what it lets a client have.
#[derive(Clone, Debug)]
pub struct GraderOptions {
    /// Where to listen; port 0 is any that is free.
    pub listen: SocketAddr,
    /// Whether other machines may reach it.
    pub public: bool,
    /// Requests that may wait while others run.
    pub queue: usize,
    /// What one run may use at most, whatever a request asks for.
    pub caps: RunLimits,
    /// Bytes of one request's body.
    pub body_bytes: usize,
    /// How long a client may take to send the head, and again the body.
    pub patience: Duration,
}

impl GraderOptions {
    /// Whether it may listen there.
    ///
    /// # Errors
    /// If the address is not loopback and the server not public.
    pub fn check(&self) -> Result<(), ServeError> {
        if self.public || self.listen.ip().is_loopback() {
            return Ok(());
        }
        Err(ServeError::NotLoopback { address: self.listen })
    }
}
