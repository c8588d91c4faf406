//! Files as WASI's streams.

use bytes::Bytes;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use super::super::meter::Meter;
use super::descriptor::Handle;

/// Bytes one call reads, or a stream takes, at most.
pub(super) const TRANSFER_BYTES: usize = 1 << 20;

/// Reads a file from some place on.
pub(super) struct Reader {
    handle: Handle,
    position: u64,
    meter: Meter,
}

impl Reader {
    pub(super) fn new(handle: Handle, position: u64, meter: Meter) -> Self {
        Reader { handle, position, meter }
    }
}

#[async_trait]
impl InputStream for Reader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let length = size.min(TRANSFER_BYTES);
        let bytes = self.handle.tree().read(self.handle.inode(), self.position, length);
        let bytes = bytes.map_err(failed)?;
        charge(&self.meter, bytes.len())?;
        if bytes.is_empty() && size > 0 {
            return Err(StreamError::Closed);
        }
        self.position += bytes.len() as u64;
        Ok(bytes.into())
    }
}

/// Writes a file from some place on, or always at its end.
pub(super) struct Writer {
    handle: Handle,
    position: Option<u64>,
    meter: Meter,
}

impl Writer {
    pub(super) fn at(handle: Handle, position: u64, meter: Meter) -> Self {
        Writer { handle, position: Some(position), meter }
    }

    pub(super) fn append(handle: Handle, meter: Meter) -> Self {
        Writer { handle, position: None, meter }
    }
}

#[async_trait]
impl OutputStream for Writer {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        charge(&self.meter, bytes.len())?;
        let inode = self.handle.inode();
        let mut tree = self.handle.tree();
        let end = tree.status(inode).map_err(failed)?.size;
        tree.write(inode, self.position.unwrap_or(end), &bytes).map_err(failed)?;
        self.position = self.position.map(|position| position + bytes.len() as u64);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(TRANSFER_BYTES)
    }
}

fn charge(meter: &Meter, bytes: usize) -> StreamResult<()> {
    meter.charge(bytes as u64).map_err(|stop| StreamError::Trap(stop.into()))
}

/// The guest learns the code from `filesystem-error-code`.
fn failed(code: ErrorCode) -> StreamError {
    StreamError::LastOperationFailed(code.into())
}

#[async_trait]
impl Pollable for Reader {
    async fn ready(&mut self) {}
}

#[async_trait]
impl Pollable for Writer {
    async fn ready(&mut self) {}
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::super::naming::Opening;
    use super::super::tree::{ROOT, Tree};
    use super::*;

    fn meter() -> Meter {
        Meter::new(100_000_000)
    }

    fn file() -> Handle {
        let tree = Arc::new(Mutex::new(Tree::new(10, 0)));
        let how = Opening { create: true, ..Opening::default() };
        Handle::find(&tree, |tree| tree.open(ROOT, "tmp/x", how)).unwrap()
    }

    #[test]
    fn what_is_written_can_be_read() {
        let file = file();
        let mut writer = Writer::at(file.again().unwrap(), 1, meter());
        writer.write("ab".into()).unwrap();
        Writer::append(file.again().unwrap(), meter()).write("!".into()).unwrap();
        writer.write("cd".into()).unwrap();
        let mut reader = Reader::new(file, 0, meter());
        assert_eq!(reader.read(3).unwrap(), "\0ab");
        assert_eq!(reader.read(9).unwrap(), "cd");
        assert!(matches!(reader.read(9), Err(StreamError::Closed)));
    }

    #[test]
    fn a_write_without_room_fails_with_its_code_and_the_next_may_succeed() {
        let mut writer = Writer::append(file(), meter());
        let Err(StreamError::LastOperationFailed(error)) = writer.write(vec![0; 11].into()) else {
            panic!("there was room")
        };
        assert_eq!(error.downcast_ref(), Some(&ErrorCode::InsufficientSpace));
        assert!(writer.write(vec![0; 10].into()).is_ok());
    }
}
