//! How to serve what is answered elsewhere.

use std::net::SocketAddr;
use std::time::Duration;

use super::error::ServeError;
use super::token::Token;

/// What the server listens on, and what it lets a client have.
#[derive(Clone, Debug)]
pub struct ApiOptions {
    /// Where to listen; port 0 is any that is free.
    pub listen: SocketAddr,
    /// What clients have to show; only this machine is served without.
    pub token: Option<Token>,
    /// Requests that are answered at a time; further ones are refused.
    pub requests: usize,
    /// Bytes of one request's body.
    pub body_bytes: usize,
    /// How long a client may take to send the head, and again the body.
    pub patience: Duration,
}

impl ApiOptions {
    /// Whether it may listen there.
    ///
    /// # Errors
    /// If others reach the address, and there is no token.
    pub fn check(&self) -> Result<(), ServeError> {
        Token::check(self.token.as_ref(), self.listen)
    }
}
