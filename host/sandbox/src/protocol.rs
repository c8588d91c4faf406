//! Requests to a worker process and its replies: frames of bytes, each
//! with its length in front.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use troupe_core::program::{Execution, RunLimits, SandboxError};

/// The longest frame; a longer one means that the two do not understand each other.
const LONGEST: u64 = 4 << 30;

/// A request to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Load an interpreter, compiling it if need be. Answered with `Loaded`.
    Load {
        file: PathBuf,
        /// The language it is to run; without one, what it says itself.
        language: Option<String>,
        /// The digest that the file must still have, if it was loaded before.
        digest: Option<String>,
    },
    /// Remember a program for the runs that follow. Not answered.
    Program {
        language: String,
        #[serde(with = "serde_bytes")]
        source: Vec<u8>,
        arguments: Vec<String>,
    },
    /// Run the program on one input. Answered with `Ran`.
    Run {
        #[serde(with = "serde_bytes")]
        stdin: Vec<u8>,
        limits: RunLimits,
    },
}

/// A worker's reply.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Loaded(Result<Loaded, String>),
    Ran(Result<Execution, SandboxError>),
}

/// An interpreter that a worker has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Loaded {
    /// The language it runs.
    pub(super) language: String,
    /// Digest of its component.
    pub(super) digest: String,
}

/// Writes one frame.
pub(super) fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let bytes = postcard::to_allocvec(message).map_err(io::Error::other)?;
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(&bytes)?;
    to.flush()
}

/// Reads one frame; an error of kind `UnexpectedEof` when the other side is gone.
pub(super) fn receive<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"));
    }
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    postcard::from_bytes(&bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_arrives_as_it_was_sent_and_a_broken_one_is_an_error() {
        let mut pipe = Vec::new();
        let stdin = vec![0, 255, 10];
        send(&mut pipe, &Request::Run { stdin: stdin.clone(), limits: RunLimits::default() })
            .unwrap();
        let Request::Run { stdin: arrived, .. } = receive(&mut pipe.as_slice()).unwrap() else {
            panic!("another request arrived");
        };
        assert_eq!(arrived, stdin);
        let broken = receive::<Request>(&mut &pipe[..pipe.len() - 1]).unwrap_err();
        assert_eq!(broken.kind(), io::ErrorKind::UnexpectedEof);
        pipe[7] = 255;
        assert_eq!(
            receive::<Request>(&mut pipe.as_slice()).unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
    }
}
