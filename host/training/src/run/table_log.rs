//! The answers of every step of a run: `table/`.

use std::path::{Path, PathBuf};

use troupe_core::archive::{list_tables, table_file};
use troupe_core::storage::{StorageError, create_folder};
use troupe_core::table::{Row, write_table};

/// The tables, in the folder of a run.
pub(super) struct TableLog<'a> {
    /// The run's folder.
    pub(super) folder: &'a Path,
}

impl TableLog<'_> {
    /// Write a step's answers, unless the tables before it have come to `limit` bytes and nothing
    /// needs them. Returns whether they have come to so much with the step before.
    pub(super) fn write(
        &self,
        step: usize,
        rows: &[Row],
        (limit, is_needed): (u64, bool),
    ) -> Result<bool, StorageError> {
        let folder = self.folder.join("table");
        create_folder(&folder)?;
        let is_full = self.bytes_before(step)? >= limit;
        let last = list_tables(self.folder)?.last().map(|(last, _)| last + 1);
        if !is_full || is_needed {
            write_table(&folder.join(table_file(step)), rows)?;
        }
        let is_first = last == Some(step)
            && (!is_needed || self.bytes_before(step.saturating_sub(1))? < limit);
        Ok(is_full && is_first)
    }

    /// Bytes of the tables of earlier steps.
    fn bytes_before(&self, step: usize) -> Result<u64, StorageError> {
        let tables = list_tables(self.folder)?;
        let earlier = tables.iter().take_while(|(of_step, _)| *of_step < step);
        let bytes = |(_, path): &(usize, PathBuf)| {
            let found = std::fs::metadata(path).map_err(StorageError::io("read", path));
            found.map(|found| found.len())
        };
        earlier.map(bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first four steps: whether each said that the limit was met, and those that were kept.
    fn kept(limit: u64, is_needed: bool) -> (Vec<bool>, Vec<usize>) {
        let folder = tempfile::tempdir().unwrap();
        let log = TableLog { folder: folder.path() };
        let said = (1..=4).map(|step| log.write(step, &[], (limit, is_needed)).unwrap()).collect();
        let tables = list_tables(folder.path()).unwrap();
        (said, tables.into_iter().map(|(step, _)| step).collect())
    }

    #[test]
    fn tables_come_to_no_more_than_they_may_and_it_is_said_once() {
        assert_eq!(kept(1, false), (vec![false, true, false, false], vec![1]));
        assert_eq!(kept(u64::MAX, false), (vec![false; 4], vec![1, 2, 3, 4]));
    }

    #[test]
    fn answers_that_are_learned_from_again_are_kept_whatever_they_come_to() {
        assert_eq!(kept(1, true), (vec![false, true, false, false], vec![1, 2, 3, 4]));
        assert_eq!(kept(u64::MAX, true), (vec![false; 4], vec![1, 2, 3, 4]));
    }
}
