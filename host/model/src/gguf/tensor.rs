//! Where the weights lie in a file, and as what.

use std::collections::BTreeMap;

use super::encoding::Encoding;
use super::metadata::Metadata;
use super::reader::Reader;
use troupe_core::config::Dtype;

/// Tensors of a file; ten times what the largest have.
const MOST_TENSORS: u64 = 1 << 16;
/// Bytes that the place of a tensor is a multiple of, where the file does not say.
const ALIGNMENT: u64 = 32;

/// The tensors of a file by name.
#[derive(Debug)]
pub(super) struct Tensors<'f> {
    by_name: BTreeMap<&'f str, Stored<'f>>,
}

/// One tensor.
#[derive(Debug)]
pub(super) struct Stored<'f> {
    pub(super) encoding: Encoding,
    /// The slowest changing first, as everywhere but in these files.
    pub(super) shape: Vec<usize>,
    pub(super) bytes: &'f [u8],
}

impl<'f> Tensors<'f> {
    pub(super) fn read(
        reader: &mut Reader<'f>,
        count: u64,
        metadata: &Metadata<'f>,
    ) -> Result<Self, String> {
        if count > MOST_TENSORS {
            return Err(format!("it has {count} tensors, but at most {MOST_TENSORS} are read"));
        }
        let alignment = metadata.whole("general.alignment")?.unwrap_or(ALIGNMENT);
        if !(alignment.is_power_of_two() && alignment <= 1 << 20) {
            return Err(format!("`general.alignment` is {alignment}, but must be a power of two"));
        }
        if metadata.whole("split.count")?.is_some_and(|parts| parts > 1) {
            return Err("it is one part of several; join them first, as `llama-gguf-split \
                        --merge` of llama.cpp does"
                .to_owned());
        }
        let entries =
            (0..count).map(|_| TensorEntry::read(reader)).collect::<Result<Vec<_>, _>>()?;
        let start = reader.position().next_multiple_of(alignment as usize);
        let data = reader.whole().get(start..).unwrap_or_default();
        let (mut by_name, mut total) = (BTreeMap::new(), 0);
        for entry in entries {
            let name = entry.name;
            let stored = entry.locate(data, alignment);
            let stored = stored.map_err(|reason| format!("tensor `{name}` {reason}"))?;
            total += stored.bytes.len();
            if by_name.insert(name, stored).is_some() {
                return Err(format!("it is damaged: tensor `{name}` is there twice"));
            }
        }
        // Else a small file could become any number of large ones.
        if total > data.len() {
            return Err("it is damaged: tensors lie over each other".to_owned());
        }
        Ok(Tensors { by_name })
    }

    pub(super) fn get(&self, name: &str) -> Option<&Stored<'f>> {
        self.by_name.get(name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'f str, &Stored<'f>)> {
        self.by_name.iter().map(|(name, stored)| (*name, stored))
    }

    /// The narrowest type of ours that holds every number of the matrices as it is.
    pub(super) fn lossless(&self) -> Dtype {
        let mut matrices = self.by_name.values().filter(|stored| stored.shape.len() > 1);
        match matrices.all(|stored| stored.encoding == Encoding::Bf16) {
            true => Dtype::Bfloat16,
            false => Dtype::Float32,
        }
    }

    /// The types of numbers that occur and how often, the most frequent first.
    pub(super) fn encodings(&self) -> Vec<String> {
        let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for stored in self.by_name.values() {
            *counts.entry(stored.encoding.name()).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts.iter().map(|(name, count)| format!("{name} ({count})")).collect()
    }
}

/// A tensor as it is announced.
struct TensorEntry<'f> {
    name: &'f str,
    /// The fastest changing first.
    sizes: Vec<u64>,
    kind: u32,
    offset: u64,
}

impl<'f> TensorEntry<'f> {
    fn read(reader: &mut Reader<'f>) -> Result<Self, String> {
        let name = reader.text()?;
        let dimensions = reader.u32()?;
        if !(1..=4).contains(&dimensions) {
            return Err(format!(
                "tensor `{name}` has {dimensions} dimensions, but must have 1 to 4"
            ));
        }
        let sizes = (0..dimensions).map(|_| reader.u64()).collect::<Result<_, _>>()?;
        Ok(TensorEntry { name, sizes, kind: reader.u32()?, offset: reader.u64()? })
    }

    fn locate(&self, data: &'f [u8], alignment: u64) -> Result<Stored<'f>, String> {
        let encoding = Encoding::of(self.kind)?;
        let too_large = || format!("claims to be of size {:?}", self.sizes);
        let count = self.sizes.iter().try_fold(1_u64, |product, size| product.checked_mul(*size));
        let count = count.filter(|count| *count > 0).ok_or_else(too_large)?;
        let (numbers, size) = encoding.block();
        if !self.sizes[0].is_multiple_of(numbers as u64) {
            return Err(format!(
                "has rows of {}, which are no whole blocks of {numbers} as {} has them",
                self.sizes[0],
                encoding.name()
            ));
        }
        let length = (count / numbers as u64).checked_mul(size as u64).ok_or_else(too_large)?;
        let end = self.offset.checked_add(length).ok_or_else(too_large)?;
        if !self.offset.is_multiple_of(alignment) {
            return Err(format!("begins at {}, no multiple of {alignment}", self.offset));
        }
        if end > data.len() as u64 {
            return Err(format!(
                "ends at byte {end} of the weights, but there are only {}; the file is cut off, \
                 copy it again",
                data.len()
            ));
        }
        // Both are at most the length of the file, and so is every size.
        let bytes = &data[self.offset as usize..end as usize];
        let shape = self.sizes.iter().rev().map(|size| *size as usize).collect();
        Ok(Stored { encoding, shape, bytes })
    }
}
