//! What every step of a run left, as digests, each tied to all before it: `chain.jsonl`. Whoever
//! changes a figure, an answer or a weight later has to make all that follows anew.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::metrics_log::drop_later;
use crate::manifest::Manifest;
use troupe_core::storage::{StorageError, append, digest};

/// The file's name.
pub const FILE: &str = "chain.jsonl";

/// Bytes at the end of the file that hold the last line of any run.
const TAIL: u64 = 1 << 16;

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Which.
    pub step: usize,
    /// BLAKE3 of what was trained, by policy, as the step left it.
    pub weights: BTreeMap<String, String>,
    /// SHA-256 of the step's table, if it was stored.
    pub table: Option<String>,
    /// SHA-256 of its line of the metrics, but for what the clock says.
    pub metrics: String,
    /// SHA-256 of its lines of the outcomes, if held-out tasks were played.
    pub outcomes: Option<String>,
    /// SHA-256 of the link before and of all of this; of the first, of what the run is made of.
    pub link: String,
}

impl Link {
    /// The same, tied to the one before.
    #[must_use]
    pub fn tied_to(self, before: &str) -> Self {
        let link = self.tie(before);
        Link { link, ..self }
    }

    /// Whether it is tied to the one before.
    pub fn is_tied_to(&self, before: &str) -> bool {
        self.link == self.tie(before)
    }

    /// What the next one is tied to: this one, and what the run has been made of since, if it was
    /// accepted here to be something else.
    pub fn knot(&self, manifest: Option<&Manifest>) -> String {
        match manifest.and_then(|manifest| manifest.became_after(self.step)) {
            None => self.link.clone(),
            Some(became) => digest(format!("{} {became}", self.link).as_bytes()),
        }
    }

    fn tie(&self, before: &str) -> String {
        let Link { step, weights, table, metrics, outcomes, .. } = self;
        let all = serde_json::json!([before, step, weights, table, metrics, outcomes]);
        digest(all.to_string().as_bytes())
    }
}

/// What the first link is tied to: what the run was made of as it began. Whoever works on it later
/// is added to its manifest, and changes nothing here.
pub fn root(manifest: Option<&Manifest>) -> String {
    let Some(manifest) = manifest else { return String::new() };
    manifest.begun_as.clone().unwrap_or_else(|| manifest.made_of())
}

/// The digest of a line of the metrics, whatever the clock says.
pub fn digest_of_metrics(mut line: Value) -> String {
    if let Value::Object(fields) = &mut line {
        fields.remove("timing");
    }
    digest(line.to_string().as_bytes())
}

/// The digests of the lines of a file of outcomes, by step.
pub fn digests_of_outcomes(text: &str) -> BTreeMap<usize, String> {
    let mut steps: BTreeMap<usize, String> = BTreeMap::new();
    for line in text.split_inclusive('\n') {
        let step = serde_json::from_str::<Value>(line).ok().and_then(|line| line["step"].as_u64());
        if let Some(step) = step {
            steps.entry(step as usize).or_default().push_str(line);
        }
    }
    steps.into_iter().map(|(step, lines)| (step, digest(lines.as_bytes()))).collect()
}

/// The file, in the folder of a run.
pub struct ChainLog<'a> {
    /// The run's folder.
    pub folder: &'a Path,
}

impl ChainLog<'_> {
    /// Add a step.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append(&self, link: &Link) -> Result<(), StorageError> {
        let path = self.path();
        let mut line = serde_json::to_vec(link)
            .map_err(|error| StorageError::io("write", &path)(error.into()))?;
        line.push(b'\n');
        append(&path, &line)
    }

    /// Drop the steps after `step`, or all of them.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn rewind(&self, step: Option<usize>) -> Result<(), StorageError> {
        drop_later(&self.path(), step)
    }

    /// All links, in their order; none of a run that was begun before there were any.
    ///
    /// # Errors
    /// If a line is none.
    pub fn read(&self) -> Result<Vec<Link>, StorageError> {
        let path = self.path();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StorageError::io("read", &path)(error)),
        };
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let link = |(number, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|error| StorageError::Damaged {
                path: path.clone(),
                reason: format!("line {} is no link ({error})", number + 1),
            })
        };
        whole.enumerate().map(link).collect()
    }

    /// The last link.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn last(&self) -> Result<Option<Link>, StorageError> {
        let path = self.path();
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StorageError::io("read", &path)(error)),
        };
        let failed = StorageError::io("read", &path);
        let read = |file: &mut File| {
            let end = file.seek(SeekFrom::End(0))?;
            file.seek(SeekFrom::Start(end.saturating_sub(TAIL)))?;
            let mut tail = Vec::new();
            file.read_to_end(&mut tail).map(|_| tail)
        };
        let tail = read(&mut file).map_err(failed)?;
        let lines = tail.split(|byte| *byte == b'\n');
        Ok(lines.rev().find_map(|line| serde_json::from_slice(line).ok()))
    }

    fn path(&self) -> PathBuf {
        self.folder.join(FILE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(step: usize) -> Link {
        let weights = BTreeMap::from([("shared".to_owned(), "w".to_owned())]);
        let (table, outcomes) = (Some("t".to_owned()), None);
        Link { step, weights, table, metrics: "m".to_owned(), outcomes, link: String::new() }
    }

    #[test]
    fn a_link_is_of_everything_in_it_and_of_the_one_before() {
        let tied = link(3).tied_to("before");
        assert!(tied.is_tied_to("before") && !tied.is_tied_to("another"));
        let other = |change: fn(&mut Link)| {
            let mut other = tied.clone();
            change(&mut other);
            !other.is_tied_to("before")
        };
        assert!(other(|link| link.step = 4));
        assert!(other(|link| drop(link.weights.insert("shared".to_owned(), "v".to_owned()))));
        assert!(other(|link| link.table = None));
        assert!(other(|link| link.metrics = String::new()));
        assert!(other(|link| link.outcomes = Some(String::new())));
    }

    #[test]
    fn what_the_clock_says_is_no_part_of_a_line_and_all_else_is() {
        let line = |text: &str| digest_of_metrics(text.parse().unwrap());
        let one = line("{\"step\":1,\"reward\":0.5,\"timing\":{\"unix\":1.0}}");
        assert_eq!(one, line("{\"step\":1,\"reward\":0.5,\"timing\":{\"unix\":2.0}}"));
        assert_ne!(one, line("{\"step\":1,\"reward\":0.25}"));
    }

    #[test]
    fn outcomes_are_counted_to_their_steps() {
        let text = "{\"step\":0,\"task\":1}\n{\"step\":0,\"task\":2}\n{\"step\":20,\"task\":1}\n";
        let found = digests_of_outcomes(text);
        assert_eq!(found[&20], digest(b"{\"step\":20,\"task\":1}\n"));
        assert_eq!(found[&0], digest(b"{\"step\":0,\"task\":1}\n{\"step\":0,\"task\":2}\n"));
    }
}
