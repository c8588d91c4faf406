//! What a file is by its first bytes, and its text if it is compressed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};

use flate2::read::MultiGzDecoder;

const BUFFER: usize = 1 << 16;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Text,
    Gzip,
    Zstd,
    Parquet,
    Zip,
}

/// What an open file holds; it stands at its beginning again.
pub(super) fn content_of(file: &mut File) -> io::Result<Content> {
    let mut head = Vec::new();
    file.take(4).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(match head.as_slice() {
        b"PAR1" => Content::Parquet,
        b"PK\x03\x04" => Content::Zip,
        [0x28, 0xb5, 0x2f, 0xfd] => Content::Zstd,
        [0x1f, 0x8b, ..] => Content::Gzip,
        _ => Content::Text,
    })
}

/// The text of a file, unpacked as it is read: never more of it at a time than
/// a buffer and the window that the format needs.
pub(super) fn text_of(file: File, content: Content) -> io::Result<Box<dyn BufRead>> {
    Ok(match content {
        Content::Gzip => {
            Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(BufReader::new(file))))
        }
        Content::Zstd => {
            Box::new(BufReader::with_capacity(BUFFER, zstd::stream::read::Decoder::new(file)?))
        }
        Content::Text | Content::Parquet | Content::Zip => {
            Box::new(BufReader::with_capacity(BUFFER, file))
        }
    })
}
