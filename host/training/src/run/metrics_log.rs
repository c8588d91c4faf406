//! The figures of a run: `metrics.jsonl`, and the same in an event file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{scalars, unix_seconds};
use troupe_core::storage::{StorageError, append, list_folder, write_file};

/// Both files, in the folder of a run.
pub struct MetricsLog<'a> {
    /// The run's folder.
    pub folder: &'a Path,
}

impl MetricsLog<'_> {
    /// Add a line.
    ///
    /// # Errors
    /// If one of the files cannot be read or written.
    pub fn append(&self, record: &impl Serialize) -> Result<(), StorageError> {
        let path = self.path();
        let mut line = serde_json::to_vec(record)
            .map_err(|error| StorageError::io("write", &path)(error.into()))?;
        line.push(b'\n');
        append(&path, &line)?;
        match (self.event_files()?.last(), event_of(&line)) {
            (Some(events), Some(event)) => append(events, &event),
            // The first of a run.
            _ => self.write_events(),
        }
    }

    /// The event files, the newest last.
    fn event_files(&self) -> Result<Vec<PathBuf>, StorageError> {
        let names = list_folder(self.folder)?.into_iter();
        Ok(names
            .filter(|name| name.contains(scalars::MARK))
            .map(|name| self.folder.join(name))
            .collect())
    }

    /// Write the metrics as a new event file in place of what there was: who
    /// reads along goes on with the file whose name comes later.
    fn write_events(&self) -> Result<(), StorageError> {
        let earlier = self.event_files()?;
        let now = unix_seconds();
        let mut events = scalars::header(now);
        for line in self.read()?.lines() {
            events.extend(event_of(line.as_bytes()).unwrap_or_default());
        }
        let ordinal = earlier.len();
        let name = format!("events.out.{}.{:010}.troupe.{ordinal}", scalars::MARK, now as u64);
        let new = self.folder.join(name);
        write_file(&new, &events)?;
        let stale = earlier.iter().filter(|path| **path != new);
        stale.into_iter().try_for_each(|path| {
            std::fs::remove_file(path).map_err(StorageError::io("remove", path))
        })
    }

    /// What is wrong with the metrics of the steps up to `step`: lines that
    /// are none, steps that are missing.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn check(&self, step: usize) -> Result<Vec<String>, StorageError> {
        let text = self.read()?;
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut there = vec![false; step + 1];
        let mut damages = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            match step_of(line) {
                Some(step) => there.get_mut(step).into_iter().for_each(|there| *there = true),
                // What breaks off at the end was being written.
                None if index + 1 == lines.len() && !line.ends_with('\n') => {}
                None => damages.push(format!(
                    "line {} of metrics.jsonl is no record and is dropped",
                    index + 1
                )),
            }
        }
        let missing: Vec<usize> = (0..=step).filter(|&step| !there[step]).collect();
        if let (Some(first), Some(last)) = (missing.first(), missing.last()) {
            damages.push(format!(
                "metrics.jsonl lacks {} of the steps up to {step} (the first is {first}, the last \
                 {last}); they are lost, and the run goes on without them",
                missing.len()
            ));
        }
        Ok(damages)
    }

    /// Drop the lines of steps after `step`, or all of them.
    ///
    /// # Errors
    /// If one of the files cannot be read or written.
    pub fn rewind(&self, step: Option<usize>) -> Result<(), StorageError> {
        drop_later(&self.path(), step)?;
        self.write_events()
    }

    fn read(&self) -> Result<String, StorageError> {
        read_text(&self.path())
    }

    fn path(&self) -> PathBuf {
        self.folder.join("metrics.jsonl")
    }
}

fn event_of(line: &[u8]) -> Option<Vec<u8>> {
    scalars::metrics_record(&serde_json::from_slice(line).ok()?)
}

/// Drop the lines of steps after `step`, or all of them. A half-written last line is no record.
pub(super) fn drop_later(path: &Path, step: Option<usize>) -> Result<(), StorageError> {
    let text = read_text(path)?;
    let keep = text.split_inclusive('\n').filter(|line| {
        line.ends_with('\n') && step_of(line).is_some_and(|of_line| Some(of_line) <= step)
    });
    write_file(path, keep.collect::<String>().as_bytes())
}

/// The text of a file of records, empty if there is none. Whatever is no text in it is no record
/// either.
pub(super) fn read_text(path: &Path) -> Result<String, StorageError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(StorageError::io("read", path)(error)),
    }
}

/// The step of a line of `metrics.jsonl` or `outcomes.jsonl`; nothing if it is no record.
fn step_of(line: &str) -> Option<usize> {
    #[derive(Deserialize)]
    struct Line {
        step: usize,
    }
    serde_json::from_str::<Line>(line).ok().map(|line| line.step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_and_garbage_in_the_metrics_are_named_and_half_a_line_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let log = MetricsLog { folder: folder.path() };
        let metrics = folder.path().join("metrics.jsonl");
        let write = |text: &[u8]| std::fs::write(&metrics, text).unwrap();
        write(b"{\"step\":0}\n{\"step\":1}\n{\"step\":2}\n{\"st");
        assert!(log.check(2).unwrap().is_empty());
        write(b"{\"step\":0}\ngarb\xffage\n{\"step\":3}\n");
        let [garbage, hole] = log.check(3).unwrap().try_into().unwrap();
        assert!(garbage.starts_with("line 2 of metrics.jsonl is no record"), "{garbage}");
        assert!(
            hole.contains("lacks 2 of the steps up to 3 (the first is 1, the last 2)"),
            "{hole}"
        );
        log.rewind(Some(3)).unwrap();
        let text = std::fs::read_to_string(&metrics).unwrap();
        assert_eq!(text, "{\"step\":0}\n{\"step\":3}\n");
    }

    #[test]
    fn the_event_file_has_the_steps_of_the_metrics_however_often_a_run_is_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let log = MetricsLog { folder: folder.path() };
        let record = |step| serde_json::json!({ "step": step, "reward": 0.5 });
        let expect = |steps: &[usize]| {
            let files = log.event_files().unwrap();
            assert_eq!(files.len(), 1);
            let bytes = std::fs::read(&files[0]).unwrap();
            let events = steps.iter().filter_map(|&step| scalars::metrics_record(&record(step)));
            assert_eq!(bytes[scalars::header(0.0).len()..], events.collect::<Vec<_>>().concat());
        };
        (0..4).for_each(|step| log.append(&record(step)).unwrap());
        expect(&[0, 1, 2, 3]);
        log.rewind(Some(1)).unwrap();
        expect(&[0, 1]);
        log.append(&record(2)).unwrap();
        // What a kill between the two files left undone is made up for.
        let file = log.event_files().unwrap().remove(0);
        std::fs::write(&file, "half a reco").unwrap();
        log.rewind(Some(2)).unwrap();
        expect(&[0, 1, 2]);
    }
}
