//! The cap on an instance's memory.

use wasmtime::ResourceLimiter;

/// Entries of one table; a component of a large language runtime has thousands.
const TABLE_ELEMENTS: usize = 20_000;
/// Core instances, memories or tables of one component.
const PARTS: usize = 256;

/// Caps the linear memories of an instance together, and remembers whether
/// the guest met the cap in the current call: a guest that gets no memory
/// usually traps, and the trap alone would not say why.
#[derive(Debug)]
pub struct Limiter {
    memory_bytes: usize,
    granted: usize,
    refused: bool,
}

impl Limiter {
    /// Grants `memory_mib` MiB of linear memory.
    pub fn new(memory_mib: usize) -> Self {
        Limiter { memory_bytes: memory_mib.saturating_mul(1 << 20), granted: 0, refused: false }
    }

    pub(super) fn begin_call(&mut self) {
        self.refused = false;
    }

    /// Bytes of linear memory the guest may have.
    pub(super) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Bytes of linear memory the guest has.
    pub fn granted(&self) -> usize {
        self.granted
    }

    /// Whether the guest was refused memory in this call.
    pub fn refused(&self) -> bool {
        self.refused
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self.granted.saturating_add(desired.saturating_sub(current));
        if total > self.memory_bytes || maximum.is_some_and(|maximum| desired > maximum) {
            self.refused = true;
            return Ok(false);
        }
        self.granted = total;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS)
    }

    fn instances(&self) -> usize {
        PARTS
    }

    fn tables(&self) -> usize {
        PARTS
    }

    fn memories(&self) -> usize {
        PARTS
    }
}
