//! Rows of a Parquet file.
//!
//! Its metadata is untrusted as well: what the pages of a row group unpack to
//! is added up before any of them is, and a row group that would take too much
//! is left out as a whole.

use std::fs::File;
use std::os::unix::fs::FileExt;

use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::bounds::Bounds;
use super::columns::{Columns, Leaf};
use super::json::Sink;
use super::pages::{PageHeader, gunzipped, read_header};
use super::refusal::Refusal;
use super::row_group::RowGroup;
use troupe_core::caught::caught;

/// The most values of a column in one row group.
const MOST_VALUES: u64 = 8 << 20;

/// Columns that are named where none is one that is read.
const NAMED: usize = 8;

/// The most rows of a row group: more are a lie.
const MOST_ROWS: i64 = 100_000_000;

/// Read the rows of a Parquet file, of the fields of these names.
pub(super) fn read_rows<E>(
    file: &File,
    names: &[&str],
    bounds: &Bounds,
    sink: &mut Sink<'_, E>,
) -> Result<(), E> {
    let opened = guarded(|| SerializedFileReader::new(file.try_clone()?));
    let reader = match opened {
        Ok(reader) => reader,
        Err(reason) => return sink(0, Err(Refusal::new("the Parquet file is damaged", reason))),
    };
    let metadata = reader.metadata();
    let columns = Columns::of(metadata.file_metadata().schema(), names);
    let mut row = 0;
    for (index, group) in metadata.row_groups().iter().enumerate() {
        let rows = usize::try_from(group.num_rows().clamp(0, MOST_ROWS)).unwrap_or(0);
        let begin = row;
        let result = check(file, group, &columns.leaves, bounds).and_then(|()| {
            let open = || RowGroup::open(&*reader.get_row_group(index)?, &columns);
            guarded(open).map_err(|reason| Refusal::new("a row group is damaged", reason))
        });
        let mut group = match result {
            Ok(group) => group,
            Err(refusal) => {
                sink(begin + 1, Err(Refusal { rows: rows.max(1), ..refusal }))?;
                row += rows;
                continue;
            }
        };
        while row < begin + rows {
            row += 1;
            match guarded(|| group.next(bounds)) {
                Ok(cells) => sink(row, cells)?,
                Err(reason) => {
                    let rest = Refusal::new("the rest of a row group is damaged", reason);
                    sink(row, Err(Refusal { rows: begin + rows - row + 1, ..rest }))?;
                    break;
                }
            }
        }
        row = begin + rows;
    }
    Ok(())
}

/// What the Parquet library makes of a file. It was not written for hostile
/// ones and may panic over them.
fn guarded<R>(work: impl FnOnce() -> Result<R, ParquetError>) -> Result<R, String> {
    match caught(work) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err("the Parquet library gave up on it".to_owned()),
    }
}

/// Whether the pages of a row group stay within what may be held at a time.
fn check(
    file: &File,
    group: &RowGroupMetaData,
    leaves: &[Leaf],
    bounds: &Bounds,
) -> Result<(), Refusal> {
    if leaves.is_empty() {
        // Nothing would bound the number of rows that it claims to have.
        let found = group.columns().iter().take(NAMED).map(|it| it.column_path().string());
        let detail = format!("its columns are {}", found.collect::<Vec<_>>().join(", "));
        return Err(Refusal::new("the file has no column of this set", detail));
    }
    for leaf in leaves {
        let chunk = group.columns().get(leaf.index);
        let chunk = chunk.ok_or_else(|| Refusal::plain("a row group lacks a column"))?;
        check_chunk(file, chunk, bounds)?;
    }
    Ok(())
}

fn check_chunk(file: &File, chunk: &ColumnChunkMetaData, bounds: &Bounds) -> Result<(), Refusal> {
    let damaged = |detail: String| Refusal::new("a row group is damaged", detail);
    let read_here = matches!(
        chunk.compression(),
        Compression::UNCOMPRESSED
            | Compression::SNAPPY
            | Compression::GZIP(_)
            | Compression::ZSTD(_)
    );
    if !read_here {
        let detail = format!("{}; write it with snappy, gzip or zstd", chunk.compression());
        return Err(Refusal::new("a compression that is not read here", detail));
    }
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    let (Ok(mut at), Ok(length)) = (u64::try_from(start), u64::try_from(chunk.compressed_size()))
    else {
        return Err(damaged("a column lies before the file's beginning".to_owned()));
    };
    let end = at.saturating_add(length);
    let mut values = 0_u64;
    while at < end {
        let (header, header_length) = header_at(file, at, end).map_err(damaged)?;
        at += header_length as u64;
        if header.packed > end - at {
            return Err(damaged("a page is longer than its column".to_owned()));
        }
        let mut unpacked = header.unpacked;
        if matches!(chunk.compression(), Compression::GZIP(_)) {
            // This one is not held to what its header says by the library that unpacks it.
            unpacked = unpacked.max(gzip_size(file, at, header.packed, bounds).map_err(damaged)?);
        }
        if unpacked > bounds.bytes as u64 {
            let most = bounds.bytes >> 20;
            let detail = format!("a page takes more than {most} MiB (--max-record-mib)");
            return Err(Refusal::new("a row group unpacks to too much", detail));
        }
        values = values.saturating_add(header.values);
        if values > MOST_VALUES {
            let detail = format!("a column has more than {MOST_VALUES} values");
            return Err(Refusal::new("a row group unpacks to too much", detail));
        }
        at += header.packed;
    }
    Ok(())
}

/// A page's header. It is short, but for minimum and maximum, which may be texts.
fn header_at(file: &File, at: u64, end: u64) -> Result<(PageHeader, usize), String> {
    let mut window = 1 << 12;
    loop {
        let length = (end - at).min(window);
        let bytes = bytes_at(file, at, length)?;
        match read_header(&bytes) {
            Err(_) if length == window && window < 1 << 24 => window <<= 4,
            result => return result,
        }
    }
}

fn gzip_size(file: &File, at: u64, packed: u64, bounds: &Bounds) -> Result<u64, String> {
    if packed > bounds.bytes as u64 {
        return Ok(packed);
    }
    let bytes = bytes_at(file, at, packed)?;
    gunzipped(&bytes, bounds.bytes as u64).map_err(|error| error.to_string())
}

fn bytes_at(file: &File, at: u64, length: u64) -> Result<Vec<u8>, String> {
    let size = file.metadata().map_err(|error| error.to_string())?.len();
    if at.saturating_add(length) > size {
        return Err("a column lies behind the file's end".to_owned());
    }
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, at).map_err(|error| error.to_string())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
