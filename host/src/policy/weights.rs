//! Weights in and out of `safetensors` files.
//!
//! Reading maps the file into memory and copies tensor by tensor into the
//! model's buffer, so a checkpoint never needs twice its size.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use safetensors::tensor::{Dtype, SafeTensors, TensorView, View};
use serde::Deserialize;
use tch::{Kind, Tensor};

use super::{Parameters, PolicyError};
use crate::storage::{StorageError, beside, read_json};

/// `model.safetensors.index.json`: which file holds which tensor.
#[derive(Deserialize)]
struct ShardIndex {
    weight_map: BTreeMap<String, String>,
}

/// Fill `parameters` from `model.safetensors`, or from the files that
/// `model.safetensors.index.json` lists.
pub(super) fn load(parameters: &mut Parameters, folder: &Path) -> Result<(), PolicyError> {
    let index = folder.join("model.safetensors.index.json");
    let files: BTreeSet<PathBuf> = if index.exists() {
        let index: ShardIndex = read_json(&index)?;
        index.weight_map.values().map(|file| folder.join(file)).collect()
    } else {
        BTreeSet::from([folder.join("model.safetensors")])
    };
    let mut missing: BTreeSet<String> =
        parameters.slots().iter().map(|slot| slot.name().to_owned()).collect();
    for path in files {
        with_file(&path, |file| {
            for (name, tensor) in file.iter() {
                if load_tensor(parameters, name, &tensor).map_err(|reason| refuse(&path, reason))? {
                    missing.remove(name);
                }
            }
            Ok(())
        })?;
    }
    match missing.first() {
        None => Ok(()),
        Some(name) => {
            Err(refuse(folder, format!("tensor `{name}` is missing; is the file complete?")))
        }
    }
}

/// Copy one tensor into its slot; false if the model has no use for it.
fn load_tensor(parameters: &Parameters, name: &str, found: &TensorView) -> Result<bool, String> {
    let Some(slot) = parameters.slots().iter().find(|slot| slot.name() == name) else {
        // Tied heads and rotary tables are derived, yet some checkpoints carry them.
        if name == "lm_head.weight" || name.ends_with("rotary_emb.inv_freq") {
            return Ok(false);
        }
        return Err(format!(
            "tensor `{name}` is not part of this architecture; check `config.json`"
        ));
    };
    let shape: Vec<i64> = found.shape().iter().map(|&size| size as i64).collect();
    if shape != slot.shape() {
        return Err(format!(
            "tensor `{name}` has shape {shape:?}, but `config.json` asks for {:?}",
            slot.shape()
        ));
    }
    let tensor = tensor_of(found).map_err(|reason| format!("tensor `{name}` {reason}"))?;
    let finite = tensor.f_isfinite().and_then(|finite| finite.f_all());
    if finite.is_ok_and(|finite| finite.int64_value(&[]) == 0) {
        return Err(format!("tensor `{name}` holds infinities or NaN; the checkpoint is damaged"));
    }
    let mut target = slot.view(parameters.buffer());
    target.f_copy_(&tensor).map_err(|error| error.to_string())?;
    Ok(true)
}

/// Write `parameters` as one file, replaced as a whole.
pub(super) fn save(parameters: &Parameters, path: &Path) -> Result<(), PolicyError> {
    let tensors = parameters.tensors().map(|(slot, tensor)| (slot.name().to_owned(), tensor));
    write_tensors(path, tensors)
}

/// Write named tensors as one file, replaced as a whole.
pub(crate) fn write_tensors(
    path: &Path,
    tensors: impl IntoIterator<Item = (String, Tensor)>,
) -> Result<(), PolicyError> {
    let tensors = tensors
        .into_iter()
        .map(|(name, tensor)| Ok((name, Content::of(&tensor)?)))
        .collect::<Result<Vec<_>, PolicyError>>()?;
    // Without this entry `transformers` refuses the file.
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    let temporary = beside(path);
    safetensors::serialize_to_file(tensors, Some(metadata), &temporary)
        .map_err(|error| refuse(path, error.to_string()))?;
    let publish = || {
        File::open(&temporary)?.sync_all()?;
        std::fs::rename(&temporary, path)
    };
    publish().map_err(StorageError::io("write", path))?;
    Ok(())
}

/// Read all tensors of a file, on the CPU, by name.
pub(crate) fn read_tensors(path: &Path) -> Result<HashMap<String, Tensor>, PolicyError> {
    with_file(path, |file| {
        file.iter()
            .map(|(name, view)| {
                let tensor = tensor_of(&view)
                    .map_err(|reason| refuse(path, format!("tensor `{name}` {reason}")))?;
                Ok((name.to_owned(), tensor))
            })
            .collect()
    })
}

/// The bytes of a tensor in row-major order.
pub(super) fn bytes(tensor: &Tensor) -> Result<Vec<u8>, PolicyError> {
    let tensor = tensor.f_to_device(tch::Device::Cpu)?.f_contiguous()?;
    let mut bytes = vec![0; tensor.numel() * tensor.kind().elt_size_in_bytes()];
    tensor.f_copy_data_u8(&mut bytes, tensor.numel())?;
    Ok(bytes)
}

fn with_file<T>(
    path: &Path,
    read: impl FnOnce(&SafeTensors) -> Result<T, PolicyError>,
) -> Result<T, PolicyError> {
    let file = File::open(path).map_err(StorageError::io("read", path))?;
    #[expect(unsafe_code, reason = "mapping a file lets others change the bytes we read")]
    // SAFETY: checkpoints are replaced by renaming and never written in place;
    // the map does not outlive this call and all is copied out of it.
    let map = unsafe { Mmap::map(&file) }.map_err(StorageError::io("read", path))?;
    let content =
        SafeTensors::deserialize(&map).map_err(|error| refuse(path, error.to_string()))?;
    read(&content)
}

fn tensor_of(view: &TensorView) -> Result<Tensor, String> {
    let kind = match view.dtype() {
        Dtype::F32 => Kind::Float,
        Dtype::BF16 => Kind::BFloat16,
        Dtype::F16 => Kind::Half,
        Dtype::I64 => Kind::Int64,
        other => return Err(format!("is of type {other}; convert it to F32 or BF16")),
    };
    let shape: Vec<i64> = view.shape().iter().map(|&size| size as i64).collect();
    Tensor::f_from_data_size(view.data(), &shape, kind).map_err(|error| error.to_string())
}

fn refuse(path: &Path, reason: String) -> PolicyError {
    PolicyError::Weights { path: path.to_owned(), reason }
}

/// A tensor on its way into a file.
struct Content {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Content {
    fn of(tensor: &Tensor) -> Result<Self, PolicyError> {
        let dtype = match tensor.kind() {
            Kind::BFloat16 => Dtype::BF16,
            Kind::Int64 => Dtype::I64,
            _ => Dtype::F32,
        };
        let shape = tensor.size().iter().map(|&size| size as usize).collect();
        Ok(Content { dtype, shape, bytes: bytes(tensor)? })
    }
}

impl View for Content {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}
