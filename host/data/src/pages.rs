//! The headers of a Parquet column's pages, read before the pages are: what a
//! page says it unpacks to is reserved by its reader, so it has to be known first.
//!
//! Of Thrift's compact protocol only what these headers need is read; all else
//! is skipped.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

/// Structures within structures, or lists within lists.
const DEPTH: usize = 16;

/// What one page says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PageHeader {
    /// Bytes once unpacked.
    pub unpacked: u64,
    /// Bytes as they lie in the file, behind the header.
    pub packed: u64,
    /// Values, those that are null included.
    pub values: u64,
}

/// Read a page's header at the beginning of these bytes; also its length.
pub(super) fn read_header(bytes: &[u8]) -> Result<(PageHeader, usize), String> {
    let mut thrift = Thrift { bytes, at: 0 };
    let mut header = PageHeader::default();
    let mut field = 0;
    while let Some(kind) = thrift.field(&mut field)? {
        match (field, kind) {
            (2, Thrift::I32) => header.unpacked = thrift.count()?,
            (3, Thrift::I32) => header.packed = thrift.count()?,
            // Of data, of a dictionary, and of data in version 2: the count comes first.
            (5 | 7 | 8, Thrift::STRUCT) => header.values = thrift.first_count()?,
            (_, kind) => thrift.skip(kind, DEPTH)?,
        }
    }
    Ok((header, thrift.at))
}

/// How many bytes gzip unpacks to, but no more than one beyond `most`.
pub(super) fn gunzipped(bytes: &[u8], most: u64) -> io::Result<u64> {
    let mut unpacked = MultiGzDecoder::new(bytes).take(most.saturating_add(1));
    io::copy(&mut unpacked, &mut io::sink())
}

struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Thrift<'_> {
    const I32: u8 = 5;
    const STRUCT: u8 = 12;

    fn byte(&mut self) -> Result<u8, String> {
        let byte = self.bytes.get(self.at).ok_or("a page's header breaks off")?;
        self.at += 1;
        Ok(*byte)
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("a page's header holds a number that does not end".to_owned())
    }

    /// A number that cannot be less than 0.
    fn count(&mut self) -> Result<u64, String> {
        let value = self.varint()?;
        match value & 1 {
            0 => Ok(value >> 1),
            _ => Err("a page's header holds a size below 0".to_owned()),
        }
    }

    /// The kind of the next field; none at the end of the structure.
    fn field(&mut self, number: &mut u64) -> Result<Option<u8>, String> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        *number = match byte >> 4 {
            0 => self.varint()? >> 1,
            more => number.saturating_add(u64::from(more)),
        };
        Ok(Some(byte & 0x0f))
    }

    /// Field 1 of a structure.
    fn first_count(&mut self) -> Result<u64, String> {
        let (mut field, mut count) = (0, 0);
        while let Some(kind) = self.field(&mut field)? {
            match (field, kind) {
                (1, Thrift::I32) => count = self.count()?,
                (_, kind) => self.skip(kind, DEPTH)?,
            }
        }
        Ok(count)
    }

    fn advance(&mut self, count: u64) -> Result<(), String> {
        let end = usize::try_from(count).ok().and_then(|count| self.at.checked_add(count));
        self.at = end.filter(|end| *end <= self.bytes.len()).ok_or("a page's header breaks off")?;
        Ok(())
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<(), String> {
        if depth == 0 {
            return Err("a page's header is nested too deeply".to_owned());
        }
        match kind {
            1 | 2 => Ok(()),
            3 => self.advance(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.advance(8),
            8 => {
                let length = self.varint()?;
                self.advance(length)
            }
            9 | 10 => self.skip_list(depth),
            Thrift::STRUCT => {
                let mut field = 0;
                while let Some(kind) = self.field(&mut field)? {
                    self.skip(kind, depth - 1)?;
                }
                Ok(())
            }
            other => Err(format!("a page's header holds something unknown ({other})")),
        }
    }

    fn skip_list(&mut self, depth: usize) -> Result<(), String> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            few => u64::from(few),
        };
        for _ in 0..count {
            match head & 0x0f {
                // Within a list a truth value takes a byte.
                1 | 2 => self.advance(1)?,
                kind => self.skip(kind, depth - 1)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_and_counts_are_read_and_all_else_is_skipped() {
        // type = 0, unpacked = 300, packed = 5, crc skipped, data page of 7 values.
        let header = [0x15, 0, 0x15, 0xd8, 4, 0x15, 10, 0x15, 2, 0x1c, 0x15, 14, 0x15, 0, 0, 0];
        let expected = PageHeader { unpacked: 300, packed: 5, values: 7 };
        assert_eq!(read_header(&header), Ok((expected, header.len())));
        assert!(read_header(&header[..4]).unwrap_err().contains("breaks off"));
        assert!(read_header(&[0x25, 1, 0]).unwrap_err().contains("below 0"));
        assert!(read_header(&[0x1c; 64]).unwrap_err().contains("deep"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            _ = read_header(&bytes);
        }
    }
}
