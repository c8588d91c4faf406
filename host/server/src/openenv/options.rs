//! How to serve.

use std::net::SocketAddr;
use std::time::Duration;

use crate::error::ServeError;
use crate::token::Token;

/// What the server listens on, and what it lets a client have.
#[derive(Clone, Debug)]
pub struct OpenEnvOptions {
    /// Where to listen; port 0 is any that is free.
    pub listen: SocketAddr,
    /// What clients have to show; anybody who reaches it may come in without.
    pub token: Option<Token>,
    /// Episodes that are stepped at a time.
    pub jobs: usize,
    /// Sessions at a time.
    pub sessions: usize,
    /// Bytes of one frame, and of one request's body.
    pub frame_bytes: usize,
    /// After so long without a request a session ends.
    pub idle: Duration,
    /// After so long without any sign of life a socket is closed.
    pub silence: Duration,
    /// How long a client may take to send the head of a request, and again the body.
    pub patience: Duration,
    /// Requests of one session in a second; further ones wait.
    pub rate: u32,
}

impl OpenEnvOptions {
    /// Whether it may listen there.
    ///
    /// # Errors
    /// If others reach the address, and there is no token.
    pub fn check(&self) -> Result<(), ServeError> {
        Token::check(self.token.as_ref(), self.listen)
    }
}
