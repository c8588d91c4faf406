//! From files to tensors. All files are looked through before the first
//! number is copied, so a checkpoint that does not fit is refused at once.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use safetensors::tensor::{SafeTensorError, SafeTensors, TensorView};
use serde::Deserialize;
use tch::{TchError, Tensor};

use super::super::parameters::{Parameters, Slot};
use super::{INDEX, SINGLE, TYPES, refuse};
use crate::error::PolicyError;
use troupe_core::storage::{StorageError, read_json};

/// The output head, which is the embedding in models that tie them.
const HEAD: &str = "lm_head.weight";
const EMBEDDING: &str = "model.embed_tokens.weight";
/// Numbers that are looked at together.
const PIECE: usize = 1 << 18;

/// `model.safetensors.index.json`.
#[derive(Deserialize)]
struct ShardIndex {
    weight_map: BTreeMap<String, String>,
}

/// Fill `parameters` from `model.safetensors`, or from the files that
/// `model.safetensors.index.json` lists.
pub fn load(parameters: &mut Parameters, folder: &Path) -> Result<(), PolicyError> {
    let (files, index) = locate(folder)?;
    let shards = files.into_iter().map(Shard::open).collect::<Result<Vec<_>, _>>()?;
    let slots: HashMap<&str, &Slot> =
        parameters.slots().iter().map(|slot| (slot.name(), slot)).collect();
    let mut holders: BTreeMap<String, &Shard> = BTreeMap::new();
    for shard in &shards {
        for (name, tensor) in shard.tensors()?.iter() {
            shard.check(name, &tensor, slots.get(name).copied())?;
            if let Some(other) = holders.insert(name.to_owned(), shard) {
                let other = other.path.display();
                return Err(shard.refuse(format!("tensor `{name}` is in `{other}` as well")));
            }
        }
    }
    check_complete(folder, &holders, index.as_ref(), parameters.slots())?;
    for shard in &shards {
        for (name, tensor) in shard.tensors()?.iter() {
            if let Some(slot) = slots.get(name) {
                copy(&tensor, &slot.view(parameters.buffer()))
                    .map_err(|reason| shard.refuse(format!("tensor `{name}` {reason}")))?;
            }
        }
    }
    match (slots.contains_key(HEAD), slots.get(EMBEDDING), holders.get(HEAD)) {
        (false, Some(embedding), Some(shard)) => {
            check_tied(shard, &embedding.view(parameters.buffer()))
        }
        _ => Ok(()),
    }
}

/// The files of a checkpoint, and the index if there are several.
/// As in `transformers`, the single file comes first.
fn locate(folder: &Path) -> Result<(Vec<PathBuf>, Option<ShardIndex>), PolicyError> {
    let (single, list) = (folder.join(SINGLE), folder.join(INDEX));
    if single.exists() {
        return Ok((vec![single], None));
    }
    if !list.exists() {
        return Err(refuse(
            folder,
            format!(
                "there is neither `{SINGLE}` nor `{INDEX}`; save the checkpoint in this format, \
                 as `save_pretrained` of `transformers` does"
            ),
        ));
    }
    let index: ShardIndex = read_json(&list)?;
    let mut names: Vec<&String> = index.weight_map.values().collect();
    names.sort();
    names.dedup();
    let mut files = Vec::new();
    for name in names {
        if Path::new(name).file_name().is_none_or(|file| file != name.as_str()) {
            return Err(refuse(&list, format!("`{name}` is not the name of a file beside it")));
        }
        if !folder.join(name).exists() {
            return Err(refuse(
                folder,
                format!("`{name}` is missing, but `{INDEX}` lists it; copy the checkpoint again"),
            ));
        }
        files.push(folder.join(name));
    }
    Ok((files, Some(index)))
}

/// Every tensor of the model must be there, and where the index says.
fn check_complete(
    folder: &Path,
    holders: &BTreeMap<String, &Shard>,
    index: Option<&ShardIndex>,
    slots: &[Slot],
) -> Result<(), PolicyError> {
    for (name, file) in index.iter().flat_map(|index| &index.weight_map) {
        if holders.get(name).is_none_or(|shard| !shard.path.ends_with(file)) {
            return Err(refuse(
                &folder.join(INDEX),
                format!(
                    "it says that tensor `{name}` is in `{file}`, but it is not; copy the checkpoint again"
                ),
            ));
        }
    }
    match slots.iter().find(|slot| !holders.contains_key(slot.name())) {
        None => Ok(()),
        Some(slot) => {
            let reason =
                format!("tensor `{}` is missing; is the checkpoint complete?", slot.name());
            Err(refuse(folder, reason))
        }
    }
}

/// One file, mapped into memory.
struct Shard {
    path: PathBuf,
    map: Mmap,
}

impl Shard {
    fn open(path: PathBuf) -> Result<Self, PolicyError> {
        let file = File::open(&path).map_err(StorageError::io("read", &path))?;
        #[expect(unsafe_code, reason = "mapping a file lets others change the bytes we read")]
        // SAFETY: checkpoints are replaced by renaming and never written in
        // place; all is copied out of the map before it goes.
        let map = unsafe { Mmap::map(&file) }.map_err(StorageError::io("read", &path))?;
        Ok(Shard { path, map })
    }

    fn tensors(&self) -> Result<SafeTensors<'_>, PolicyError> {
        SafeTensors::deserialize(&self.map).map_err(|error| {
            let what = match error {
                SafeTensorError::MetadataIncompleteBuffer
                | SafeTensorError::HeaderTooSmall
                | SafeTensorError::InvalidHeaderLength => "it is cut off or not of this format",
                _ => "it is damaged or not of this format",
            };
            self.refuse(format!("{what} ({error}); copy it again"))
        })
    }

    /// A tensor must be one of the model's, of the right shape and a known type.
    fn check(
        &self,
        name: &str,
        found: &TensorView,
        slot: Option<&Slot>,
    ) -> Result<(), PolicyError> {
        let Some(slot) = slot else {
            // Tied heads and rotary tables are derived, yet some checkpoints carry them.
            if name == HEAD || name.ends_with("rotary_emb.inv_freq") {
                return Ok(());
            }
            return Err(self.refuse(format!(
                "tensor `{name}` is not part of this architecture; check `config.json`"
            )));
        };
        let shape = shape_of(found);
        if shape != slot.shape() {
            return Err(self.refuse(format!(
                "tensor `{name}` has shape {shape:?}, but `config.json` asks for {:?}",
                slot.shape()
            )));
        }
        let reason = kind_of(found).err();
        reason.map_or(Ok(()), |reason| Err(self.refuse(format!("tensor `{name}` {reason}"))))
    }

    fn refuse(&self, reason: String) -> PolicyError {
        refuse(&self.path, reason)
    }
}

/// Copy the numbers of a file into a tensor of the model, on its device.
fn copy(from: &TensorView, to: &Tensor) -> Result<(), String> {
    let to = to.view([-1]);
    with_pieces(from, |start, piece| {
        if piece.f_isfinite()?.f_all()?.int64_value(&[]) == 0 {
            return Ok(Some("holds infinities or NaN; the checkpoint is damaged".to_owned()));
        }
        to.narrow(0, start, piece.size()[0]).f_copy_(piece)?;
        Ok(None)
    })
}

/// A file of a model that ties its head may hold the head as well, if it is
/// the embedding. `transformers` warns and unties a head that differs; we
/// say that `config.json` is wrong.
fn check_tied(shard: &Shard, embedding: &Tensor) -> Result<(), PolicyError> {
    let tensors = shard.tensors()?;
    let head = tensors.tensor(HEAD).map_err(|error| shard.refuse(error.to_string()))?;
    let differs = || {
        Err(shard.refuse(format!(
            "`tie_word_embeddings` in `config.json` is true, but tensor `{HEAD}` is not the \
             embedding; set it to false to use the model with a head of its own"
        )))
    };
    if shape_of(&head) != embedding.size() {
        return differs();
    }
    let (embedding, mut same) = (embedding.view([-1]), true);
    let compared = with_pieces(&head, |start, piece| {
        let tied = embedding.narrow(0, start, piece.size()[0]);
        let piece = piece.f_to_device(tied.device())?.f_to_kind(tied.kind())?;
        same &= piece.f_equal(&tied)?;
        Ok(None)
    });
    compared.map_err(|reason| shard.refuse(format!("tensor `{HEAD}` {reason}")))?;
    if same { Ok(()) } else { differs() }
}

/// Read all tensors of a file, on the CPU, by name.
pub fn read_tensors(path: &Path) -> Result<HashMap<String, Tensor>, PolicyError> {
    let shard = Shard::open(path.to_owned())?;
    let tensors = shard.tensors()?;
    let copied = tensors.iter().map(|(name, view)| {
        let copied = kind_of(&view).and_then(|kind| {
            Tensor::f_from_data_size(view.data(), &shape_of(&view), kind)
                .map_err(|error| error.to_string())
        });
        let tensor = copied.map_err(|reason| shard.refuse(format!("tensor `{name}` {reason}")))?;
        Ok((name.to_owned(), tensor))
    });
    copied.collect()
}

/// Show the numbers in a file piece by piece as flat tensors, without copying
/// them, up to the first piece that is objected to.
fn with_pieces(
    view: &TensorView,
    mut read: impl FnMut(i64, &Tensor) -> Result<Option<String>, TchError>,
) -> Result<(), String> {
    let (kind, data) = (kind_of(view)?, view.data());
    let size = kind.elt_size_in_bytes();
    for (index, bytes) in data.chunks(PIECE * size).enumerate() {
        let length = [(bytes.len() / size) as i64];
        let tensor = if bytes.as_ptr().addr() % size == 0 {
            #[expect(unsafe_code, reason = "the only way to a tensor over memory of ours")]
            // SAFETY: `bytes` are as many numbers as `length` says, aligned as
            // they must be; the tensor is only read, and gone before them.
            unsafe {
                Tensor::f_from_blob(bytes.as_ptr(), &length, &[], kind, tch::Device::Cpu)
            }
        } else {
            Tensor::f_from_data_size(bytes, &length, kind)
        };
        let objection = tensor.and_then(|tensor| read((index * PIECE) as i64, &tensor));
        if let Some(reason) = objection.map_err(|error| error.to_string())? {
            return Err(reason);
        }
    }
    Ok(())
}

fn shape_of(view: &TensorView) -> Vec<i64> {
    view.shape().iter().map(|&size| size as i64).collect()
}

fn kind_of(view: &TensorView) -> Result<tch::Kind, String> {
    let found = TYPES.iter().find(|(dtype, _)| *dtype == view.dtype());
    found
        .map(|(_, kind)| *kind)
        .ok_or_else(|| format!("is of type {}; save the checkpoint as F32 or BF16", view.dtype()))
}
