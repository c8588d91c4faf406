//! Parquet files written here, read again, and read after they were damaged.

use std::convert::Infallible;
use std::io::{Seek, Write};
use std::sync::Arc;

use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;

use super::*;

const SCHEMA: &str = "message m {
    optional binary name (UTF8);
    optional group tests {
        optional group input (LIST) { repeated group list { optional binary element (UTF8); } }
    }
    optional group time_limit { optional int64 seconds; }
    optional binary unwanted (UTF8);
}";

/// What columns of each type come to.
mod types;

const WANTED: &[&str] = &["name", "tests", "time_limit"];

/// Values and their levels.
struct Cells<T> {
    values: Vec<T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

fn cells<T>(values: Vec<T>, definitions: &[i16], repetitions: &[i16]) -> Cells<T> {
    Cells { values, definitions: definitions.to_vec(), repetitions: repetitions.to_vec() }
}

/// Three rows: `a` with two tests and a limit, null with no tests, `c` with null.
fn written(first: &[u8], compression: Compression) -> Vec<u8> {
    let text = |text: &[u8]| ByteArray::from(text.to_vec());
    let texts = [
        cells(vec![text(first), text(b"c")], &[1, 0, 1], &[0, 0, 0]),
        cells(vec![text(b"1\n"), text(b"")], &[4, 4, 2, 0], &[0, 1, 0, 0]),
    ];
    let seconds = cells(vec![2], &[2, 0, 0], &[0, 0, 0]);
    let unwanted = cells(Vec::new(), &[0, 0, 0], &[0, 0, 0]);
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for Cells { values, definitions, repetitions } in &texts {
        let mut column = group.next_column().unwrap().unwrap();
        column
            .typed::<ByteArrayType>()
            .write_batch(values, Some(definitions), Some(repetitions))
            .unwrap();
        column.close().unwrap();
    }
    let mut column = group.next_column().unwrap().unwrap();
    let Cells { values, definitions, repetitions } = &seconds;
    let typed = column.typed::<Int64Type>();
    typed.write_batch(values, Some(definitions), Some(repetitions)).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let Cells { values, definitions, repetitions } = &unwanted;
    let typed = column.typed::<ByteArrayType>();
    typed.write_batch(values, Some(definitions), Some(repetitions)).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

/// Number and row or reason.
fn rows(bytes: &[u8], bounds: &Bounds) -> Vec<(usize, String)> {
    read(bytes, WANTED, bounds)
}

/// The rows of these fields, or reasons.
fn rows_of(bytes: &[u8], names: &[&str]) -> Vec<String> {
    read(bytes, names, &Bounds::default()).into_iter().map(|(_, row)| row).collect()
}

fn read(bytes: &[u8], names: &[&str], bounds: &Bounds) -> Vec<(usize, String)> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    let mut seen = Vec::new();
    read_rows::<Infallible>(&file, names, bounds, &mut |number, row| {
        let row = row.map_or_else(
            |refusal| format!("{} x {}", refusal.rows, refusal.reason),
            |value| value.to_string(),
        );
        seen.push((number, row));
        Ok(())
    })
    .unwrap();
    seen
}

#[test]
fn structures_lists_and_nulls_are_read_in_every_compression() {
    let expected = [
        (1, r#"{"name": "a", "tests": {"input": ["1\n", ""]}, "time_limit": {"seconds": 2}}"#),
        (2, r#"{"name": null, "tests": {"input": []}, "time_limit": null}"#),
        (3, r#"{"name": "c", "tests": null, "time_limit": null}"#),
    ];
    let expected = expected.map(|(number, row)| (number, row.to_owned()));
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let seen = rows(&written(b"a", compression), &Bounds::default());
        assert_eq!(seen, expected, "{compression:?}");
    }
}

#[test]
fn a_cell_of_no_text_costs_nothing_but_itself() {
    let seen = rows(&written(b"\xff", Compression::SNAPPY), &Bounds::default());
    assert!(
        seen[0].1.starts_with(r#"{"name": <bytes that are not UTF-8>, "tests": {"#),
        "{seen:?}"
    );
    assert_eq!(seen.len(), 3);
    assert!(seen[2].1.contains("\"c\""), "{seen:?}");
}

#[test]
fn what_unpacks_to_too_much_is_refused_before_it_is_unpacked() {
    let bounds = Bounds { bytes: 1 << 16, commas: 100 };
    for compression in [
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let bytes = written(&[b'0'; 1 << 20], compression);
        let seen = rows(&bytes, &bounds);
        let refused = (1, "3 x a row group unpacks to too much".to_owned());
        assert_eq!(seen, [refused], "{compression:?}");
    }
    let many = written(&[b','; 200], Compression::SNAPPY);
    assert_eq!(rows(&many, &bounds)[0].1, "1 x too many values in it");
}

#[test]
fn a_file_without_any_column_that_is_read_costs_one_refusal_and_not_one_a_row() {
    let seen = read(&written(b"a", Compression::SNAPPY), &["problem"], &Bounds::default());
    assert_eq!(seen, [(1, "3 x the file has no column of this set".to_owned())]);
}

#[test]
fn a_file_that_breaks_off_or_is_none_is_refused() {
    let bytes = written(b"a", Compression::SNAPPY);
    for bytes in [&bytes[..bytes.len() / 2], b"PAR1".as_slice(), b"PAR1PAR1\xff\xff\xff\x7fPAR1"] {
        let seen = rows(bytes, &Bounds::default());
        assert_eq!(seen, [(0, "1 x the Parquet file is damaged".to_owned())]);
    }
}

proptest! {
    #[test]
    fn no_damage_ends_more_than_the_rows_it_hit(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        packed in any::<bool>(),
    ) {
        let compression = if packed { Compression::SNAPPY } else { Compression::UNCOMPRESSED };
        let mut bytes = written(b"a", compression);
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        rows(&bytes, &Bounds::of_mib(1));
    }
}
