//! What one row may take.

use super::refusal::Refusal;

/// Bounds of a row, packed and unpacked alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of it.
    pub bytes: usize,
    /// Commas in it. A text of so many bytes could be as many values, and each
    /// takes fifty times its byte in memory.
    pub commas: usize,
}

impl Bounds {
    /// For rows of at most so many MiB.
    pub fn of_mib(mib: usize) -> Self {
        let bytes = mib << 20;
        Bounds { bytes, commas: bytes / 32 }
    }

    /// Whether a text keeps to them.
    pub(super) fn check(&self, text: &[u8]) -> Result<(), Refusal> {
        if text.len() > self.bytes {
            return Err(self.too_long());
        }
        match text.iter().filter(|&&byte| byte == b',').count() {
            count if count > self.commas => Err(self.too_many(count)),
            _ => Ok(()),
        }
    }

    /// The refusal of what has more commas.
    pub(super) fn too_many(&self, commas: usize) -> Refusal {
        let detail = format!("it has {commas} commas; at most {} are read", self.commas);
        Refusal::new("too many values in it", detail)
    }

    /// The refusal of what has more bytes.
    pub(super) fn too_long(&self) -> Refusal {
        let detail = format!("it takes more than {} MiB (--max-record-mib)", self.bytes >> 20);
        Refusal::new("too long", detail)
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds::of_mib(256)
    }
}
