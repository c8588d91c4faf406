//! The parts of an image: files that are called by their digests.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Result;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::Builder;

use super::tree::Tree;

/// A part, as others name it.
pub struct Blob {
    media_type: &'static str,
    digest: String,
    size: u64,
}

impl Blob {
    /// Writes a part that is JSON.
    pub fn json(folder: &Path, media_type: &'static str, value: &Value) -> Result<Self> {
        let bytes = serde_json::to_vec(value)?;
        let digest = format!("{:x}", Sha256::digest(&bytes));
        fs::write(folder.join(&digest), &bytes)?;
        Ok(Self { media_type, digest, size: bytes.len() as u64 })
    }

    /// Writes a layer; its other digest is that of the archive before it is compressed.
    pub fn layer(folder: &Path, tree: &Tree) -> Result<(Self, String)> {
        let partial = folder.join("partial");
        let packed = Digesting::new(BufWriter::new(File::create(&partial)?));
        let plain = Digesting::new(GzEncoder::new(packed, Compression::default()));
        let mut archive = Builder::new(plain);
        tree.write(&mut archive)?;
        let (encoder, plain, _) = archive.into_inner()?.finish();
        let (mut file, digest, size) = encoder.finish()?.finish();
        file.flush()?;
        fs::rename(partial, folder.join(&digest))?;
        let media_type = "application/vnd.oci.image.layer.v1.tar+gzip";
        Ok((Self { media_type, digest, size }, format!("sha256:{plain}")))
    }

    /// How it is named in a manifest or an index.
    pub fn descriptor(&self) -> Value {
        json!({
            "mediaType": self.media_type,
            "digest": format!("sha256:{}", self.digest),
            "size": self.size,
        })
    }
}

/// A writer that knows the digest of what went through it.
struct Digesting<W> {
    inner: W,
    digest: Sha256,
    size: u64,
}

impl<W> Digesting<W> {
    fn new(inner: W) -> Self {
        Self { inner, digest: Sha256::new(), size: 0 }
    }

    fn finish(self) -> (W, String, u64) {
        (self.inner, format!("{:x}", self.digest.finalize()), self.size)
    }
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
