//! Where a guest's standard output or error goes: to memory, for the log.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError};

/// Bytes of one call that are kept; the rest of what it writes is dropped.
const KEPT_BYTES: usize = 256 << 10;
/// Bytes a guest may hand over at a time; it comes back for more.
const PORTION: usize = 64 << 10;

/// A stream that never closes: to print a lot is no mistake, and an instance
/// that serves many episodes prints in each of them. Clones are the same stream.
#[derive(Clone, Default)]
pub(super) struct Sink {
    written: Arc<Mutex<Vec<u8>>>,
}

impl Sink {
    /// What was kept since the last time.
    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.written.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn keep(&self, bytes: &[u8]) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let room = KEPT_BYTES.saturating_sub(written.len());
        written.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

impl IsTerminal for Sink {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Sink {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Sink {
    async fn ready(&mut self) {}
}

impl OutputStream for Sink {
    fn write(&mut self, bytes: Bytes) -> Result<(), StreamError> {
        self.keep(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StreamError> {
        Ok(())
    }

    fn check_write(&mut self) -> Result<usize, StreamError> {
        Ok(PORTION)
    }
}

impl AsyncWrite for Sink {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.keep(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_was_flooded_stays_open_and_the_next_call_is_heard() {
        let sink = Sink::default();
        let mut stream = sink.p2_stream();
        for _ in 0..10 {
            let portion = stream.check_write().unwrap();
            stream.write(Bytes::from(vec![b'x'; portion])).unwrap();
        }
        assert_eq!(sink.take().len(), KEPT_BYTES);
        assert!(stream.check_write().unwrap() > 0);
        stream.write(Bytes::from_static(b"again\n")).unwrap();
        assert_eq!(sink.take(), b"again\n");
        assert!(sink.take().is_empty());
    }
}
