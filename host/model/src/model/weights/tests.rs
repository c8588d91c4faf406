use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::{Device, Policy};
use troupe_core::config::PolicyConfig;
use troupe_core::seed::Seed;
use troupe_core::storage::{list_folder, read_json, write_json};

/// A checkpoint in one file, or in several of at most so many bytes.
fn checkpoint(limit: usize) -> (TempDir, Policy) {
    let folder = tempfile::tempdir().unwrap();
    let words = ["up", "down"].map(str::to_owned);
    let policy =
        Policy::random(&PolicyConfig::default(), &words, Seed::new(3), Device::cpu()).unwrap();
    policy.save(folder.path()).unwrap();
    save(policy.trainable(), folder.path(), limit).unwrap();
    (folder, policy)
}

fn load_digest(folder: &TempDir) -> Result<String, String> {
    let policy = Policy::load(folder.path(), Device::cpu()).map_err(|error| error.to_string())?;
    Ok(policy.digest().unwrap())
}

fn shards(folder: &TempDir) -> Vec<PathBuf> {
    let names = list_folder(folder.path()).unwrap();
    let shards = names.iter().filter(|name| name.starts_with("model-"));
    shards.map(|name| folder.path().join(name)).collect()
}

/// Change the tensors of a file.
fn rewrite(path: &Path, change: impl FnOnce(&mut Vec<(String, Tensor)>)) {
    let mut tensors: Vec<(String, Tensor)> = read_tensors(path).unwrap().into_iter().collect();
    tensors.sort_by(|left, right| left.0.cmp(&right.0));
    change(&mut tensors);
    write_tensors(path, tensors).unwrap();
}

fn assert_refused(folder: &TempDir, expected: &str) {
    let error = load_digest(folder).unwrap_err();
    assert!(error.contains(expected), "{expected}: {error}");
}

#[test]
fn large_models_lie_in_several_files_with_an_index() {
    let (folder, policy) = checkpoint(60_000);
    assert_eq!(load_digest(&folder).unwrap(), policy.digest().unwrap());
    let files = shards(&folder);
    assert!(
        files.len() > 5
            && files[0].ends_with(format!("model-00001-of-{:05}.safetensors", files.len()))
    );
    assert!(!folder.path().join(SINGLE).exists());
    let index: Value = read_json(&folder.path().join(INDEX)).unwrap();
    assert_eq!(index["metadata"]["total_size"], 4 * policy.parameter_count());
    assert_eq!(index["metadata"]["total_parameters"], policy.parameter_count());
    assert_eq!(index["weight_map"].as_object().unwrap().len(), policy.trainable().slots().len());
}

#[test]
fn files_of_an_earlier_save_are_removed_and_others_left_alone() {
    let (folder, policy) = checkpoint(60_000);
    let other = folder.path().join("model-card.safetensors");
    fs::write(&other, "").unwrap();
    let before = shards(&folder).len();
    save(policy.trainable(), folder.path(), 120_000).unwrap();
    assert!(shards(&folder).len() < before);
    save(policy.trainable(), folder.path(), SHARD_BYTES).unwrap();
    assert_eq!(shards(&folder), [other]);
    assert!(folder.path().join(SINGLE).exists() && !folder.path().join(INDEX).exists());
    assert_eq!(load_digest(&folder).unwrap(), policy.digest().unwrap());
}

#[test]
fn a_missing_file_is_named() {
    let (folder, _) = checkpoint(60_000);
    fs::remove_file(&shards(&folder)[1]).unwrap();
    assert_refused(&folder, "`model-00002-of-");
    fs::remove_file(folder.path().join(INDEX)).unwrap();
    assert_refused(&folder, "neither `model.safetensors` nor `model.safetensors.index.json`");
}

#[test]
fn an_index_that_does_not_fit_the_files_is_refused() {
    let (folder, _) = checkpoint(60_000);
    let files = shards(&folder);
    let path = folder.path().join(INDEX);
    let original: Value = read_json(&path).unwrap();
    for (file, expected) in [
        (
            files[1].file_name().unwrap().to_str().unwrap(),
            "says that tensor `model.embed_tokens.weight` is in",
        ),
        (
            "../elsewhere.safetensors",
            "`../elsewhere.safetensors` is not the name of a file beside it",
        ),
    ] {
        let mut index = original.clone();
        index["weight_map"]["model.embed_tokens.weight"] = json!(file);
        write_json(&path, &index).unwrap();
        assert_refused(&folder, expected);
    }
}

#[test]
fn a_tensor_in_two_files_is_refused() {
    let (folder, _) = checkpoint(60_000);
    let files = shards(&folder);
    let (name, tensor) = read_tensors(&files[0]).unwrap().into_iter().next().unwrap();
    rewrite(&files[1], |tensors| tensors.push((name, tensor)));
    assert_refused(&folder, "model-00001-of-");
    assert_refused(&folder, "as well");
}

#[test]
fn a_file_that_is_cut_off_is_refused() {
    let (folder, _) = checkpoint(SHARD_BYTES);
    let path = folder.path().join(SINGLE);
    let content = fs::read(&path).unwrap();
    for length in [0, 5, 1000, content.len() - 1] {
        fs::write(&path, &content[..length]).unwrap();
        assert_refused(&folder, "model.safetensors");
        assert_refused(&folder, "it is cut off or not of this format");
    }
}

#[test]
fn numbers_need_not_be_aligned() {
    let (folder, policy) = checkpoint(SHARD_BYTES);
    let path = folder.path().join(SINGLE);
    let mut content = fs::read(&path).unwrap();
    let length = u64::from_le_bytes(content[..8].try_into().unwrap());
    content[..8].copy_from_slice(&(length + 1).to_le_bytes());
    content.insert(8 + length as usize, b' ');
    fs::write(&path, content).unwrap();
    assert_eq!(load_digest(&folder).unwrap(), policy.digest().unwrap());
}

#[test]
fn other_types_are_converted_or_refused() {
    let (folder, policy) = checkpoint(SHARD_BYTES);
    let path = folder.path().join(SINGLE);
    for kind in [Kind::Half, Kind::BFloat16] {
        policy.save(folder.path()).unwrap();
        rewrite(&path, |tensors| {
            tensors.iter_mut().for_each(|(_, tensor)| *tensor = tensor.to_kind(kind));
        });
        let loaded = Policy::load(folder.path(), Device::cpu()).unwrap();
        let (found, expected) = (loaded.trainable().buffer(), policy.trainable().buffer());
        assert_eq!(*found, expected.to_kind(kind).to_kind(Kind::Float));
        rewrite(&path, |tensors| {
            let _ = tensors[0].1.view([-1]).narrow(0, 9, 1).fill_(f64::INFINITY);
        });
        assert_refused(&folder, "tensor `model.embed_tokens.weight` holds infinities or NaN");
    }
    let doubled = Tensor::from_slice(&[1.0_f64]);
    let bytes = super::bytes(&doubled).unwrap();
    let view = safetensors::tensor::TensorView::new(Dtype::F64, vec![1], &bytes).unwrap();
    safetensors::serialize_to_file([("model.norm.weight", view)], None, &path).unwrap();
    assert!(
        read_tensors(&path).unwrap_err().to_string().contains("`model.norm.weight` is of type F64")
    );
    let error = write_tensors(&path, [("x".to_owned(), doubled)]).unwrap_err().to_string();
    assert!(error.contains("tensor `x` is of type Double, which is not kept"), "{error}");
}

#[test]
fn a_tied_head_in_the_file_must_be_the_embedding() {
    let (folder, policy) = checkpoint(SHARD_BYTES);
    let path = folder.path().join(SINGLE);
    rewrite(&path, |tensors| {
        let (_, embedding) = &tensors[0];
        tensors.push(("lm_head.weight".to_owned(), embedding.copy()));
    });
    assert_eq!(load_digest(&folder).unwrap(), policy.digest().unwrap());
    rewrite(&path, |tensors| {
        let _ = tensors[0].1.view([-1]).narrow(0, 7, 1).fill_(3.0);
    });
    assert_refused(
        &folder,
        "`tie_word_embeddings` in `config.json` is true, but tensor `lm_head.weight` is not the embedding",
    );
}

#[test]
fn nothing_is_copied_before_all_files_fit() {
    let (folder, policy) = checkpoint(60_000);
    let last = shards(&folder).pop().unwrap();
    rewrite(&last, |tensors| tensors.push(("surplus".to_owned(), Tensor::from_slice(&[1.0_f32]))));
    let mut copy = policy.duplicate().unwrap();
    let _ = copy.trainable_mut().buffer().shallow_clone().fill_(0.25);
    let untouched = copy.digest().unwrap();
    let error = load(copy.trainable_mut(), folder.path()).unwrap_err().to_string();
    assert!(error.contains("tensor `surplus` is not part of this architecture"), "{error}");
    assert_eq!(copy.digest().unwrap(), untouched);
}
