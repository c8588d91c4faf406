//! Tests as LiveCodeBench packs them: base 64 of zlib of a pickled string.

use std::io::{self, Read};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;

use super::pickled::{self, PickleError};

/// Why text cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum PackedError {
    /// It is not base 64.
    #[error("it is not base 64: {0}")]
    Base64(String),
    /// It is not compressed as it should be.
    #[error("it is not zlib: {0}")]
    Zlib(String),
    /// It would be too much.
    #[error("it unpacks to more than {0} bytes")]
    TooLarge(u64),
    /// What was compressed is no pickle of one text.
    #[error(transparent)]
    Pickle(#[from] PickleError),
}

/// The text that was packed, of at most so many bytes. What would be more is
/// counted and never held.
///
/// # Errors
/// If it is not packed like that, is more, or the pickle holds anything else.
pub fn unpack(text: &str, most: u64) -> Result<String, PackedError> {
    let compact: String = text.split_ascii_whitespace().collect();
    let compressed =
        STANDARD.decode(compact).map_err(|error| PackedError::Base64(error.to_string()))?;
    // A few bytes of a pickle stand around its text.
    let bound = most.saturating_add(64);
    let zlib = |error: io::Error| PackedError::Zlib(error.to_string());
    let size = io::copy(&mut inflated(&compressed, bound), &mut io::sink()).map_err(zlib)?;
    if size == bound {
        return Err(PackedError::TooLarge(most));
    }
    let mut pickle = Vec::with_capacity(size as usize);
    inflated(&compressed, bound).read_to_end(&mut pickle).map_err(zlib)?;
    drop(compressed);
    Ok(pickled::read_string(&pickle)?)
}

fn inflated(compressed: &[u8], bound: u64) -> impl Read + '_ {
    ZlibDecoder::new(compressed).take(bound)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    fn packed(pickle: &[u8]) -> String {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(pickle).unwrap();
        STANDARD.encode(encoder.finish().unwrap())
    }

    #[test]
    fn a_text_is_unpacked_up_to_the_bound_and_not_beyond() {
        let mut pickle = b"\x80\x03X\x00\x00\x01\x00".to_vec();
        pickle.extend([b'a'; 1 << 16]);
        pickle.push(b'.');
        let text = packed(&pickle);
        assert_eq!(unpack(&text, 1 << 16).unwrap().len(), 1 << 16);
        let error = unpack(&text, (1 << 16) - 100).unwrap_err();
        assert!(matches!(error, PackedError::TooLarge(65436)), "{error}");
    }

    #[test]
    fn each_layer_says_what_is_wrong_with_it() {
        let of = |text: &str| unpack(text, 100).unwrap_err().to_string();
        assert!(of("not base 64!").contains("base 64"));
        assert!(of("aGVsbG8=").contains("zlib"));
        assert!(of(&packed(b"cposix\nsystem\n.")).contains("GLOBAL"));
    }
}
