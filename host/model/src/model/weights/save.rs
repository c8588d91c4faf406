//! From tensors to files, as `save_pretrained` of `transformers` lays them out.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use safetensors::tensor::{Dtype, View};
use serde_json::json;
use tch::Tensor;

use super::super::parameters::{Parameters, Slot};
use super::{INDEX, SINGLE, TYPES, bytes};
use crate::error::PolicyError;
use troupe_core::storage::{StorageError, list_folder, replace, write_json};

/// Bytes of tensors in a file beyond which another one is begun, where a
/// single tensor is not larger: 5 GB.
pub const SHARD_BYTES: usize = 5_000_000_000;

/// Write `parameters` into `folder`: one file, or several of at most `limit`
/// bytes and their index. Each file is replaced as a whole; files of an
/// earlier save that are not part of this one are removed last.
pub fn save(parameters: &Parameters, folder: &Path, limit: usize) -> Result<(), PolicyError> {
    let shards = cut(parameters.tensors().collect(), limit);
    let count = shards.len();
    let mut weight_map = BTreeMap::new();
    let mut written = Vec::new();
    for (index, shard) in shards.into_iter().enumerate() {
        let file = match count {
            1 => SINGLE.to_owned(),
            _ => format!("model-{:05}-of-{count:05}.safetensors", index + 1),
        };
        weight_map.extend(shard.iter().map(|(slot, _)| (slot.name().to_owned(), file.clone())));
        let tensors = shard.into_iter().map(|(slot, tensor)| (slot.name().to_owned(), tensor));
        write_tensors(&folder.join(&file), tensors)?;
        written.push(file);
    }
    if count > 1 {
        let size: usize = parameters.tensors().map(|(_, tensor)| size_of(&tensor)).sum();
        let metadata = json!({ "total_parameters": parameters.count(), "total_size": size });
        let index = json!({ "metadata": metadata, "weight_map": weight_map });
        write_json(&folder.join(INDEX), &index)?;
        written.push(INDEX.to_owned());
    }
    remove_stale(folder, &written)
}

/// Cut tensors into runs of at most `limit` bytes, or of one larger tensor.
fn cut(tensors: Vec<(&Slot, Tensor)>, limit: usize) -> Vec<Vec<(&Slot, Tensor)>> {
    let (mut shards, mut shard, mut size) = (Vec::new(), Vec::new(), 0);
    for (slot, tensor) in tensors {
        let more = size_of(&tensor);
        if size > 0 && size + more > limit {
            shards.push(std::mem::take(&mut shard));
            size = 0;
        }
        size += more;
        shard.push((slot, tensor));
    }
    shards.push(shard);
    shards
}

/// Remove what an earlier save of more or fewer files left.
fn remove_stale(folder: &Path, written: &[String]) -> Result<(), PolicyError> {
    for name in list_folder(folder)? {
        let ours = name == SINGLE || name == INDEX || is_shard(&name);
        if ours && !written.contains(&name) {
            let path = folder.join(&name);
            std::fs::remove_file(&path).map_err(StorageError::io("remove", &path))?;
        }
    }
    Ok(())
}

/// Whether a file is called `model-<number>-of-<number>.safetensors`.
fn is_shard(name: &str) -> bool {
    let middle = name.strip_prefix("model-").and_then(|name| name.strip_suffix(".safetensors"));
    let numbers = middle.and_then(|middle| middle.split_once("-of-"));
    let digits = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(number, count)| digits(number) && digits(count))
}

/// Write named tensors as one file, replaced as a whole.
pub fn write_tensors(
    path: &Path,
    tensors: impl IntoIterator<Item = (String, Tensor)>,
) -> Result<(), PolicyError> {
    let failure = OnceCell::new();
    let contents = tensors
        .into_iter()
        .map(|(name, tensor)| match Content::of(tensor, &failure) {
            Ok(content) => Ok((name, content)),
            Err(reason) => Err(refuse_to_write(path, format!("tensor `{name}` {reason}"))),
        })
        .collect::<Result<Vec<_>, PolicyError>>()?;
    // Without this entry `transformers` refuses the file.
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    let written = replace(path, |temporary| {
        safetensors::serialize_to_file(contents, Some(metadata), temporary)
            .map_err(std::io::Error::other)?;
        // A tensor that could not be read was written as zeros.
        failure.get().map_or(Ok(()), |error| Err(std::io::Error::other(error.to_string())))
    });
    match failure.into_inner() {
        Some(error) => Err(error),
        None => Ok(written?),
    }
}

fn refuse_to_write(path: &Path, reason: String) -> PolicyError {
    StorageError::io("write", path)(std::io::Error::other(reason)).into()
}

fn size_of(tensor: &Tensor) -> usize {
    tensor.numel() * tensor.kind().elt_size_in_bytes()
}

/// A tensor to be saved. Its bytes are read when they are written.
struct Content<'a> {
    tensor: Tensor,
    dtype: Dtype,
    shape: Vec<usize>,
    /// Why bytes could not be copied from the device; [`View`] cannot say it.
    failure: &'a OnceCell<PolicyError>,
}

impl<'a> Content<'a> {
    fn of(tensor: Tensor, failure: &'a OnceCell<PolicyError>) -> Result<Self, String> {
        let kind = tensor.kind();
        let found = TYPES.iter().find(|(_, known)| *known == kind);
        let (dtype, _) = found.ok_or_else(|| format!("is of type {kind:?}, which is not kept"))?;
        let shape = tensor.size().iter().map(|&size| size as usize).collect();
        Ok(Content { dtype: *dtype, shape, tensor, failure })
    }
}

impl View for Content<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        bytes(&self.tensor).unwrap_or_else(|error| {
            let _ = self.failure.set(error);
            Cow::Owned(vec![0; self.data_len()])
        })
    }

    fn data_len(&self) -> usize {
        size_of(&self.tensor)
    }
}
