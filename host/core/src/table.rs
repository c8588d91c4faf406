//! The sample table of a step on disk: a Parquet file with a row for each
//! answer, compressed by zstd, which DuckDB, pandas and polars read as it is.
//! Everything that follows the rollout can be computed from it again.

mod column;
mod row;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::storage::{StorageError, write_file};

pub use row::{Row, rows_of};

/// The schema of a row. `docs/table.md` explains each column.
const SCHEMA: &str = "message answers {
    required int32 step;
    required int32 task;
    required binary family (STRING);
    required binary split (STRING);
    required int64 seed;
    required int32 episode;
    required int32 round;
    optional int32 parent;
    optional int32 caller;
    required int32 turn;
    required binary role (STRING);
    required int32 instance;
    required binary thread (STRING);
    optional binary situation (STRING);
    optional binary hint (STRING);
    required binary policy (STRING);
    required int32 version;
    required int32 branch;
    required boolean kept;
    required int64 state (INTEGER(64, false));
    required boolean accepted;
    required double team;
    required double local;
    required group parts (MAP) {
        repeated group key_value {
            required binary key (STRING);
            required double value;
        }
    }
    optional float advantage;
    required float weight;
    required binary ending (STRING);
    required binary text (STRING);
    required binary stop (STRING);
    required group prompt (LIST) { repeated group list { required int32 element; } }
    required group tokens (LIST) { repeated group list { required int32 element; } }
    required group logprobs (LIST) { repeated group list { required float element; } }
    required group forced (LIST) { repeated group list { required int32 element; } }
}";

/// Write the rows of a step. The file is replaced as a whole.
///
/// # Errors
/// If it cannot be written.
pub fn write_table(path: &Path, rows: &[Row]) -> Result<(), StorageError> {
    let packed = pack(rows).map_err(|error| failed("write", path, error))?;
    write_file(path, &packed)
}

/// Read the rows of a step, in their order.
///
/// # Errors
/// If the file is not there, is damaged, or is no such table.
pub fn read_table(path: &Path) -> Result<Vec<Row>, StorageError> {
    let file = File::open(path).map_err(StorageError::io("read", path))?;
    let damaged = |error: ParquetError| StorageError::Damaged {
        path: path.to_owned(),
        reason: format!("it is no table of answers ({error})"),
    };
    let reader = SerializedFileReader::new(file).map_err(damaged)?;
    let rows = reader.get_row_iter(None).map_err(damaged)?;
    rows.map(|row| row.and_then(|row| Row::read(&row)).map_err(damaged)).collect()
}

fn pack(rows: &[Row]) -> Result<Vec<u8>, ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let level = ZstdLevel::try_new(3)?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in row::columns(rows) {
        let Some(mut target) = group.next_column()? else {
            return Err(ParquetError::General("there are more columns than the schema has".into()));
        };
        column.write(&mut target)?;
        target.close()?;
    }
    group.close()?;
    writer.into_inner()
}

fn failed(verb: &'static str, path: &Path, error: ParquetError) -> StorageError {
    StorageError::io(verb, path)(std::io::Error::other(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::tree_of;
    use crate::trajectory::{Ending, Episode, Sample, StopReason};

    fn episode(task: usize) -> Episode {
        Episode {
            task,
            family: "maze".to_owned(),
            split: "train".to_owned(),
            seed: 0xffff_fff0 + task as u32,
            episode: 0,
            events: Vec::new(),
            ending: Ending::Solved,
        }
    }

    #[test]
    fn rows_are_read_as_they_were_written_to_the_last_bit() {
        let mut samples = tree_of(2, 2, &["planner", "executor"], 3);
        samples[1].reward.parts = [("a".to_owned(), 0.1 + 0.2), ("b".to_owned(), -0.0)].into();
        (samples[1].reward.team, samples[1].reward.local) = (0.1, f64::MIN_POSITIVE);
        samples[2].state = u64::MAX;
        samples[2].situation = Some("near".to_owned());
        samples[3].hint = Some("left, left".to_owned());
        samples[3].completion.tokens = Vec::new();
        samples[3].completion.logprobs = Vec::new();
        samples[3].completion.stop = StopReason::Length;
        samples[4].completion.text = "naïve\n漢字".to_owned();
        let advantages: Vec<Option<f32>> =
            (0..12).map(|at| (at % 3 != 0).then_some(at as f32 / 7.0)).collect();
        let weights: Vec<f32> = (0..12).map(|at| at as f32).collect();
        (samples[5].parent, samples[5].caller) = (Some(2), Some(0));
        let version = |policy: &str| policy.len();
        let episodes = [episode(0), episode(1)];
        let credits = (&*advantages, &*weights);
        let rows = rows_of((5, version), &samples, credits, &episodes, |_| true);
        assert_eq!((rows[5].step, rows[5].version), (5, "shared".len()));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("step.parquet");
        write_table(&path, &rows).unwrap();
        assert_eq!(read_table(&path).unwrap(), rows);
        let first = std::fs::read(&path).unwrap();
        write_table(&path, &rows).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), first, "the same rows are the same bytes");
    }

    #[test]
    fn rows_that_are_kept_alone_still_hang_on_each_other() {
        let mut samples = tree_of(1, 3, &["solo"], 2);
        for (index, parent) in [None, None, Some(0), Some(0), Some(3), Some(3)].iter().enumerate() {
            samples[index].parent = *parent;
            samples[index].kept = [0, 3, 4].contains(&index);
        }
        samples[4].caller = Some(0);
        let none = (&[None; 6][..], &[1.0; 6][..]);
        let kept = |sample: &Sample| sample.kept;
        let rows = rows_of((1, |_: &str| 0), &samples, none, &[episode(0)], kept);
        let parents: Vec<_> =
            rows.iter().map(|row| (row.sample.parent, row.sample.caller)).collect();
        assert_eq!(parents, [(None, None), (Some(0), None), (Some(1), Some(0))]);
    }

    #[test]
    fn what_is_no_table_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("step.parquet");
        std::fs::write(&path, b"PAR1 nonsense PAR1").unwrap();
        let error = read_table(&path).unwrap_err().to_string();
        assert!(error.contains("step.parquet") && error.contains("no table of answers"), "{error}");
        let error = read_table(&folder.path().join("none.parquet")).unwrap_err().to_string();
        assert!(error.contains("none.parquet"), "{error}");
    }
}
