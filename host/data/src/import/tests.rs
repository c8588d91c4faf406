//! Imports of files that were written here.

use std::io::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use proptest::prelude::*;

use super::*;

/// Import files of these names and contents; the report and the records.
fn imported(
    set: DataSet,
    files: &[(&str, &[u8])],
    bounds: Bounds,
) -> (Result<Report, ImportError>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (name, content) in files {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        paths.push(path);
    }
    let out = folder.path().join("out/records.jsonl");
    let split = SplitChoice::Published;
    let order = Order { set, paths, out: out.clone(), split, bounds };
    let report = import(&order, &mut |_, _| {});
    let text = std::fs::read_to_string(&out).unwrap_or_default();
    let left = storage::list_folder(&folder.path().join("out")).unwrap();
    assert!(left.iter().all(|name| name.starts_with("records.jsonl")), "{left:?}");
    (report, text.lines().map(str::to_owned).collect())
}

fn reasons(report: &Report) -> Vec<(&str, usize)> {
    report.dropped.iter().map(|dropped| (dropped.reason.as_str(), dropped.count)).collect()
}

fn live_code_bench(id: &str, pickle: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(pickle).unwrap();
    let packed = STANDARD.encode(encoder.finish().unwrap());
    format!(
        r#"{{"question_id": "{id}", "question_content": "Q {id}", "public_test_cases": "[]", "private_test_cases": "{packed}", "metadata": "{{}}"}}"#
    ) + "\n"
}

#[test]
fn a_bomb_and_a_command_are_dropped_and_the_rest_goes_on() {
    let tests = r#"[{"input": "1", "output": "2", "testtype": "stdin"}]"#;
    let good = format!("V{tests}\n.");
    let mut bomb = b"X\0\0\xff\0".to_vec();
    bomb.resize(8 << 20, b'0');
    let rows = [
        live_code_bench("bomb", &bomb),
        live_code_bench("command", b"cposix\nsystem\n(Vtouch x\ntR."),
        live_code_bench("good", good.as_bytes()),
    ];
    let file = rows.concat();
    let (report, records) =
        imported(DataSet::LiveCodeBench, &[("test.jsonl", file.as_bytes())], Bounds::of_mib(1));
    let report = report.unwrap();
    let expected = [("the packed tests inflate to too much", 1), ("the pickle is refused", 1)];
    assert_eq!(reasons(&report), expected);
    assert_eq!(records.len(), 1);
    assert!(records[0].starts_with(r#"{"id":"good""#), "{}", records[0]);
}

#[test]
fn compressed_text_is_read_up_to_where_it_breaks_off() {
    let row = |number: usize| {
        // Digits that do not compress, so that a part of the file is a part of its rows.
        let noise = blake3::hash(&number.to_le_bytes()).to_hex();
        format!("{{\"question\": \"{noise}\", \"answer\": \"#### {number}\"}}\n")
    };
    let text: String = (0..6000).map(row).collect();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    let gzip = encoder.finish().unwrap();
    let zstd = zstd::encode_all(text.as_bytes(), 3).unwrap();
    for file in [&gzip, &zstd] {
        let whole = imported(DataSet::Gsm8k, &[("train.gz", file)], Bounds::default());
        assert_eq!(whole.1.len(), 6000);
        let half = &file[..file.len() / 2];
        let (report, records) = imported(DataSet::Gsm8k, &[("train.gz", half)], Bounds::default());
        let report = report.unwrap();
        assert_eq!(reasons(&report), [("the rest of the file cannot be read", 1)]);
        assert!(records.len() < 6000, "{}", records.len());
    }
}

#[test]
fn a_split_that_numbers_from_0_again_gets_its_name_before_its_ids() {
    let row = |question: &str| {
        format!(
            r#"{{"problem_id": 0, "question": "{question}", "input_output": {{"inputs": ["1"], "outputs": ["1"]}}}}"#
        )
    };
    let (one, two) = (row("one"), row("two"));
    let files = [
        ("train.jsonl", one.as_bytes()),
        ("test.jsonl", two.as_bytes()),
        ("train2.jsonl", two.as_bytes()),
    ];
    let (report, records) = imported(DataSet::Apps, &files, Bounds::default());
    let report = report.unwrap();
    assert_eq!(reasons(&report), [("duplicate id of another problem", 1)]);
    let begins: Vec<&str> = records.iter().map(|record| &record[..15]).collect();
    assert_eq!(begins, [r#"{"id":"0","data"#, r#"{"id":"test/0","#]);
    assert_eq!(report.noted[0].reason, RENAMED);
}

#[test]
fn records_replace_no_file_that_they_are_read_from() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.jsonl");
    std::fs::write(&path, "{\"question\": \"q\", \"answer\": \"#### 1\"}").unwrap();
    let order = Order {
        set: DataSet::Gsm8k,
        paths: vec![folder.path().to_owned()],
        out: path.clone(),
        split: SplitChoice::Published,
        bounds: Bounds::default(),
    };
    let error = import(&order, &mut |_, _| {}).unwrap_err();
    assert!(matches!(error, ImportError::OutIsSource { .. }), "{error}");
    assert!(std::fs::read_to_string(&path).unwrap().contains("####"));
}

#[test]
fn records_are_not_written_where_the_next_import_would_read_them() {
    let folder = tempfile::tempdir().unwrap();
    let row = "{\"question\": \"q\", \"answer\": \"#### 1\"}";
    std::fs::write(folder.path().join("train.jsonl"), row).unwrap();
    let into = |name: &str| {
        let order = Order {
            set: DataSet::Gsm8k,
            paths: vec![folder.path().to_owned()],
            out: folder.path().join(name),
            split: SplitChoice::Published,
            bounds: Bounds::default(),
        };
        import(&order, &mut |_, _| {})
    };
    for name in ["records.jsonl", "new/folder/records.json"] {
        let error = into(name).unwrap_err();
        assert!(matches!(error, ImportError::OutIsSource { .. }), "{error}");
        assert_eq!(storage::list_folder(folder.path()).unwrap(), ["train.jsonl"]);
    }
    // Under a name that is not read there they may be; the report beside them is not read, either.
    for _ in 0..2 {
        let report = into("records").unwrap();
        assert_eq!((report.sources[0].files, report.records), (1, 1));
    }
}

#[test]
fn a_records_numbers_are_json_or_it_is_dropped() {
    let text = r#"{"problem_id": 0, "question": "q", "input_output": "{\"fn_name\": \"f\", \"inputs\": [[1]], \"outputs\": [NaN]}"}"#;
    let (report, _) =
        imported(DataSet::Apps, &[("test.jsonl", text.as_bytes())], Bounds::default());
    let Err(ImportError::NoRecords { report, .. }) = report else { panic!("{report:?}") };
    assert_eq!(reasons(&report), [("it holds what JSON has no notation for, such as NaN", 1)]);
    let deep = format!("{}{}", "[".repeat(398), "]".repeat(398));
    let text = format!(
        r#"{{"problem_id": 0, "question": "q", "input_output": "{{\"fn_name\": \"f\", \"inputs\": [[{deep}]], \"outputs\": [1]}}"}}"#
    );
    let (report, _) =
        imported(DataSet::Apps, &[("test.jsonl", text.as_bytes())], Bounds::default());
    let Err(ImportError::NoRecords { report, .. }) = report else { panic!("{report:?}") };
    assert_eq!(reasons(&report), [("`host grade` would not read it", 1)]);
}

proptest! {
    #[test]
    fn no_file_makes_an_import_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        magic in prop::sample::select(vec!["", "PAR1", "\u{1f}", "PK\u{3}\u{4}", "[{\"a\":", "; 0\n"]),
        set in prop::sample::select(DataSet::ALL.to_vec()),
    ) {
        let file = [magic.as_bytes(), &bytes].concat();
        _ = imported(set, &[("x.txt", &file)], Bounds::of_mib(1));
    }

    #[test]
    fn no_row_makes_an_import_panic(
        fields in prop::collection::vec((0_usize..14, 0_usize..9), 0..8),
        set in prop::sample::select(DataSet::ALL.to_vec()),
    ) {
        const VALUES: [&str; 9] =
            ["null", "1", "-1.5", "NaN", "\"\"", "\"#### 3 \\\\boxed{4}\"", "[\"x\", 1]", "{\"input\": [\"a\"], \"output\": 3}", "\"{\\\"inputs\\\": [[1]], \\\"outputs\\\": [2], \\\"fn_name\\\": \\\"f\\\"}\""];
        let names = layout::columns(set);
        let field = |(name, value): &(usize, usize)| format!("{:?}: {}", names[name % names.len()], VALUES[*value]);
        let row = format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "));
        let (report, records) = imported(set, &[("train.jsonl", row.as_bytes())], Bounds::of_mib(1));
        let told = report.unwrap_or_else(|error| match error {
            ImportError::NoRecords { report, .. } => *report,
            other => panic!("{other}"),
        });
        prop_assert_eq!(told.rows, told.records + told.dropped_rows());
        prop_assert_eq!(told.records, records.len());
    }
}

/// A Parquet file of one row: two texts, and columns of other types.
fn parquet_of(more: &[(&str, &[u8])]) -> Vec<u8> {
    use std::sync::Arc;

    use parquet::data_type::{ByteArray, ByteArrayType};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    let declared: String = more.iter().map(|(column, _)| format!("{column}; ")).collect();
    let columns = format!(
        "message m {{ required binary id (UTF8); required binary problem (UTF8); {declared}}}"
    );
    let schema = Arc::new(parse_message_type(&columns).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let values = more.iter().map(|(_, value)| *value);
    for value in [b"a".as_slice(), b"How many?"].into_iter().chain(values) {
        let mut column = group.next_column().unwrap().unwrap();
        let value = ByteArray::from(value.to_vec());
        column.typed::<ByteArrayType>().write_batch(&[value], None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn a_column_that_is_no_text_is_named_where_it_is_needed() {
    for (third, value, said) in [
        ("required binary answer (BSON)", b"\x05\0\0\0\0".as_slice(), "it is Parquet's BSON"),
        ("required binary answer", b"\xff", "it is bytes that are not UTF-8"),
        ("required binary answer (DECIMAL(9,1))", &[1; 99], "it is a decimal that is too long"),
    ] {
        let file = parquet_of(&[(third, value)]);
        let (report, _) = imported(DataSet::Amc, &[("a.parquet", &file)], Bounds::default());
        let Err(ImportError::NoRecords { reason, .. }) = report else { panic!("{third}") };
        assert!(reason.contains("`answer` is of another type"), "{reason}");
        assert!(reason.contains(said), "{reason}");
    }
}

#[test]
fn a_column_that_is_only_copied_costs_no_row() {
    for (third, value, copied) in [
        ("required binary solution (BSON)", b"\x05\0\0\0\0".as_slice(), None),
        ("required binary solution", b"\xff", None),
        ("required binary solution (DECIMAL(9,1))", b"\x0f", Some("1.5")),
        ("required binary url (UTF8)", b"u", Some("\"u\"")),
    ] {
        let name = third.split(' ').nth(2).unwrap();
        let file = parquet_of(&[(third, value)]);
        let mathematics = parquet_of(&[("required binary answer (DECIMAL(9,1))", b"\x0f")]);
        let files = [("a.parquet", file.as_slice()), ("b.parquet", &mathematics)];
        let (report, _) = imported(DataSet::Amc, &files, Bounds::default());
        // The first file lacks an answer; that, and nothing else, is what it is dropped for.
        assert_eq!(reasons(&report.unwrap()), [("no `answer`", 1)], "{third}");
        let row = Row::new(
            Place { path: "a".into(), unit: "row", number: 1 },
            Value::parse(&format!(
                "{{\"problem\": \"p\", \"answer\": 1, \"{name}\": {}}}",
                copied.unwrap_or("null")
            ))
            .unwrap(),
        );
        let entry = layout::read(DataSet::Amc, row.unwrap(), &Bounds::default()).unwrap();
        let seen = entry.fields.iter().find(|(field, _)| *field == name);
        assert_eq!(seen.map(|(_, json)| json.as_str()), copied, "{third}");
    }
}

#[test]
fn the_split_and_the_licence_that_columns_say_are_those_of_the_row() {
    let file = parquet_of(&[
        ("required binary answer", b"7"),
        ("required binary split", b"test"),
        ("required binary license", b"MIT"),
    ]);
    let files = [("train.parquet", file.as_slice())];
    let (report, records) = imported(DataSet::Polaris, &files, Bounds::default());
    assert_eq!(report.unwrap().splits["test"], 1);
    assert!(records[0].contains(r#""split":"test""#), "{}", records[0]);
    assert!(records[0].contains(r#""licence":"MIT""#), "{}", records[0]);
}
