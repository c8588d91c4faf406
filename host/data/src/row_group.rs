//! The rows of one row group, put together from its columns.

use parquet::basic::Repetition;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;

use super::bounds::Bounds;
use super::columns::{Columns, Field, Leaf, Shape};
use super::logical::Kind;
use super::refusal::Refusal;
use troupe_grading::Value;

/// The columns of one row group, row by row.
pub(super) struct RowGroup<'c> {
    fields: &'c [Field],
    columns: Vec<(&'c Leaf, ColumnReader)>,
}

impl<'c> RowGroup<'c> {
    /// Open the columns of a row group.
    pub fn open(reader: &dyn RowGroupReader, columns: &'c Columns) -> Result<Self, ParquetError> {
        let open = |leaf: &'c Leaf| Ok((leaf, reader.get_column_reader(leaf.index)?));
        let opened = columns.leaves.iter().map(open).collect::<Result<_, ParquetError>>()?;
        Ok(RowGroup { fields: &columns.fields, columns: opened })
    }

    /// The next row, or why it is none; an error if there can be no further rows.
    pub fn next(&mut self, bounds: &Bounds) -> Result<Result<Value, Refusal>, ParquetError> {
        let mut meter = Meter { bounds, bytes: 0, commas: 0, refused: None };
        let mut cells = Vec::with_capacity(self.columns.len());
        for (leaf, reader) in &mut self.columns {
            // A row that is refused is still read to its end, in every column.
            cells.push(read(reader, leaf, &mut meter)?);
        }
        if let Some(refusal) = meter.refused {
            return Ok(Err(refusal));
        }
        let row = structure(self.fields, &mut cells)?;
        if cells.iter().any(|cells| cells.at < cells.definitions.len()) {
            return Err(contradiction());
        }
        Ok(Ok(row))
    }
}

fn contradiction() -> ParquetError {
    ParquetError::General("the levels of two columns contradict each other".to_owned())
}

/// What a column holds of one row.
struct Cells {
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    values: std::vec::IntoIter<Value>,
    at: usize,
}

impl Cells {
    /// The definition level of what comes next.
    fn definition(&self) -> Result<i16, ParquetError> {
        self.definitions.get(self.at).copied().ok_or_else(contradiction)
    }

    /// The repetition level of what comes next; none at the end of the row.
    fn repetition(&self) -> Option<i16> {
        self.repetitions.get(self.at).copied()
    }
}

fn structure(fields: &[Field], cells: &mut [Cells]) -> Result<Value, ParquetError> {
    let field = |field: &Field| Ok((Value::Str(field.name.clone()), value(field, cells)?));
    fields.iter().map(field).collect::<Result<_, _>>().map(Value::Dict)
}

/// What a row has of a field: nothing, a value, or a list of them.
fn value(field: &Field, cells: &mut [Cells]) -> Result<Value, ParquetError> {
    let first = field.leaves.start;
    let absent = cells[first].definition()? < field.definition;
    if field.occurs != Repetition::REPEATED {
        return if absent { skip(field, cells, Value::Null) } else { present(field, cells) };
    }
    if absent {
        return skip(field, cells, Value::List(Vec::new()));
    }
    let mut items = vec![present(field, cells)?];
    while cells[first].repetition() == Some(field.repetition) {
        items.push(present(field, cells)?);
    }
    Ok(Value::List(items))
}

/// Passes over what is not there: it has one level in each column.
fn skip(field: &Field, cells: &mut [Cells], nothing: Value) -> Result<Value, ParquetError> {
    for cells in &mut cells[field.leaves.clone()] {
        if cells.definition()? >= field.definition {
            return Err(contradiction());
        }
        cells.at += 1;
    }
    Ok(nothing)
}

/// One time that a field is there.
fn present(field: &Field, cells: &mut [Cells]) -> Result<Value, ParquetError> {
    match &field.shape {
        Shape::Value => {
            let cells = &mut cells[field.leaves.start];
            if cells.definition()? != field.definition {
                return Err(contradiction());
            }
            cells.at += 1;
            cells.values.next().ok_or_else(contradiction)
        }
        Shape::Group(fields) => structure(fields, cells),
        Shape::Only(inner) => value(inner, cells),
        Shape::Map(inner) => Ok(map(value(inner, cells)?)),
    }
}

/// Keys and values as an object, whose names are texts.
fn map(entries: Value) -> Value {
    let Value::List(entries) = entries else { return entries };
    let pair = |entry: Value| match entry {
        Value::Dict(parts) => {
            let mut parts = parts.into_iter().map(|(_, part)| part);
            let key = match parts.next()? {
                Value::Str(key) | Value::Int(key) => key,
                Value::Null | Value::Other(_) => return None,
                other => other.to_string(),
            };
            Some((Value::Str(key), parts.next()?))
        }
        _ => None,
    };
    let pairs: Option<Vec<(Value, Value)>> = entries.into_iter().map(pair).collect();
    pairs.map_or_else(|| Value::Other("a map with keys that are no text".to_owned()), Value::Dict)
}

/// Counts what a row takes.
struct Meter<'b> {
    bounds: &'b Bounds,
    bytes: usize,
    commas: usize,
    refused: Option<Refusal>,
}

impl Meter<'_> {
    /// Counts a value of so many bytes; of one that is too much nothing is kept.
    fn takes(&mut self, bytes: &[u8]) -> bool {
        self.bytes += bytes.len();
        self.commas += bytes.iter().filter(|&&byte| byte == b',').count();
        if self.bytes > self.bounds.bytes {
            self.refused.get_or_insert_with(|| self.bounds.too_long());
        } else if self.commas > self.bounds.commas {
            self.refused.get_or_insert_with(|| self.bounds.too_many(self.commas));
        }
        self.refused.is_none()
    }
}

fn read(
    reader: &mut ColumnReader,
    leaf: &Leaf,
    meter: &mut Meter<'_>,
) -> Result<Cells, ParquetError> {
    let kind = &leaf.kind;
    match reader {
        ColumnReader::BoolColumnReader(typed) => cells(typed, leaf, |flag| Value::Bool(*flag)),
        ColumnReader::Int32ColumnReader(typed) => cells(typed, leaf, |n| kind.int(i64::from(*n))),
        ColumnReader::Int64ColumnReader(typed) => cells(typed, leaf, |n| kind.int(*n)),
        ColumnReader::Int96ColumnReader(typed) => {
            cells(typed, leaf, |moment| Kind::julian(moment.data()))
        }
        ColumnReader::FloatColumnReader(typed) => {
            cells(typed, leaf, |number| Value::Float(f64::from(*number)))
        }
        ColumnReader::DoubleColumnReader(typed) => {
            cells(typed, leaf, |number| Value::Float(*number))
        }
        ColumnReader::ByteArrayColumnReader(typed) => {
            cells(typed, leaf, |bytes| metered(kind, bytes.data(), meter))
        }
        ColumnReader::FixedLenByteArrayColumnReader(typed) => {
            cells(typed, leaf, |bytes| metered(kind, bytes.data(), meter))
        }
    }
}

fn metered(kind: &Kind, bytes: &[u8], meter: &mut Meter<'_>) -> Value {
    if meter.takes(bytes) { kind.bytes(bytes) } else { Value::Null }
}

/// What a column holds of the next row.
fn cells<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    leaf: &Leaf,
    value_of: impl FnMut(&T::T) -> Value,
) -> Result<Cells, ParquetError> {
    let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let (rows, _, levels) =
        reader.read_records(1, Some(&mut definitions), Some(&mut repetitions), &mut values)?;
    if rows == 0 {
        return Err(ParquetError::EOF("a column ends before its rows do".to_owned()));
    }
    // Columns without these levels are read without them.
    if leaf.definition == 0 {
        definitions = vec![0; levels];
    }
    if leaf.repetition == 0 {
        repetitions = vec![0; levels];
    }
    let values: Vec<Value> = values.iter().map(value_of).collect();
    Ok(Cells { definitions, repetitions, values: values.into_iter(), at: 0 })
}
