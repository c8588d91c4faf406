//! Checkpoints in one file, as llama.cpp has them (GGUF), written as folders
//! that `language_model` loads.
//!
//! A file says what it holds in words of its own: `metadata` reads them,
//! `tensor` finds the weights, `encoding` turns blocks of small numbers into
//! plain ones. What they mean in a checkpoint is said by `shape` (its
//! `config.json`, with `rope`, `gemma3` and `options`), `weights` and `tokenizer` (with
//! `vocabulary`, which is `pre_tokenizer` or `sentence_piece`). Files come from anywhere: all
//! that they claim is checked against their size before it is believed, and
//! what is not understood is refused by name.

mod encoding;
mod gemma3;
#[cfg(test)]
#[path = "../../../tests/support/gguf_file.rs"]
mod gguf_file;
mod metadata;
mod options;
#[cfg(test)]
mod parity;
mod pre_tokenizer;
mod reader;
mod rope;
mod sentence_piece;
mod shape;
mod tensor;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tiny_gemma;
mod tokenizer;
mod vocabulary;
mod weights;

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

use self::metadata::Metadata;
use self::reader::Reader;
use self::shape::Shape;
use self::tensor::Tensors;
use self::tokenizer::GgufTokenizer;
use self::weights::Weights;
use crate::error::PolicyError;
use troupe_core::config::Dtype;
use troupe_core::storage::{StorageError, create_folder, write_json};

/// What the files begin with.
const MAGIC: &[u8] = b"GGUF";
/// Versions that differ in nothing we read.
const VERSIONS: std::ops::RangeInclusive<u32> = 2..=3;

/// What was read and written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Types of numbers in the file and how many tensors have them, such as `Q4_1 (210)`.
    pub encodings: Vec<String>,
    /// Type of the weights that were written.
    pub dtype: Dtype,
    /// Bytes of these weights.
    pub bytes: u64,
}

/// Write the checkpoint in a GGUF file as a folder in the Hugging Face layout.
/// Where `dtype` is left out, nothing that the file knows is lost. A `template`
/// takes the place of the file's own chat template.
///
/// # Errors
/// If the file is damaged or of a kind that is not supported, or the folder
/// cannot be written.
pub fn import(
    file: &Path,
    folder: &Path,
    dtype: Option<Dtype>,
    template: Option<&str>,
) -> Result<Imported, PolicyError> {
    let refuse = |reason| PolicyError::Gguf { path: file.to_owned(), reason };
    let opened = File::open(file).map_err(StorageError::io("read", file))?;
    #[expect(unsafe_code, reason = "mapping a file lets others change the bytes we read")]
    // SAFETY: what is read is copied into the files that are written, and each
    // access is checked, so a file that changes meanwhile gives other numbers.
    let map = unsafe { Mmap::map(&opened) }.map_err(StorageError::io("read", file))?;
    let (metadata, tensors) = read(&map).map_err(refuse)?;
    let shape = Shape::read(&metadata, &tensors).map_err(refuse)?;
    let tokenizer = GgufTokenizer::read(&metadata, &shape, template).map_err(refuse)?;
    let dtype = dtype.unwrap_or_else(|| tensors.lossless());
    let weights = Weights::of(&shape, &tensors).map_err(refuse)?;

    create_folder(folder)?;
    let special = tokenizer.special_ids();
    write_json(&folder.join("config.json"), &shape.config(dtype, &special))?;
    write_json(&folder.join("generation_config.json"), &special)?;
    write_json(&folder.join("tokenizer.json"), &tokenizer.file())?;
    write_json(&folder.join("tokenizer_config.json"), &tokenizer.settings())?;
    let bytes = weights.write(&folder.join("model.safetensors"), dtype)?;
    Ok(Imported { encodings: tensors.encodings(), dtype, bytes })
}

/// Everything a file holds, weights as bytes.
fn read(bytes: &[u8]) -> Result<(Metadata<'_>, Tensors<'_>), String> {
    let mut reader = Reader::new(bytes);
    if reader.take(4).ok() != Some(MAGIC) {
        return Err("it is not a GGUF file: these begin with the letters `GGUF`".to_owned());
    }
    let version = reader.u32()?;
    if VERSIONS.contains(&version.swap_bytes()) {
        return Err(
            "it was written for big-endian machines; only little-endian files are read".to_owned()
        );
    }
    if !VERSIONS.contains(&version) {
        return Err(format!("it is of GGUF version {version}; versions 2 and 3 are read"));
    }
    let (tensors, entries) = (reader.u64()?, reader.u64()?);
    let metadata = Metadata::read(&mut reader, entries)?;
    let tensors = Tensors::read(&mut reader, tensors, &metadata)?;
    Ok((metadata, tensors))
}
