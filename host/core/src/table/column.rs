//! One column of a table: its values, and, where a row may have none or
//! several, which row each belongs to (the levels of the Dremel paper, which
//! Parquet stores).

use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;

/// The values of a column by their physical type.
pub enum Values {
    Bool(Vec<bool>),
    Int(Vec<i32>),
    Long(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Text(Vec<ByteArray>),
}

/// A column, ready to be written.
pub struct Column {
    values: Values,
    /// 1 where there is a value, 0 where a row has none; nothing if every row has one.
    definition: Option<Vec<i16>>,
    /// 0 where a row begins, 1 where its list goes on; nothing if there are no lists.
    repetition: Option<Vec<i16>>,
}

impl Column {
    /// Every row has one value.
    pub fn of(values: Values) -> Self {
        Column { values, definition: None, repetition: None }
    }

    /// A row has a value or none.
    pub fn optional<T>(rows: Vec<Option<T>>, wrap: fn(Vec<T>) -> Values) -> Self {
        let definition = rows.iter().map(|row| i16::from(row.is_some())).collect();
        let values = wrap(rows.into_iter().flatten().collect());
        Column { values, definition: Some(definition), repetition: None }
    }

    /// A row has any number of values.
    pub fn list<T>(rows: impl Iterator<Item = Vec<T>>, wrap: fn(Vec<T>) -> Values) -> Self {
        let (mut values, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            repetition.push(0);
            repetition.extend((1..row.len()).map(|_| 1));
            definition.extend((0..row.len().max(1)).map(|_| i16::from(!row.is_empty())));
            values.extend(row);
        }
        let (definition, repetition) = (Some(definition), Some(repetition));
        Column { values: wrap(values), definition, repetition }
    }

    /// Writes the column's values and levels to a row group.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, target: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match &self.values {
            Values::Bool(values) => self.write_as::<BoolType>(values, target),
            Values::Int(values) => self.write_as::<Int32Type>(values, target),
            Values::Long(values) => self.write_as::<Int64Type>(values, target),
            Values::Float(values) => self.write_as::<FloatType>(values, target),
            Values::Double(values) => self.write_as::<DoubleType>(values, target),
            Values::Text(values) => self.write_as::<ByteArrayType>(values, target),
        }
    }

    fn write_as<T: DataType>(
        &self,
        values: &[T::T],
        target: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        let (definition, repetition) = (self.definition.as_deref(), self.repetition.as_deref());
        target.typed::<T>().write_batch(values, definition, repetition)?;
        Ok(())
    }
}
