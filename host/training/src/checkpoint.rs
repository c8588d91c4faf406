//! Everything needed to go on as if the run had never stopped.
//!
//! ```text
//! checkpoints/step-000012/
//!   checkpoint.json        progress of the run, and the digest of every other file
//!   policies/<name>/       Hugging Face layout, loadable on its own
//!   optimizers/<name>/     AdamW's moments
//! ```
//! A checkpoint is written under another name and then renamed, and loses that
//! name before it is removed, so one that can be seen is whole. One that was
//! damaged later is passed over for the one before it. There is no generator state to keep: all randomness
//! is derived from (run, step, …), see `seed`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::curriculum::Standings;
use crate::metrics::{HeldOut, Spent, Totals};
use crate::watch::{Guard, Health};
use troupe_core::config::KnockOut;
use troupe_core::storage::{
    StorageError, beside, create_folder, digest, digest_file, list_folder, read_json,
    remove_folder, rename, write_json,
};
use troupe_estimators::advantage::Memory;

/// How far a run has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Updates so far that moved a policy too far, so that they were taken back and made again at
    /// a smaller learning rate, or given up.
    #[serde(default, skip_serializing_if = "troupe_core::totals::is_zero")]
    pub taken_back: usize,
    /// What was drawn and done in training so far.
    pub totals: Totals,
    /// What that took.
    pub spent: Spent,
    /// How long which role learned nothing.
    pub guard: Guard,
    /// What was noticed so far.
    #[serde(default)]
    pub health: Health,
    /// How far each family's curriculum has come.
    #[serde(default)]
    pub standings: Standings,
    /// What the estimator remembers.
    #[serde(default)]
    pub estimator: Memory,
}

#[derive(Serialize, Deserialize)]
struct Contents {
    progress: Progress,
    /// SHA-256 of the progress as JSON.
    progress_digest: String,
    /// SHA-256 by path relative to the checkpoint.
    files: BTreeMap<String, String>,
}

/// Save a checkpoint. `write` fills the folder it is given.
///
/// # Errors
/// If `write` fails, or the folder cannot be written.
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
    let progress_digest = digest_json(progress);
    let contents = Contents { progress: progress.clone(), progress_digest, files };
    write_json(&unfinished.join("checkpoint.json"), &contents)?;
    remove_folder(&path)?;
    rename(&unfinished, &path).map_err(StorageError::io("write", &path))?;
    Ok(path)
}

/// A checkpoint that was checked file by file.
#[derive(Debug, Serialize, Deserialize)]
pub struct FoundCheckpoint {
    /// Its folder.
    pub path: PathBuf,
    /// How far the run had come.
    pub progress: Progress,
    /// What is wrong with the later ones, which were passed over.
    pub passed_over: Vec<String>,
}

/// The latest whole checkpoint in the folder.
///
/// # Errors
/// If there are checkpoints and none of them is whole.
pub fn load_latest(folder: &Path) -> Result<Option<FoundCheckpoint>, StorageError> {
    let mut passed_over = Vec::new();
    for name in checkpoint_names(folder)?.into_iter().rev() {
        let path = folder.join(name);
        match verify(&path) {
            Ok(progress) => return Ok(Some(FoundCheckpoint { path, progress, passed_over })),
            Err(error) => passed_over.push(error.to_string()),
        }
    }
    match passed_over.is_empty() {
        true => Ok(None),
        false => {
            let reason = format!(
                "none of its checkpoints is whole: {}; bring one back, or start a new run",
                passed_over.join("; ")
            );
            Err(StorageError::Damaged { path: folder.to_owned(), reason })
        }
    }
}

/// The checkpoint of one step.
///
/// # Errors
/// If there is none, with those there are, or if it is not whole.
pub fn load_step(folder: &Path, step: usize) -> Result<FoundCheckpoint, StorageError> {
    let path = folder.join(checkpoint_name(step));
    if !path.is_dir() {
        let steps: Vec<String> = checkpoint_names(folder)?
            .iter()
            .filter_map(|name| step_of(name))
            .map(|step| step.to_string())
            .collect();
        let reason =
            format!("there is no checkpoint of step {step}; kept are {}", steps.join(", "));
        return Err(StorageError::Unfit { path: folder.to_owned(), reason });
    }
    let progress = verify(&path)?;
    Ok(FoundCheckpoint { path, progress, passed_over: Vec::new() })
}

/// Check every file of a checkpoint against its digest.
///
/// # Errors
/// If `checkpoint.json` cannot be read, or a file is not what was saved.
pub fn verify(path: &Path) -> Result<Progress, StorageError> {
    let contents: Contents = read_json(&path.join("checkpoint.json"))?;
    let digest = |name: &String| digest_file(&path.join(name)).ok();
    let changed = contents.files.iter().find(|(name, saved)| digest(name).as_ref() != Some(saved));
    let changed = match changed {
        Some((name, _)) => name.as_str(),
        None if digest_json(&contents.progress) != contents.progress_digest => "checkpoint.json",
        None => return Ok(contents.progress),
    };
    let reason = format!("`{changed}` is not what was saved");
    Err(StorageError::Damaged { path: path.to_owned(), reason })
}

fn digest_json(progress: &Progress) -> String {
    // Numbers and names, which JSON can always write.
    digest(&serde_json::to_vec(progress).unwrap_or_default())
}

/// Remove all checkpoints but the latest `keep` and those of some steps, if they are there.
///
/// # Errors
/// If the folder cannot be listed, or a checkpoint cannot be removed.
pub fn remove_old(folder: &Path, keep: usize, others: &[usize]) -> Result<(), StorageError> {
    let names = checkpoint_names(folder)?;
    let old = names.len().saturating_sub(keep);
    let is_kept = |name: &String| step_of(name).is_some_and(|step| others.contains(&step));
    for name in names.iter().take(old).filter(|name| !is_kept(name)) {
        remove_folder(&folder.join(name))?;
    }
    Ok(())
}

/// Bytes up to which the first checkpoint is kept without being asked for.
const SMALL: u64 = 64 << 20;

/// Whether a run keeps its first checkpoint, to put roles back to what they were.
///
/// # Errors
/// If the system refuses to look at it.
pub fn is_first_kept(knock_out: KnockOut, checkpoints: &Path) -> Result<bool, StorageError> {
    Ok(match knock_out {
        KnockOut::Always => true,
        KnockOut::Never => false,
        KnockOut::Auto => bytes_of(checkpoints, 0)? <= SMALL,
    })
}

/// Bytes of the checkpoint of a step; 0 if there is none.
fn bytes_of(folder: &Path, step: usize) -> Result<u64, StorageError> {
    let path = folder.join(checkpoint_name(step));
    if !path.is_dir() {
        return Ok(0);
    }
    let bytes = |name: &String| {
        let file = path.join(name);
        std::fs::metadata(&file).map(|found| found.len()).map_err(StorageError::io("read", &file))
    };
    list_files(&path)?.iter().map(bytes).sum()
}

/// The steps whose checkpoints are there, in their order.
///
/// # Errors
/// If the folder cannot be listed.
pub fn steps_of(folder: &Path) -> Result<Vec<usize>, StorageError> {
    Ok(checkpoint_names(folder)?.iter().filter_map(|name| step_of(name)).collect())
}

/// The folder of a step's checkpoint.
pub(crate) fn checkpoint_name(step: usize) -> String {
    format!("step-{step:06}")
}

fn step_of(name: &str) -> Option<usize> {
    name.strip_prefix("step-")?.parse().ok()
}

/// In the order of their steps.
fn checkpoint_names(folder: &Path) -> Result<Vec<String>, StorageError> {
    let names = list_folder(folder)?;
    let mut names: Vec<String> = names
        .into_iter()
        .filter(|name| step_of(name).is_some() && folder.join(name).is_dir())
        .collect();
    names.sort_by_key(|name| step_of(name));
    Ok(names)
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
    use troupe_core::storage::write_file;

    fn progress(step: usize) -> Progress {
        Progress {
            step,
            before: HeldOut { greedy: Success::new(1, 10), ..HeldOut::default() },
            best: Some((2, 0.5)),
            void_episodes: 3,
            totals: Totals { samples: 7, ..Totals::default() },
            spent: Spent { seconds: 1.5, ..Spent::default() },
            ..Progress::default()
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
        let found = load_latest(folder.path()).unwrap().unwrap();
        assert!(found.path.ends_with("step-000011") && found.passed_over.is_empty());
        assert_eq!(found.progress, progress(11));
        save(folder.path(), 1_000_000);
        assert_eq!(load_latest(folder.path()).unwrap().unwrap().progress.step, 1_000_000);
        assert_eq!(load_step(folder.path(), 2).unwrap().progress, progress(2));
        let error = load_step(folder.path(), 3).unwrap_err().to_string();
        assert!(error.contains("kept are 2, 11, 1000000"), "{error}");
    }

    #[test]
    fn a_number_is_read_as_it_was_written_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let before = HeldOut { greedy: Success::new(7, 512), ..HeldOut::default() };
        let saved = Progress { before, best: Some((1, 0.1 + 0.2)), ..progress(1) };
        save_checkpoint::<StorageError>(folder.path(), &saved, |_| Ok(())).unwrap();
        assert_eq!(load_latest(folder.path()).unwrap().unwrap().progress, saved);
    }

    #[test]
    fn a_damaged_checkpoint_is_named_and_passed_over_for_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let first = save(folder.path(), 3);
        let path = save(folder.path(), 4);
        std::fs::write(path.join("policies/shared/weights"), b"other").unwrap();
        create_folder(&folder.path().join("step-000005")).unwrap();
        std::fs::write(folder.path().join("step-000006"), b"a stray file").unwrap();
        let found = load_latest(folder.path()).unwrap().unwrap();
        assert_eq!(found.progress.step, 3);
        let [empty, changed] = found.passed_over.try_into().unwrap();
        assert!(empty.contains("step-000005/checkpoint.json"), "{empty}");
        assert!(changed.contains("`policies/shared/weights` is not what was saved"), "{changed}");

        let contents = std::fs::read_to_string(first.join("checkpoint.json")).unwrap();
        std::fs::write(
            first.join("checkpoint.json"),
            contents.replace("\"void_episodes\": 3", "\"void_episodes\": 0"),
        )
        .unwrap();
        let error = load_latest(folder.path()).unwrap_err().to_string();
        assert!(error.contains("none of its checkpoints is whole"), "{error}");
        assert!(error.contains("`checkpoint.json` is not what was saved"), "{error}");
    }

    #[test]
    fn the_last_few_and_the_best_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        (1..=6).for_each(|step| drop(save(folder.path(), step)));
        remove_old(folder.path(), 2, &[2, 9]).unwrap();
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
        assert!(load_latest(folder.path()).unwrap().unwrap().path.ends_with("step-000001"));
        save(folder.path(), 2);
        assert_eq!(list_folder(folder.path()).unwrap(), ["step-000001", "step-000002"]);
    }
}
