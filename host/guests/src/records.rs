//! Records of a data set: where each line of the files begins, by split. The
//! files are indexed and not loaded, so that gigabytes cost no memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::plugin::Split;
use troupe_core::config::TasksConfig;
use troupe_core::error::{Coded, ExitCode};
use troupe_core::seed::Seed;

/// Bytes of one record.
const RECORD_BYTES: usize = 16 << 20;

/// Why records cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file cannot be read.
    #[error("cannot read the records in `{}`: {reason}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system said.
        reason: std::io::Error,
    },
    /// A record is longer than any task could be.
    #[error("line {line} of `{}` is longer than {} MiB", file.display(), RECORD_BYTES >> 20)]
    TooLong {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u32,
    },
    /// A record does not say which split it belongs to.
    #[error(
        "line {line} of `{}` names no split in its field `{field}` (tasks.split_field); it must be \
         `train`, `validation` or `test`",
        file.display()
    )]
    NoSplit {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u32,
        /// The field.
        field: String,
    },
    /// A record says that it is a question to which nobody knows the answer.
    #[error(
        "line {line} of `{}` says that it is asked (`\"asked\": true`): nothing would be right \
         there; such questions are for `host serve --run`",
        file.display()
    )]
    Asked {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u32,
    },
    /// A split has no record.
    #[error("there is no record for the split `{split}`")]
    Empty {
        /// The split.
        split: &'static str,
    },
}

impl Coded for RecordError {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Usage)
    }
}

/// The records of a run, by split.
#[derive(Debug)]
pub struct Records {
    files: Vec<(PathBuf, File)>,
    digests: BTreeMap<String, String>,
    splits: [Vec<Span>; 3],
    shuffle: bool,
    /// The order of a pass through the training records, and which pass.
    order: Mutex<Option<(u64, Arc<[u32]>)>>,
}

/// The position of a record in its file.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u64,
    length: u32,
    /// From 1.
    line: u32,
    file: u32,
}

/// A record and where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// One line of JSON.
    pub text: String,
    /// Such as "line 3 of `tasks.jsonl`".
    pub place: String,
}

/// A run's records, as its manifest names them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordsEntry {
    /// BLAKE3 of each file.
    pub files: BTreeMap<String, String>,
    /// The number of records by split.
    pub counts: BTreeMap<String, usize>,
}

impl RecordsEntry {
    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.files.extend(other.files);
        for (split, count) in other.counts {
            *self.counts.entry(split).or_default() += count;
        }
        self
    }
}

impl Records {
    /// Indexes the files of a configuration; nothing if it names none.
    ///
    /// # Errors
    /// If a file cannot be read or a record names no split.
    pub fn open(config: &TasksConfig) -> Result<Option<Self>, RecordError> {
        let mut records = Records {
            files: Vec::new(),
            digests: BTreeMap::new(),
            splits: [Vec::new(), Vec::new(), Vec::new()],
            shuffle: config.shuffle,
            order: Mutex::new(None),
        };
        let dealt = config.files.iter().map(|file| (file, None));
        let named = [
            (Split::Train, &config.train),
            (Split::Validation, &config.validation),
            (Split::Test, &config.test),
        ];
        let whole = named
            .into_iter()
            .flat_map(|(split, files)| files.iter().map(move |file| (file, Some(split))));
        for (file, split) in dealt.chain(whole) {
            records.index(file, split, &config.split_field)?;
        }
        if config.limit > 0 {
            records.splits.iter_mut().for_each(|places| places.truncate(config.limit));
        }
        Ok(if records.files.is_empty() { None } else { Some(records) })
    }

    fn index(&mut self, path: &Path, whole: Option<Split>, field: &str) -> Result<(), RecordError> {
        let io = |reason| RecordError::Io { file: path.to_owned(), reason };
        let number = self.files.len() as u32;
        let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(io)?);
        let (mut hasher, mut bytes) = (blake3::Hasher::new(), Vec::new());
        let (mut start, mut line) = (0_u64, 0_u32);
        loop {
            bytes.clear();
            let limited = &mut std::io::Read::take(&mut reader, RECORD_BYTES as u64 + 1);
            let length = limited.read_until(b'\n', &mut bytes).map_err(io)?;
            if length == 0 {
                break;
            }
            line += 1;
            if length > RECORD_BYTES {
                return Err(RecordError::TooLong { file: path.to_owned(), line });
            }
            hasher.update(&bytes);
            let record = bytes.trim_ascii();
            if plugin_questions::is_asked(record) {
                return Err(RecordError::Asked { file: path.to_owned(), line });
            }
            if !record.is_empty() {
                let split = match whole {
                    Some(split) => split,
                    // Whatever other records there are.
                    None if field.is_empty() => Split::owning(record),
                    None => named_split(record, field).ok_or_else(|| RecordError::NoSplit {
                        file: path.to_owned(),
                        line,
                        field: field.to_owned(),
                    })?,
                };
                let length = length as u32;
                self.splits[split as usize].push(Span { start, length, line, file: number });
            }
            start += length as u64;
        }
        self.digests.insert(path.display().to_string(), hasher.finalize().to_hex().to_string());
        self.files.push((path.to_owned(), reader.into_inner()));
        Ok(())
    }

    /// The number of records of a split.
    pub fn count(&self, split: Split) -> usize {
        self.splits[split as usize].len()
    }

    /// A record of a split; behind the last one comes the first again.
    ///
    /// # Errors
    /// If the split has none, or its file cannot be read any more.
    pub fn read(&self, split: Split, index: u32) -> Result<Record, RecordError> {
        let places = &self.splits[split as usize];
        let empty = RecordError::Empty { split: split.name() };
        let index = (index as usize).checked_rem(places.len()).ok_or(empty)?;
        let Span { start, length, line, file } = places[index];
        let (path, file) = &self.files[file as usize];
        let mut bytes = vec![0; length as usize];
        let io = |reason| RecordError::Io { file: path.clone(), reason };
        file.read_exact_at(&mut bytes, start).map_err(io)?;
        let text = String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
        Ok(Record { text, place: format!("line {line} of `{}`", path.display()) })
    }

    /// The training record at this position of a run: every record once, then all again in
    /// another order.
    pub fn training_index(&self, position: u64, seed: Seed) -> u32 {
        let count = self.count(Split::Train).max(1) as u64;
        let (pass, place) = (position / count, (position % count) as usize);
        if !self.shuffle {
            return place as u32;
        }
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        let known = order.as_ref().filter(|(known, _)| *known == pass).map(|(_, order)| order);
        let shuffled = known.cloned().unwrap_or_else(|| shuffled(count as u32, seed.at(pass)));
        let index = shuffled[place];
        *order = Some((pass, shuffled));
        index
    }

    /// The entry for the manifest of a run.
    pub fn entry(&self) -> RecordsEntry {
        let count = |split: Split| (split.name().to_owned(), self.count(split));
        RecordsEntry {
            files: self.digests.clone(),
            counts: Split::ALL.into_iter().map(count).collect(),
        }
    }
}

fn shuffled(count: u32, seed: Seed) -> Arc<[u32]> {
    let mut order: Vec<u32> = (0..count).collect();
    seed.shuffle(&mut order);
    order.into()
}

fn named_split(record: &[u8], field: &str) -> Option<Split> {
    let record: serde_json::Value = serde_json::from_slice(record).ok()?;
    Split::named(record.get(field)?.as_str()?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn written(lines: &[String]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tasks.jsonl");
        std::fs::write(&file, lines.join("\n")).unwrap();
        (folder, file)
    }

    fn numbered(count: u32) -> Vec<String> {
        (0..count).map(|number| format!("{{\"number\": {number}}}")).collect()
    }

    fn all(records: &Records, split: Split) -> BTreeSet<String> {
        let read = |index| records.read(split, index as u32).unwrap().text;
        (0..records.count(split)).map(read).collect()
    }

    #[test]
    fn a_record_keeps_its_split_when_others_are_added() {
        let few = written(&numbered(200));
        let many = written(&[numbered(300), vec![String::new()]].concat());
        let open = |file: &PathBuf| {
            let config = TasksConfig { files: vec![file.clone()], ..TasksConfig::default() };
            Records::open(&config).unwrap().unwrap()
        };
        let (few, many) = (open(&few.1), open(&many.1));
        for split in Split::ALL {
            assert!(all(&few, split).is_subset(&all(&many, split)), "{split}");
            assert!(few.count(split) > 5, "{split}");
        }
        assert_eq!(Split::ALL.map(|split| many.count(split)).iter().sum::<usize>(), 300);
        assert_ne!(few.entry(), many.entry());
    }

    #[test]
    fn a_field_or_a_file_of_its_own_decides_the_split() {
        let line = |split: &str, number: u32| format!("{{\"part\": \"{split}\", \"n\": {number}}}");
        let (_folder, file) = written(&[line("train", 1), line("test", 2), line("train", 3)]);
        let by_field = TasksConfig {
            files: vec![file.clone()],
            split_field: "part".to_owned(),
            ..TasksConfig::default()
        };
        let records = Records::open(&by_field).unwrap().unwrap();
        assert_eq!(Split::ALL.map(|split| records.count(split)), [2, 0, 1]);
        let last = records.read(Split::Train, 1).unwrap();
        assert_eq!(
            (last.text, last.place),
            (line("train", 3), format!("line 3 of `{}`", file.display()))
        );
        let nothing = records.read(Split::Validation, 0).unwrap_err().to_string();
        assert_eq!(nothing, "there is no record for the split `validation`");
        let (_other, wrong) = written(&[line("train", 1), line("dev", 2)]);
        let wrong = TasksConfig { files: vec![wrong], ..by_field.clone() };
        let error = Records::open(&wrong).unwrap_err().to_string();
        assert!(error.starts_with("line 2 of ") && error.contains("field `part`"), "{error}");
        let by_file = TasksConfig { validation: vec![file], limit: 2, ..TasksConfig::default() };
        let records = Records::open(&by_file).unwrap().unwrap();
        assert_eq!(Split::ALL.map(|split| records.count(split)), [0, 2, 0]);
    }

    #[test]
    fn a_question_without_an_answer_is_no_record() {
        let lines = [numbered(2), vec![plugin_questions::entry("Why?")]].concat();
        let (_folder, file) = written(&lines);
        let config = TasksConfig { files: vec![file], ..TasksConfig::default() };
        let error = Records::open(&config).unwrap_err().to_string();
        assert!(error.starts_with("line 3 of ") && error.contains("host serve --run"), "{error}");
    }

    #[test]
    fn training_sees_every_record_once_before_it_sees_one_twice() {
        let (_folder, file) = written(&numbered(50));
        let open = |shuffle| {
            let config =
                TasksConfig { train: vec![file.clone()], shuffle, ..TasksConfig::default() };
            Records::open(&config).unwrap().unwrap()
        };
        let pass = |records: &Records, pass: u64, seed: u64| -> Vec<u32> {
            (0..50).map(|at| records.training_index(50 * pass + at, Seed::new(seed))).collect()
        };
        let records = open(true);
        let (first, second) = (pass(&records, 0, 1), pass(&records, 1, 1));
        for order in [&first, &second] {
            assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 50);
        }
        assert_ne!(first, second);
        assert_ne!(first, pass(&records, 0, 2));
        assert_eq!(first, pass(&open(true), 0, 1));
        assert_eq!(pass(&open(false), 3, 1), (0..50).collect::<Vec<_>>());
    }
}
