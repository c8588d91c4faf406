//! The standard streams of one run: input in memory, output collected up to a
//! limit. They are served as the contract's `streams` and as WASI's.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime::StoreContextMut;
use wasmtime::component::Linker;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError};

use super::bindings::troupe::plugin::streams::Output;
use super::meter::Meter;
use super::state::{State, Stop};

/// Bytes a guest may hand over at a time; it comes back for more.
const PORTION: usize = 1 << 20;

/// What a program reads and has written. Clones are the same streams.
#[derive(Clone)]
pub(super) struct Streams {
    pub(super) stdin: MemoryInputPipe,
    written: Arc<Mutex<Written>>,
}

struct Written {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    limit: usize,
    meter: Meter,
}

impl Streams {
    /// The work is charged to the meter.
    pub(super) fn new(stdin: Bytes, limit: u64, meter: Meter) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let written = Written { stdout: Vec::new(), stderr: Vec::new(), limit, meter };
        Streams { stdin: MemoryInputPipe::new(stdin), written: Arc::new(Mutex::new(written)) }
    }

    /// One of the output streams, as WASI wants it.
    pub(super) fn sink(&self, output: Output) -> Sink {
        Sink { output, written: self.written.clone() }
    }

    /// Standard output and standard error, as far as they were written.
    pub(super) fn take(&self) -> (Vec<u8>, Vec<u8>) {
        let mut written = lock(&self.written);
        (std::mem::take(&mut written.stdout), std::mem::take(&mut written.stderr))
    }
}

impl Written {
    /// Takes what fits; more than that stops the run.
    fn write(&mut self, output: Output, bytes: &[u8]) -> Result<(), Stop> {
        let room = self.limit.saturating_sub(self.stdout.len() + self.stderr.len());
        let fitting = &bytes[..bytes.len().min(room)];
        match output {
            Output::Stdout => self.stdout.extend_from_slice(fitting),
            Output::Stderr => self.stderr.extend_from_slice(fitting),
        }
        if fitting.len() < bytes.len() {
            return Err(Stop::OutputFlood);
        }
        self.meter.charge(bytes.len() as u64)
    }
}

/// A panic elsewhere leaves the bytes as they are.
fn lock(written: &Mutex<Written>) -> MutexGuard<'_, Written> {
    written.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a guest's WASI writes.
#[derive(Clone)]
pub(super) struct Sink {
    output: Output,
    written: Arc<Mutex<Written>>,
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
        lock(&self.written)
            .write(self.output, &bytes)
            .map_err(|stop| StreamError::Trap(wasmtime::Error::new(stop)))
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
        let written = lock(&self.written).write(self.output, bytes);
        Poll::Ready(written.map(|()| bytes.len()).map_err(std::io::Error::other))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Adds `troupe:plugin/streams` to a linker.
pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    type Read = (u32,);
    type Write = (Output, Vec<u8>);
    let mut streams = linker.instance("troupe:plugin/streams@0.2.0")?;
    streams.func_wrap("read", |mut context: StoreContextMut<'_, State>, (limit,): Read| {
        let state = context.data_mut();
        let bytes = state.streams.stdin.read((limit as usize).min(PORTION)).unwrap_or_default();
        state.meter.charge(bytes.len() as u64)?;
        Ok((bytes.to_vec(),))
    })?;
    streams.func_wrap("write", |context: StoreContextMut<'_, State>, (to, bytes): Write| {
        Ok(lock(&context.data().streams.written).write(to, &bytes)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_outputs_share_one_limit_and_keep_what_fits() {
        let streams = Streams::new(Bytes::new(), 10, Meter::new(1_000_000));
        let write = |output, bytes: &[u8]| lock(&streams.written).write(output, bytes);
        assert!(write(Output::Stdout, b"123456").is_ok());
        assert!(write(Output::Stderr, b"abcd").is_ok());
        assert!(write(Output::Stdout, b"").is_ok());
        assert!(matches!(write(Output::Stdout, b"7"), Err(Stop::OutputFlood)));
        assert_eq!(streams.take(), (b"123456".to_vec(), b"abcd".to_vec()));
    }
}
