//! A file of records, looked into.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::bounds::Bounds;
use troupe_core::error::{Coded, ExitCode};
use troupe_core::seed::Seed;
use troupe_grading::Value;

/// Why a file of records cannot be looked into.
#[derive(Debug, thiserror::Error)]
pub enum RecordFileError {
    /// It cannot be read.
    #[error("cannot read `{}`: {reason}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// A line of it is no record.
    #[error("line {line} of `{}` is no record: {reason}", path.display())]
    NotARecord {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// It has no such record.
    #[error("`{}` has {count} records, and none is `{wanted}`, by its id or its number", path.display())]
    NoSuchRecord {
        /// The file.
        path: PathBuf,
        /// How many it has.
        count: usize,
        /// What was asked for.
        wanted: String,
    },
}

impl Coded for RecordFileError {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Usage)
    }
}

/// One record of a file.
#[derive(Clone, Debug)]
pub struct StoredRecord {
    /// The line it stands on, from 1.
    pub line: usize,
    /// The line itself.
    pub text: String,
    /// Its fields: a dictionary.
    pub fields: Value,
}

impl StoredRecord {
    /// A field that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.fields.get(name) {
            Some(Value::Str(text)) => Some(text),
            _ => None,
        }
    }
}

/// A file of records, one a line.
#[derive(Debug)]
pub struct RecordFile {
    path: PathBuf,
    reader: BufReader<File>,
    line: usize,
}

impl RecordFile {
    /// Open a file at its first record.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: &Path) -> Result<Self, RecordFileError> {
        let file = File::open(path)
            .map_err(|reason| RecordFileError::Io { path: path.to_owned(), reason })?;
        Ok(RecordFile { path: path.to_owned(), reader: BufReader::new(file), line: 0 })
    }

    /// The next line that is not empty.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, RecordFileError> {
        let most = Bounds::default().bytes as u64 + 1;
        loop {
            let mut bytes = Vec::new();
            let read = (&mut self.reader).take(most).read_until(b'\n', &mut bytes);
            let read = read.map_err(|reason| self.io(reason))?;
            self.line += 1;
            match read {
                0 => return Ok(None),
                read if read as u64 == most => return Err(self.no_record("it is too long")),
                _ if bytes.trim_ascii().is_empty() => {}
                _ => return Ok(Some(bytes)),
            }
        }
    }

    /// The next record.
    ///
    /// # Errors
    /// If the file cannot be read, or the next line is no record.
    pub fn next_record(&mut self) -> Result<Option<StoredRecord>, RecordFileError> {
        let Some(bytes) = self.next_line()? else { return Ok(None) };
        let text = std::str::from_utf8(bytes.trim_ascii())
            .map_err(|error| self.no_record(&error.to_string()))?;
        match Value::parse(text).map_err(|reason| self.no_record(&reason))? {
            fields @ Value::Dict(_) => {
                Ok(Some(StoredRecord { line: self.line, text: text.to_owned(), fields }))
            }
            other => Err(self.no_record(&format!("it is {}", other.kind()))),
        }
    }

    /// The record of this id, else the one of this number, from 1.
    ///
    /// # Errors
    /// If there is none, or the file cannot be read.
    pub fn find(mut self, wanted: &str) -> Result<StoredRecord, RecordFileError> {
        let number: Option<usize> = wanted.parse().ok();
        let (mut by_number, mut count) = (None, 0);
        while let Some(record) = self.next_record()? {
            count += 1;
            let id = match record.fields.get("id") {
                Some(Value::Str(id) | Value::Int(id)) => id.as_str(),
                _ => "",
            };
            if id == wanted {
                return Ok(record);
            }
            by_number = by_number.or_else(|| (number == Some(count)).then_some(record));
        }
        let none =
            RecordFileError::NoSuchRecord { path: self.path, count, wanted: wanted.to_owned() };
        by_number.ok_or(none)
    }

    /// So many records, drawn without putting one back, in the order they were drawn in.
    ///
    /// # Errors
    /// If the file cannot be read, or one of them is no record.
    pub fn sample(mut self, count: usize, seed: u64) -> Result<Vec<StoredRecord>, RecordFileError> {
        let mut places = Vec::new();
        let mut before = (0, 0);
        while self.next_line()?.is_some() {
            places.push(before);
            let position = self.reader.stream_position().map_err(|reason| self.io(reason))?;
            before = (position, self.line);
        }
        Seed::new(seed).shuffle(&mut places);
        places.truncate(count);
        let record = |(start, line): (u64, usize)| {
            self.reader.seek(SeekFrom::Start(start)).map_err(|reason| self.io(reason))?;
            self.line = line;
            self.next_record()
        };
        places.into_iter().map(record).filter_map(Result::transpose).collect()
    }

    fn io(&self, reason: io::Error) -> RecordFileError {
        RecordFileError::Io { path: self.path.clone(), reason }
    }

    fn no_record(&self, reason: &str) -> RecordFileError {
        RecordFileError::NotARecord {
            path: self.path.clone(),
            line: self.line,
            reason: reason.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, RecordFile) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        std::fs::write(&path, text).unwrap();
        (folder, RecordFile::open(&path).unwrap())
    }

    #[test]
    fn a_record_is_found_by_its_id_before_its_number() {
        let text = "{\"id\": \"2\"}\n\n{\"id\": \"b\"}\n{\"id\": \"c\"}\n";
        for (wanted, line) in [("2", 1), ("b", 3), ("3", 4)] {
            assert_eq!(file(text).1.find(wanted).unwrap().line, line, "{wanted}");
        }
        let error = file(text).1.find("d").unwrap_err().to_string();
        assert!(error.contains("has 3 records"), "{error}");
        let error = file("{\"id\": 1}\n[1]\n").1.find("d").unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("a list"), "{error}");
    }

    #[test]
    fn a_sample_is_the_same_for_the_same_seed_and_has_no_record_twice() {
        let text: String = (0..50).map(|number| format!("{{\"id\": {number}}}\n\n")).collect();
        let lines = |count, seed| -> Vec<usize> {
            file(&text).1.sample(count, seed).unwrap().iter().map(|record| record.line).collect()
        };
        assert_eq!(lines(10, 1), lines(10, 1));
        assert_ne!(lines(10, 1), lines(10, 2));
        let mut all = lines(100, 3);
        all.sort_unstable();
        assert_eq!(all, (0..50).map(|number| 2 * number + 1).collect::<Vec<_>>());
    }
}
