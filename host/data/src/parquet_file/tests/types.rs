//! One row a type: how its column is declared, what lies in the file, and what it comes to.

use parquet::basic::Repetition;
use parquet::data_type::{
    BoolType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType, Int32Type,
    Int96, Int96Type,
};
use parquet::file::writer::SerializedColumnWriter;

use super::*;

/// Values as they lie in a file.
enum Stored {
    Flag(bool),
    Int(i32),
    Long(i64),
    Int96([u32; 3]),
    Float(f32),
    Double(f64),
    Bytes(&'static [u8]),
    Fixed(&'static [u8]),
}

use Stored::{Bytes, Double, Fixed, Flag, Float, Int, Long};

/// The type of the column `v`, one value of it, and that value in a row; what stands in
/// `<` and `>` is neither a number nor a text.
const TYPES: &[(&str, Stored, &str)] = &[
    ("boolean v", Flag(true), "true"),
    ("int32 v", Int(-7), "-7"),
    ("int64 v", Long(i64::MIN), "-9223372036854775808"),
    ("float v", Float(0.5), "0.5"),
    ("double v", Double(0.1), "0.1"),
    ("binary v", Bytes(b"text"), r#""text""#),
    ("binary v", Bytes(b"\xff\x00"), "<bytes that are not UTF-8>"),
    ("binary v (UTF8)", Bytes("π".as_bytes()), r#""π""#),
    ("binary v (STRING)", Bytes(b"a"), r#""a""#),
    ("binary v (ENUM)", Bytes(b"HARD"), r#""HARD""#),
    ("binary v (JSON)", Bytes(b"[1]"), r#""[1]""#),
    ("binary v (BSON)", Bytes(b"\x05\0\0\0\0"), "<Parquet's BSON>"),
    ("fixed_len_byte_array(2) v", Fixed(b"ab"), r#""ab""#),
    ("int32 v (INTEGER(8,true))", Int(-128), "-128"),
    ("int32 v (INTEGER(16,true))", Int(-300), "-300"),
    ("int32 v (INTEGER(8,false))", Int(200), "200"),
    ("int32 v (INTEGER(16,false))", Int(65_535), "65535"),
    ("int32 v (INTEGER(32,false))", Int(-1), "4294967295"),
    ("int64 v (INTEGER(64,false))", Long(-1), "18446744073709551615"),
    ("int32 v (UINT_32)", Int(-2), "4294967294"),
    ("int64 v (UINT_64)", Long(-2), "18446744073709551614"),
    ("int32 v (DECIMAL(9,2))", Int(2_750), "27.5"),
    ("int32 v (DECIMAL(9,2))", Int(2_700), "27"),
    ("int32 v (DECIMAL(9,2))", Int(-5), "-0.05"),
    ("int32 v (DECIMAL(9,0))", Int(12), "12"),
    ("int64 v (DECIMAL(18,4))", Long(-719_400), "-71.94"),
    ("int64 v (DECIMAL(18,17))", Long(123_456_789_012_345_678), r#""1.23456789012345678""#),
    ("fixed_len_byte_array(3) v (DECIMAL(6,2))", Fixed(b"\x00\x00\x4b"), "0.75"),
    ("fixed_len_byte_array(3) v (DECIMAL(6,2))", Fixed(b"\xff\xff\xff"), "-0.01"),
    ("binary v (DECIMAL(20,1))", Bytes(b"\x01\x0f"), "27.1"),
    (
        "binary v (DECIMAL(40,0))",
        Bytes(b"\x01\0\0\0\0\0\0\0\0\0\0\0\0"),
        "79228162514264337593543950336",
    ),
    ("binary v (DECIMAL(20,1))", Bytes(&[1; 65]), "<a decimal that is too long>"),
    ("int32 v (DATE)", Int(19_723), r#""2024-01-01""#),
    ("int32 v (DATE)", Int(-1), r#""1969-12-31""#),
    ("int32 v (DATE)", Int(i32::MAX), "<a moment beyond the calendar>"),
    ("int32 v (TIME(MILLIS,true))", Int(45_296_789), r#""12:34:56.789""#),
    ("int32 v (TIME_MILLIS)", Int(1_000), r#""00:00:01""#),
    ("int64 v (TIME(MICROS,false))", Long(45_296_000_001), r#""12:34:56.000001""#),
    ("int64 v (TIME(NANOS,false))", Long(1), r#""00:00:00.000000001""#),
    ("int64 v (TIME(NANOS,false))", Long(-1), "<a moment beyond the calendar>"),
    ("int64 v (TIMESTAMP(MILLIS,true))", Long(1_704_067_200_500), r#""2024-01-01T00:00:00.500Z""#),
    ("int64 v (TIMESTAMP(MILLIS,false))", Long(-1), r#""1969-12-31T23:59:59.999""#),
    (
        "int64 v (TIMESTAMP(MICROS,true))",
        Long(1_704_067_200_000_001),
        r#""2024-01-01T00:00:00.000001Z""#,
    ),
    ("int64 v (TIMESTAMP(MICROS,false))", Long(0), r#""1970-01-01T00:00:00""#),
    (
        "int64 v (TIMESTAMP(NANOS,true))",
        Long(1_704_067_200_000_000_001),
        r#""2024-01-01T00:00:00.000000001Z""#,
    ),
    ("int64 v (TIMESTAMP(NANOS,false))", Long(0), r#""1970-01-01T00:00:00""#),
    ("int64 v (TIMESTAMP_MICROS)", Long(0), r#""1970-01-01T00:00:00Z""#),
    ("int64 v (TIMESTAMP(MILLIS,true))", Long(i64::MAX), "<a moment beyond the calendar>"),
    ("int96 v", Stored::Int96([1_000, 0, 2_440_589]), r#""1970-01-02T00:00:00.000001""#),
    (
        "fixed_len_byte_array(16) v (UUID)",
        Fixed(b"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"),
        r#""00112233-4455-6677-8899-aabbccddeeff""#,
    ),
    ("fixed_len_byte_array(2) v (FLOAT16)", Fixed(b"\x00\x3e"), "1.5"),
    (
        "fixed_len_byte_array(12) v (INTERVAL)",
        Fixed(b"\x0e\0\0\0\x03\0\0\0\xa5\x0f\0\0"),
        r#""P14M3DT4.005S""#,
    ),
];

fn write(
    column: &mut SerializedColumnWriter<'_>,
    stored: &Stored,
    (rows, levels): (usize, &[i16]),
) {
    fn all<T: DataType>(
        column: &mut SerializedColumnWriter<'_>,
        value: T::T,
        (rows, levels): (usize, &[i16]),
    ) {
        let definitions = (!levels.is_empty()).then_some(levels);
        let typed = column.typed::<T>();
        typed.write_batch(&vec![value; rows], definitions, None).unwrap();
    }
    let much = (rows, levels);
    match stored {
        Flag(flag) => all::<BoolType>(column, *flag, much),
        Int(number) => all::<Int32Type>(column, *number, much),
        Long(number) => all::<Int64Type>(column, *number, much),
        Stored::Int96(parts) => all::<Int96Type>(column, Int96::from(parts.to_vec()), much),
        Float(number) => all::<FloatType>(column, *number, much),
        Double(number) => all::<DoubleType>(column, *number, much),
        Bytes(bytes) => all::<ByteArrayType>(column, ByteArray::from(bytes.to_vec()), much),
        Fixed(bytes) => {
            let value = FixedLenByteArray::from(ByteArray::from(bytes.to_vec()));
            all::<FixedLenByteArrayType>(column, value, much);
        }
    }
}

/// A file of one column: its value twice, and, where it may be missing, a null between them.
fn file_of(declared: &str, occurs: Repetition, stored: &Stored, dictionary: bool) -> Vec<u8> {
    let schema = format!("message m {{ {} {declared}; }}", occurs.to_string().to_lowercase());
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let properties = WriterProperties::builder().set_dictionary_enabled(dictionary).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let levels: &[i16] = if occurs == Repetition::OPTIONAL { &[1, 0, 1] } else { &[] };
    write(&mut column, stored, (2, levels));
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn a_column_of_each_type_is_the_number_or_text_that_it_is() {
    for (declared, stored, expected) in TYPES {
        for dictionary in [true, false] {
            let row = |value: &str| format!("{{\"v\": {value}}}");
            let file = file_of(declared, Repetition::REQUIRED, stored, dictionary);
            let seen = rows_of(&file, &["v"]);
            assert_eq!(seen, [row(expected), row(expected)], "{declared}");
            let file = file_of(declared, Repetition::OPTIONAL, stored, dictionary);
            let seen = rows_of(&file, &["v"]);
            assert_eq!(seen, [row(expected), row("null"), row(expected)], "{declared}");
        }
    }
}

/// A column that lies in others: how it is declared, its whole numbers with their levels, and
/// the rows that they are.
struct Nested {
    declared: &'static str,
    columns: &'static [(&'static [i32], &'static [i16], &'static [i16])],
    rows: &'static [&'static str],
}

const NESTED: &[Nested] = &[
    Nested {
        declared: "optional group v (LIST) { repeated group list { optional int32 element (DECIMAL(9,1)); } }",
        columns: &[(&[15, 20], &[3, 2, 3, 1, 0], &[0, 1, 1, 0, 0])],
        rows: &["[1.5, null, 2]", "[]", "null"],
    },
    Nested {
        declared: "repeated int32 v (DATE)",
        columns: &[(&[0, 1], &[1, 1, 0], &[0, 1, 0])],
        rows: &[r#"["1970-01-01", "1970-01-02"]"#, "[]"],
    },
    Nested {
        declared: "optional group v (LIST) { repeated group list { optional group element (LIST) { repeated group list { optional int32 element; } } } }",
        columns: &[(&[1, 2, 3], &[5, 5, 5, 3, 1, 2], &[0, 2, 1, 1, 0, 0])],
        rows: &["[[1, 2], [3], []]", "[]", "[null]"],
    },
    Nested {
        declared: "optional group v { optional int32 a; required int32 b (DECIMAL(4,2)); }",
        columns: &[(&[7], &[2, 1, 0], &[0, 0, 0]), (&[150, 200], &[1, 1, 0], &[0, 0, 0])],
        rows: &[r#"{"a": 7, "b": 1.5}"#, r#"{"a": null, "b": 2}"#, "null"],
    },
    Nested {
        declared: "optional group v (LIST) { repeated group list { optional group element { optional int32 a; optional int32 b; } } }",
        columns: &[(&[1, 2], &[4, 4, 2], &[0, 1, 0]), (&[3], &[4, 3, 2], &[0, 1, 0])],
        rows: &[r#"[{"a": 1, "b": 3}, {"a": 2, "b": null}]"#, "[null]"],
    },
    Nested {
        declared: "optional group v (MAP) { repeated group key_value { required int32 key (DATE); optional int32 value; } }",
        columns: &[(&[0, 1], &[2, 2, 1, 0], &[0, 1, 0, 0]), (&[5], &[3, 2, 1, 0], &[0, 1, 0, 0])],
        rows: &[r#"{"1970-01-01": 5, "1970-01-02": null}"#, "{}", "null"],
    },
];

#[test]
fn lists_maps_and_structures_are_put_together_at_any_depth() {
    for Nested { declared, columns, rows } in NESTED {
        let end = if declared.ends_with('}') { "" } else { ";" };
        let schema = format!("message m {{ {declared}{end} }}");
        let schema = Arc::new(parse_message_type(&schema).unwrap());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        for (values, definitions, repetitions) in *columns {
            let mut column = group.next_column().unwrap().unwrap();
            let typed = column.typed::<Int32Type>();
            typed.write_batch(values, Some(definitions), Some(repetitions)).unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        let expected: Vec<String> = rows.iter().map(|row| format!("{{\"v\": {row}}}")).collect();
        assert_eq!(rows_of(&writer.into_inner().unwrap(), &["v"]), expected, "{declared}");
    }
}
