//! What became of the rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::refusal::Refusal;

/// What the name of a report ends with, behind that of its file of records.
pub(super) const ENDING: &str = ".report.json";

/// Places that are told of each reason.
const PLACES: usize = 3;

/// Everything that is told of an import; written beside the records.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// The data set.
    pub data_set: String,
    /// Its licence, where no row names another.
    pub licence: String,
    /// The version of `host`.
    pub version: String,
    /// What was read.
    pub sources: Vec<SourceEntry>,
    /// How many rows that were.
    pub rows: usize,
    /// The file of records.
    pub file: String,
    /// Its length.
    pub bytes: u64,
    /// Its digest.
    pub sha256: String,
    /// How many records it holds.
    pub records: usize,
    /// How many of them belong to each split.
    pub splits: BTreeMap<String, usize>,
    /// Rows that are no records, by reason.
    pub dropped: Vec<Dropped>,
    /// What should be known of records that were kept.
    pub noted: Vec<Dropped>,
}

/// A file or folder of the command line.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SourceEntry {
    /// Its path.
    pub path: String,
    /// How many files it stands for.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Its digest: a folder's is that of the lines `digest  path` of its files.
    pub sha256: String,
}

/// Rows that have something in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// What.
    pub reason: String,
    /// How many.
    pub count: usize,
    /// The first few, and what there was.
    pub places: Vec<String>,
}

impl Report {
    /// How many rows were dropped.
    pub fn dropped_rows(&self) -> usize {
        self.dropped.iter().map(|dropped| dropped.count).sum()
    }

    pub(super) fn drop_row(&mut self, place: &str, refusal: &Refusal) {
        let place = match refusal.detail.as_str() {
            "" => place.to_owned(),
            detail => format!("{place}: {detail}"),
        };
        count(&mut self.dropped, &refusal.reason, refusal.rows, place);
    }

    pub(super) fn note(&mut self, reason: &str, place: String) {
        count(&mut self.noted, reason, 1, place);
    }

    /// With what is most first.
    pub(super) fn sort(&mut self) {
        for list in [&mut self.dropped, &mut self.noted] {
            list.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.reason.cmp(&b.reason)));
        }
    }
}

fn count(list: &mut Vec<Dropped>, reason: &str, rows: usize, place: String) {
    let known = list.iter().position(|dropped| dropped.reason == reason);
    let index = known.unwrap_or_else(|| {
        list.push(Dropped { reason: reason.to_owned(), ..Dropped::default() });
        list.len() - 1
    });
    list[index].count += rows;
    if list[index].places.len() < PLACES {
        list[index].places.push(place);
    }
}
