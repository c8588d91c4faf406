//! Numbers and texts from bytes, none of them beyond their end.

/// A place in a file.
#[derive(Clone, Debug)]
pub(super) struct Reader<'f> {
    bytes: &'f [u8],
    at: usize,
}

impl<'f> Reader<'f> {
    pub(super) fn new(bytes: &'f [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    /// The bytes of the whole file.
    pub(super) fn whole(&self) -> &'f [u8] {
        self.bytes
    }

    /// Bytes from the beginning of the file to here.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Bytes from here to the end.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'f [u8], String> {
        if count > self.left() {
            return Err(format!(
                "it is cut off or damaged: at byte {} it promises {count} more and has {}; copy \
                 it again",
                self.at,
                self.left()
            ));
        }
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A text, which has its length before it.
    pub(super) fn text(&mut self) -> Result<&'f str, String> {
        let length = self.u64()?;
        let start = self.at;
        let bytes = self.take(usize::try_from(length).unwrap_or(usize::MAX))?;
        std::str::from_utf8(bytes)
            .map_err(|_| format!("it is damaged: the text at byte {start} is not UTF-8"))
    }
}
