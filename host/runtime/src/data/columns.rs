//! Rows put together from a Parquet file's columns.
//!
//! A column's values come with two levels each: where a new row begins, and
//! how much of the path down to the value is there. Lists within lists are in
//! no data set and left out.

use parquet::basic::Repetition;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;
use parquet::schema::types::Type;

use super::bounds::Bounds;
use super::refusal::Refusal;
use crate::grading::Value;

/// A column that rows are read from.
#[derive(Debug)]
pub(super) struct Column {
    /// Its place among the file's columns.
    pub index: usize,
    /// Its name, and the names of the fields within; what only makes a list is left out.
    path: Vec<String>,
    definition: i16,
    /// The definition level at which there is an element; none if it is no list.
    list: Option<i16>,
}

/// The columns under fields of these names.
pub(super) fn columns_of(schema: &Type, names: &[&str]) -> Vec<Column> {
    let mut walk = Walk { columns: Vec::new(), next: 0 };
    for field in schema.get_fields() {
        let wanted = names.iter().any(|name| field.name().eq_ignore_ascii_case(name));
        walk.visit(field, &[], Levels { definition: 0, list: None, is_deep: !wanted });
    }
    walk.columns
}

#[derive(Clone, Copy)]
struct Levels {
    definition: i16,
    list: Option<i16>,
    /// Whether columns from here on are left out.
    is_deep: bool,
}

struct Walk {
    columns: Vec<Column>,
    next: usize,
}

impl Walk {
    fn visit(&mut self, node: &Type, above: &[String], mut levels: Levels) {
        match node.get_basic_info().repetition() {
            Repetition::REQUIRED => {}
            Repetition::OPTIONAL => levels.definition += 1,
            Repetition::REPEATED => {
                levels.definition += 1;
                levels.is_deep |= levels.list.is_some();
                levels.list = Some(levels.definition);
            }
        }
        let path = [above, &[node.name().to_owned()]].concat();
        if node.is_primitive() {
            if !levels.is_deep {
                let Levels { definition, list, .. } = levels;
                self.columns.push(Column { index: self.next, path, definition, list });
            }
            self.next += 1;
            return;
        }
        let children = node.get_fields();
        let is_list = |node: &Type| node.get_basic_info().repetition() == Repetition::REPEATED;
        for child in children {
            if children.len() == 1 && is_list(child) {
                self.visit_elements(child, &path, levels);
            } else {
                self.visit(child, &path, levels);
            }
        }
    }

    /// What is repeated within a group that only makes it a list: it has the
    /// group's name, and so has what alone is in it.
    fn visit_elements(&mut self, repeated: &Type, path: &[String], levels: Levels) {
        let before = self.columns.len();
        let above = &path[..path.len() - 1];
        self.visit(repeated, above, levels);
        let is_wrapper = !repeated.is_primitive() && repeated.get_fields().len() == 1;
        let hidden = above.len()..above.len() + 1 + usize::from(is_wrapper);
        for column in &mut self.columns[before..] {
            let end = hidden.end.min(column.path.len());
            column.path.splice(hidden.start..end, path.last().cloned());
        }
    }
}

/// The columns of one row group, row by row.
pub(super) struct RowGroup<'c> {
    columns: Vec<(&'c Column, ColumnReader)>,
}

impl<'c> RowGroup<'c> {
    /// Open the columns of a row group.
    pub fn open(reader: &dyn RowGroupReader, columns: &'c [Column]) -> Result<Self, ParquetError> {
        let open = |column: &'c Column| Ok((column, reader.get_column_reader(column.index)?));
        Ok(RowGroup { columns: columns.iter().map(open).collect::<Result<_, ParquetError>>()? })
    }

    /// The next row, or why it is none; an error if there can be no further rows.
    pub fn next(&mut self, bounds: &Bounds) -> Result<Result<Value, Refusal>, ParquetError> {
        let mut row = Value::Dict(Vec::new());
        let mut meter = Meter { bounds, bytes: 0, commas: 0 };
        let mut refused = None;
        for (column, reader) in &mut self.columns {
            // A row that is refused is still read to its end, in every column.
            match read_cell(reader, column, &mut meter)? {
                Ok(cell) => insert(&mut row, &column.path, cell),
                Err(refusal) => refused = refused.or(Some(refusal)),
            }
        }
        Ok(match refused {
            Some(refusal) => Err(refusal),
            None => Ok(without_nothing(row)),
        })
    }
}

/// Put a cell where its path leads.
fn insert(row: &mut Value, path: &[String], cell: Value) {
    let (Value::Dict(fields), Some((name, rest))) = (row, path.split_first()) else { return };
    if rest.is_empty() {
        fields.push((Value::Str(name.clone()), cell));
        return;
    }
    let place = fields.iter().position(|(key, _)| matches!(key, Value::Str(key) if key == name));
    let place = place.unwrap_or_else(|| {
        fields.push((Value::Str(name.clone()), Value::Dict(Vec::new())));
        fields.len() - 1
    });
    insert(&mut fields[place].1, rest, cell);
}

/// With structures of which nothing is there made null, as they were.
fn without_nothing(row: Value) -> Value {
    let Value::Dict(fields) = row else { return row };
    let field = |(key, value): (Value, Value)| {
        let is_empty = matches!(&value, Value::Dict(parts)
            if parts.iter().all(|(_, part)| matches!(part, Value::Null)));
        (key, if is_empty { Value::Null } else { value })
    };
    Value::Dict(fields.into_iter().map(field).collect())
}

/// Counts what a row takes.
struct Meter<'b> {
    bounds: &'b Bounds,
    bytes: usize,
    commas: usize,
}

impl Meter<'_> {
    fn text(&mut self, bytes: &[u8]) -> Result<Value, Refusal> {
        self.bytes += bytes.len();
        if self.bytes > self.bounds.bytes {
            return Err(self.bounds.too_long());
        }
        self.commas += bytes.iter().filter(|&&byte| byte == b',').count();
        if self.commas > self.bounds.commas {
            return Err(self.bounds.too_many(self.commas));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::Str(text.to_owned())),
            Err(error) => Err(Refusal::new("not UTF-8", error.to_string())),
        }
    }
}

type Cell = Result<Value, Refusal>;

fn read_cell(
    reader: &mut ColumnReader,
    column: &Column,
    meter: &mut Meter<'_>,
) -> Result<Cell, ParquetError> {
    let int = |digits: String| Ok(Value::Int(digits));
    match reader {
        ColumnReader::BoolColumnReader(typed) => cell(typed, column, |flag| Ok(Value::Bool(*flag))),
        ColumnReader::Int32ColumnReader(typed) => cell(typed, column, |n| int(n.to_string())),
        ColumnReader::Int64ColumnReader(typed) => cell(typed, column, |n| int(n.to_string())),
        ColumnReader::Int96ColumnReader(typed) => cell(typed, column, |_| Ok(Value::Null)),
        ColumnReader::FloatColumnReader(typed) => {
            cell(typed, column, |number| Ok(Value::Float(f64::from(*number))))
        }
        ColumnReader::DoubleColumnReader(typed) => {
            cell(typed, column, |number| Ok(Value::Float(*number)))
        }
        ColumnReader::ByteArrayColumnReader(typed) => {
            cell(typed, column, |bytes: &ByteArray| meter.text(bytes.data()))
        }
        ColumnReader::FixedLenByteArrayColumnReader(typed) => {
            cell(typed, column, |bytes| meter.text(bytes.data()))
        }
    }
}

/// What a column holds of the next row.
fn cell<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    column: &Column,
    mut value_of: impl FnMut(&T::T) -> Cell,
) -> Result<Cell, ParquetError> {
    let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let (rows, _, levels) =
        reader.read_records(1, Some(&mut definitions), Some(&mut repetitions), &mut values)?;
    if rows == 0 {
        return Err(ParquetError::EOF("a column ends before its rows do".to_owned()));
    }
    if column.definition == 0 {
        definitions = vec![0; levels];
    }
    let mut values = values.iter();
    let mut items = Vec::new();
    for definition in definitions {
        if column.list.is_some_and(|element| definition < element) {
            // There is no element: the list is empty or null.
            continue;
        }
        let item = match definition == column.definition {
            true => values.next().map_or(Ok(Value::Null), &mut value_of),
            false => Ok(Value::Null),
        };
        match item {
            Ok(item) => items.push(item),
            Err(refusal) => return Ok(Err(refusal)),
        }
    }
    Ok(Ok(match column.list {
        Some(_) => Value::List(items),
        None => items.pop().unwrap_or(Value::Null),
    }))
}

#[cfg(test)]
mod tests {
    use parquet::schema::parser::parse_message_type;

    use super::*;

    #[test]
    fn what_only_makes_a_list_is_not_part_of_a_columns_path() {
        let schema = parse_message_type(
            "message m {
                required int64 id;
                optional group tests { optional group input (LIST) { repeated group list { optional binary element (UTF8); } } }
                optional group old (LIST) { repeated binary array (UTF8); }
                repeated binary plain (UTF8);
                optional group pairs (LIST) { repeated group list { optional group element { optional binary input (UTF8); optional int32 n; } } }
                optional group deep (LIST) { repeated group list { optional group element (LIST) { repeated group list { optional int32 element; } } } }
                optional binary other;
            }",
        )
        .unwrap();
        let names = ["ID", "tests", "old", "plain", "pairs", "deep"];
        let seen: Vec<String> = columns_of(&schema, &names)
            .iter()
            .map(|column| {
                format!(
                    "{} {} {} {:?}",
                    column.index,
                    column.path.join("."),
                    column.definition,
                    column.list
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                "0 id 0 None",
                "1 tests.input 4 Some(3)",
                "2 old 2 Some(2)",
                "3 plain 1 Some(1)",
                "4 pairs.input 4 Some(2)",
                "5 pairs.n 4 Some(2)",
            ]
        );
    }
}
