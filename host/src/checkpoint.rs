//! Everything needed to go on as if the run had never stopped.
//!
//! ```text
//! checkpoints/step-000012/
//!   checkpoint.json        progress of the run, and the digest of every other file
//!   policies/<name>/       Hugging Face layout, loadable on its own
//!   optimizers/<name>/     AdamW's moments
//! ```
//! A checkpoint is written under another name and then renamed, so one that
//! can be seen is whole. There is no generator state to keep: all randomness
//! is derived from (run, step, …), see `seed`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::guard::Guard;
use crate::metrics::HeldOut;
use crate::storage::{
    StorageError, beside, create_folder, digest_file, list_folder, read_json, remove_folder,
    write_json,
};

/// How far a run has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Training steps done.
    pub step: usize,
    /// Success on test tasks before training.
    pub before: HeldOut,
    /// The same after the last step, once that is done.
    pub after: Option<HeldOut>,
    /// The step with the best held-out success during training, and that success.
    pub best: Option<(usize, f64)>,
    /// Void episodes so far.
    pub void_episodes: usize,
    /// Seconds of work so far.
    pub seconds: f64,
    /// How long which role learned nothing.
    pub guard: Guard,
}

#[derive(Serialize, Deserialize)]
struct Contents {
    progress: Progress,
    /// SHA-256 by path relative to the checkpoint.
    files: BTreeMap<String, String>,
}

/// Save a checkpoint. `write` fills the folder it is given.
pub fn save_checkpoint<E: From<StorageError>>(
    folder: &Path,
    progress: &Progress,
    write: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<PathBuf, E> {
    let path = folder.join(checkpoint_name(progress.step));
    let unfinished = beside(&path);
    remove_folder(&unfinished)?;
    create_folder(&unfinished)?;
    write(&unfinished)?;
    let mut files = BTreeMap::new();
    for name in list_files(&unfinished)? {
        files.insert(name.clone(), digest_file(&unfinished.join(name))?);
    }
    let contents = Contents { progress: progress.clone(), files };
    write_json(&unfinished.join("checkpoint.json"), &contents)?;
    remove_folder(&path)?;
    std::fs::rename(&unfinished, &path).map_err(StorageError::io("write", &path))?;
    Ok(path)
}

/// The latest checkpoint in the folder, checked file by file.
pub fn load_latest(folder: &Path) -> Result<Option<(PathBuf, Progress)>, StorageError> {
    let Some(name) = checkpoint_names(folder)?.pop() else { return Ok(None) };
    let path = folder.join(name);
    let progress = verify(&path)?;
    Ok(Some((path, progress)))
}

/// Check every file of a checkpoint against its digest.
pub fn verify(path: &Path) -> Result<Progress, StorageError> {
    let contents: Contents = read_json(&path.join("checkpoint.json"))?;
    for (name, digest) in &contents.files {
        if !digest_file(&path.join(name)).is_ok_and(|found| found == *digest) {
            return Err(StorageError::Damaged {
                path: path.to_owned(),
                reason: format!(
                    "`{name}` is not what was saved; remove this checkpoint's folder to resume \
                     from the one before it"
                ),
            });
        }
    }
    Ok(contents.progress)
}

/// Remove all checkpoints but the latest `keep` and the step `best`.
pub fn remove_old(folder: &Path, keep: usize, best: Option<usize>) -> Result<(), StorageError> {
    let names = checkpoint_names(folder)?;
    let old = names.len().saturating_sub(keep);
    let best = best.map(checkpoint_name);
    for name in names.iter().take(old).filter(|name| Some(*name) != best.as_ref()) {
        remove_folder(&folder.join(name))?;
    }
    Ok(())
}

fn checkpoint_name(step: usize) -> String {
    format!("step-{step:06}")
}

fn checkpoint_names(folder: &Path) -> Result<Vec<String>, StorageError> {
    let names = list_folder(folder)?;
    Ok(names.into_iter().filter(|name| name.starts_with("step-")).collect())
}

/// All files below a folder, by relative path, sorted.
fn list_files(folder: &Path) -> Result<Vec<String>, StorageError> {
    let mut files = Vec::new();
    for name in list_folder(folder)? {
        let path = folder.join(&name);
        if path.is_dir() {
            files.extend(list_files(&path)?.into_iter().map(|below| format!("{name}/{below}")));
        } else {
            files.push(name);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Success;
    use crate::storage::write_file;

    fn progress(step: usize) -> Progress {
        Progress {
            step,
            before: HeldOut { greedy: Success::new(1, 10), sampled: None },
            after: None,
            guard: Guard::default(),
            best: Some((2, 0.5)),
            void_episodes: 3,
            seconds: 1.5,
        }
    }

    fn save(folder: &Path, step: usize) -> PathBuf {
        save_checkpoint::<StorageError>(folder, &progress(step), |to| {
            create_folder(&to.join("policies/shared"))?;
            write_file(&to.join("policies/shared/weights"), &[step as u8; 8])
        })
        .unwrap()
    }

    #[test]
    fn the_latest_checkpoint_is_found_and_says_how_far_the_run_has_come() {
        let folder = tempfile::tempdir().unwrap();
        assert!(load_latest(folder.path()).unwrap().is_none());
        save(folder.path(), 2);
        save(folder.path(), 11);
        let (path, found) = load_latest(folder.path()).unwrap().unwrap();
        assert!(path.ends_with("step-000011"));
        assert_eq!(found, progress(11));
    }

    #[test]
    fn a_changed_file_is_noticed_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = save(folder.path(), 4);
        std::fs::write(path.join("policies/shared/weights"), b"other").unwrap();
        let error = load_latest(folder.path()).unwrap_err().to_string();
        assert!(error.contains("`policies/shared/weights` is not what was saved"), "{error}");
    }

    #[test]
    fn the_last_few_and_the_best_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        (1..=6).for_each(|step| drop(save(folder.path(), step)));
        remove_old(folder.path(), 2, Some(2)).unwrap();
        assert_eq!(
            list_folder(folder.path()).unwrap(),
            ["step-000002", "step-000005", "step-000006"]
        );
    }

    #[test]
    fn what_a_dead_process_left_half_written_is_no_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), 1);
        create_folder(&folder.path().join(".unfinished-step-000002")).unwrap();
        assert!(load_latest(folder.path()).unwrap().unwrap().0.ends_with("step-000001"));
        save(folder.path(), 2);
        assert_eq!(list_folder(folder.path()).unwrap(), ["step-000001", "step-000002"]);
    }
}
