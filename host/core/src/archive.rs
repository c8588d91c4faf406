//! What a run has left in its folder: where its files lie,
//! its episodes and its lines of figures.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::storage::{StorageError, list_folder};
use crate::trajectory::Episode;

const TABLE: &str = ".parquet";
const EPISODES: &str = ".jsonl.zst";

/// The resolved configuration of a run folder.
///
/// # Errors
/// If the folder is none of a run, or of one that was killed before it began.
pub fn find_config(run: &Path) -> Result<PathBuf, StorageError> {
    let path = run.join("config.toml");
    if path.is_file() {
        return Ok(path);
    }
    let reason = match is_stillborn(run)? && run.join(".lock").exists() {
        true => "the run was killed before it began; start it again by the command that began it",
        false => "there is no config.toml in it; name a folder that `host train` made",
    };
    let reason = reason.to_owned();
    Err(StorageError::Unfit { path: run.to_owned(), reason })
}

/// Whether a run that was killed before it wrote its configuration is all
/// there is; its folder can be used again.
///
/// # Errors
/// If the folder cannot be listed.
pub fn is_stillborn(path: &Path) -> Result<bool, StorageError> {
    let begun =
        |name: &String| name != ".lock" && name != "episodes" && !name.starts_with(".unfinished-");
    Ok(path.is_dir() && !list_folder(path)?.iter().any(begun))
}

/// The tables of a run's steps, in their order.
///
/// # Errors
/// If their folder cannot be listed.
pub fn list_tables(run: &Path) -> Result<Vec<(usize, PathBuf)>, StorageError> {
    list_steps(&run.join("table"), TABLE)
}

/// The files of episodes of a run's steps, in their order.
///
/// # Errors
/// If their folder cannot be listed.
pub fn list_episodes(run: &Path) -> Result<Vec<(usize, PathBuf)>, StorageError> {
    list_steps(&run.join("episodes"), EPISODES)
}

/// The name of a step's table.
pub fn table_file(step: usize) -> String {
    format!("step-{step:06}{TABLE}")
}

/// The name of a step's file of episodes.
pub fn episode_file(step: usize) -> String {
    format!("step-{step:06}{EPISODES}")
}

/// The step of a run's file of episodes, as its name has it; of other files none.
pub fn step_of_episodes(path: &Path) -> Option<usize> {
    step_of(path.file_name()?.to_str()?, EPISODES)
}

fn step_of(name: &str, ending: &str) -> Option<usize> {
    name.strip_prefix("step-")?.strip_suffix(ending)?.parse().ok()
}

fn list_steps(folder: &Path, ending: &str) -> Result<Vec<(usize, PathBuf)>, StorageError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let names = list_folder(folder)?.into_iter();
    let mut files: Vec<(usize, PathBuf)> =
        names.filter_map(|name| Some((step_of(&name, ending)?, folder.join(&name)))).collect();
    files.sort();
    Ok(files)
}

/// Read the episodes of one file of a run's `episodes` folder.
///
/// # Errors
/// If the file cannot be read, or holds something else.
pub fn read_episodes(path: &Path) -> Result<Vec<Episode>, StorageError> {
    let file = File::open(path).map_err(StorageError::io("read", path))?;
    let lines = zstd::decode_all(file).map_err(StorageError::io("read", path))?;
    serde_json::Deserializer::from_slice(&lines).into_iter().collect::<Result<_, _>>().map_err(
        |error| StorageError::Damaged {
            path: path.to_owned(),
            reason: format!("an episode cannot be read ({error})"),
        },
    )
}

/// The records of a file of JSON lines, and how many lines are none. What breaks off at the end
/// is still being written, and a file that is not there has no lines.
///
/// # Errors
/// If the system refuses to read it.
pub fn read_lines(path: &Path) -> Result<(Vec<Value>, usize), StorageError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        Err(error) => return Err(StorageError::io("read", path)(error)),
    };
    let (mut records, mut unreadable) = (Vec::new(), 0);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match serde_json::from_slice::<Value>(line) {
            Ok(record) if record.get("step").is_some() => records.push(record),
            _ => unreadable += usize::from(line.ends_with(b"\n")),
        }
    }
    Ok((records, unreadable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_line_at_the_end_is_being_written_and_garbage_before_it_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        assert_eq!(read_lines(&path).unwrap(), (Vec::new(), 0));
        std::fs::write(&path, b"{\"step\":0}\ngarb\xffage\n[1]\n{\"step\":2}\n{\"ste").unwrap();
        let (records, unreadable) = read_lines(&path).unwrap();
        let steps: Vec<_> = records.iter().map(|record| record["step"].as_u64()).collect();
        assert_eq!((steps, unreadable), (vec![Some(0), Some(2)], 2));
    }

    #[test]
    fn a_file_of_episodes_has_a_step_if_it_is_named_by_one() {
        let run = Path::new("run/episodes");
        assert_eq!(step_of_episodes(&run.join(episode_file(12))), Some(12));
        assert_eq!(step_of_episodes(&run.join("recorded.jsonl")), None);
    }

    #[test]
    fn files_are_listed_by_their_step_and_others_are_none() {
        let run = tempfile::tempdir().unwrap();
        let folder = run.path().join("episodes");
        std::fs::create_dir(&folder).unwrap();
        for name in ["step-000010.jsonl.zst", "step-1000000.jsonl.zst", "notes.txt"] {
            std::fs::write(folder.join(name), b"").unwrap();
        }
        std::fs::write(folder.join(episode_file(2)), b"").unwrap();
        let steps: Vec<_> =
            list_episodes(run.path()).unwrap().into_iter().map(|(step, _)| step).collect();
        assert_eq!(steps, [2, 10, 1_000_000]);
        assert!(list_tables(run.path()).unwrap().is_empty());
    }
}
