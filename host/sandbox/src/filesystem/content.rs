//! The content of a file.

/// Bytes of memory a file takes at a time.
const BLOCK: usize = 4 << 10;

/// A file's bytes, in blocks: so growing moves nothing, and what was skipped
/// takes no memory.
#[derive(Default)]
pub(super) struct Content {
    /// Blocks that are missing, in between or at the end, hold zeros; so does
    /// whatever of a block lies beyond the size.
    blocks: Vec<Option<Box<[u8; BLOCK]>>>,
    size: u64,
}

impl Content {
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// At most `length` bytes from `offset` on; fewer at the end of the file.
    pub(super) fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let left = self.size.saturating_sub(offset);
        let length = left.min(length as u64) as usize;
        let mut bytes = Vec::with_capacity(length);
        for (index, range) in pieces(offset, length) {
            match self.blocks.get(index) {
                Some(Some(block)) => bytes.extend_from_slice(&block[range]),
                _ => bytes.resize(bytes.len() + range.len(), 0),
            }
        }
        bytes
    }

    /// Overwrites, and grows where that is beyond the end.
    pub(super) fn write(&mut self, offset: u64, mut bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let end = offset + bytes.len() as u64;
        self.size = self.size.max(end);
        let blocks = end.div_ceil(BLOCK as u64) as usize;
        if self.blocks.len() < blocks {
            self.blocks.resize_with(blocks, || None);
        }
        for (index, range) in pieces(offset, bytes.len()) {
            let (piece, rest) = bytes.split_at(range.len());
            let block = self.blocks[index].get_or_insert_with(|| Box::new([0; BLOCK]));
            block[range].copy_from_slice(piece);
            bytes = rest;
        }
    }

    /// Cuts off, or adds zeros.
    pub(super) fn resize(&mut self, size: u64) {
        if size < self.size {
            self.blocks.truncate(size.div_ceil(BLOCK as u64) as usize);
            // Room for blocks is counted by the size, and so has to end where that does.
            self.blocks.shrink_to_fit();
            let within = (size % BLOCK as u64) as usize;
            let last = (size / BLOCK as u64) as usize;
            if let Some(Some(block)) = self.blocks.get_mut(last) {
                block[within..].fill(0);
            }
        }
        self.size = size;
    }
}

/// The blocks that a range of the file touches, and which part of each.
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
    let mut position = offset;
    let end = offset + length as u64;
    std::iter::from_fn(move || {
        if position >= end {
            return None;
        }
        let index = (position / BLOCK as u64) as usize;
        let start = (position % BLOCK as u64) as usize;
        let length = (end - position).min((BLOCK - start) as u64) as usize;
        position += length as u64;
        Some((index, start..start + length))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_content_behaves_like_a_vector(
            steps in prop::collection::vec((0..3 * BLOCK, 0..2 * BLOCK, any::<bool>()), 0..12),
        ) {
            let (mut content, mut plain) = (Content::default(), Vec::new());
            for (number, (offset, length, write)) in steps.into_iter().enumerate() {
                if write && length > 0 {
                    let bytes = vec![number as u8 + 1; length];
                    plain.resize(plain.len().max(offset + length), 0);
                    plain[offset..offset + length].copy_from_slice(&bytes);
                    content.write(offset as u64, &bytes);
                } else {
                    plain.resize(offset, 0);
                    content.resize(offset as u64);
                }
                prop_assert_eq!(content.size(), plain.len() as u64);
                prop_assert_eq!(content.read(0, usize::MAX), &plain[..]);
                let from = length.min(plain.len());
                prop_assert_eq!(content.read(length as u64, 10), &plain[from..plain.len().min(from + 10)]);
            }
        }
    }

    #[test]
    fn what_was_skipped_takes_no_memory() {
        let mut content = Content::default();
        content.resize(1 << 40);
        assert!(content.blocks.is_empty());
        content.write(100 * BLOCK as u64, b"x");
        assert_eq!(content.blocks.iter().flatten().count(), 1);
    }

    #[test]
    fn what_was_cut_off_takes_no_memory_however_sparse_it_was() {
        let mut content = Content::default();
        content.write((64 << 20) - 1, b"x");
        assert_eq!(content.blocks.len(), 16_384);
        content.resize(BLOCK as u64);
        assert_eq!(content.blocks.capacity(), 1);
        content.resize(0);
        assert_eq!(content.blocks.capacity(), 0);
    }
}
