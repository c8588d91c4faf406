//! Why the server cannot be started.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use troupe_core::error::{Coded, ExitCode};

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Other machines could reach the address, and that was not allowed.
    #[error(
        "`{address}` can be reached from other machines, and whoever reaches it runs programs \
         here; listen on 127.0.0.1 or say --public"
    )]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// Other machines could reach the address, and there is no token.
    #[error(
        "`{address}` can be reached from other machines; listen on 127.0.0.1, or name a file with \
         the token that requests must bring (--token-file)"
    )]
    NoToken {
        /// The address.
        address: SocketAddr,
    },
    /// There is no token in the file.
    #[error("there is no token in `{}`: {reason}", file.display())]
    Token {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The system refused the address.
    #[error("cannot listen on `{address}`: {reason}; choose another address, or port 0 for any")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        reason: io::Error,
    },
    /// The system refused something else.
    #[error("the server cannot run: {0}")]
    System(#[from] io::Error),
}

impl Coded for ServeError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            ServeError::System(error) => error.code(),
            _ => Some(ExitCode::Usage),
        }
    }
}
