//! What a file of records holds, in numbers.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::record_file::{RecordFile, RecordFileError, StoredRecord};
use troupe_grading::Value;

/// The longest record that a run reads.
const RUN_BYTES: usize = 16 << 20;

/// Fields whose values are counted.
const COUNTED: [&str; 7] =
    ["split", "data_set", "licence", "level", "difficulty", "subject", "answer_type"];

/// Values of a field that are told apart; further ones are counted together.
const MOST_VALUES: usize = 40;

/// What a file of records holds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Statistics {
    /// Records.
    pub records: usize,
    /// Bytes of the longest.
    pub longest_bytes: usize,
    /// Records too long for a run's `tasks.files`.
    pub too_long_for_runs: usize,
    /// How often each field has each value.
    pub counts: BTreeMap<&'static str, BTreeMap<String, usize>>,
    /// Characters of the problems: least, median, most.
    pub problem_chars: Option<[usize; 3]>,
    /// Tests of the problems: least, median, most.
    pub tests: Option<[usize; 3]>,
    /// Records with a solution.
    pub with_solution: usize,
    /// Records whose id another one has.
    pub duplicate_ids: usize,
    /// Problems that are in two splits, by their ids.
    pub across_splits: Vec<[String; 2]>,
}

impl Statistics {
    /// The statistics of a whole file.
    ///
    /// # Errors
    /// If it cannot be read, or a line of it is no record.
    pub fn of(mut file: RecordFile) -> Result<Self, RecordFileError> {
        let mut statistics = Statistics::default();
        let mut seen = SeenValues::default();
        while let Some(record) = file.next_record()? {
            statistics.add(&record, &mut seen);
        }
        statistics.problem_chars = spread(seen.chars);
        statistics.tests = spread(seen.tests);
        Ok(statistics)
    }

    fn add(&mut self, record: &StoredRecord, seen: &mut SeenValues) {
        self.records += 1;
        self.longest_bytes = self.longest_bytes.max(record.text.len());
        self.too_long_for_runs += usize::from(record.text.len() > RUN_BYTES);
        self.with_solution += usize::from(record.fields.get("solution").is_some());
        for name in COUNTED {
            if let Some(value) = record.fields.get(name) {
                self.count(name, word(value));
            }
        }
        for name in ["tests", "test_list"] {
            if let Some(Value::List(tests)) = record.fields.get(name) {
                seen.tests.push(tests.len());
            }
        }
        let id = record.fields.get("id").map(whole).unwrap_or_default();
        self.duplicate_ids += usize::from(seen.ids.insert(hash(&id), ()).is_some());
        if let Some(problem) = record.text("problem") {
            seen.chars.push(problem.chars().count());
        }
        if let Some(problem) = record.text("problem").or_else(|| record.text("level")) {
            let split = record.text("split").unwrap_or_default().to_owned();
            let (other_split, other) =
                seen.problems.entry(hash(problem)).or_insert_with(|| (split.clone(), id.clone()));
            if *other_split != split {
                self.across_splits.push([other.clone(), id]);
            }
        }
    }

    fn count(&mut self, name: &'static str, value: String) {
        let values = self.counts.entry(name).or_default();
        let is_new = !values.contains_key(&value);
        let value =
            if is_new && values.len() >= MOST_VALUES { "(others)".to_owned() } else { value };
        *values.entry(value).or_default() += 1;
    }
}

/// What is remembered of records that were seen.
#[derive(Default)]
struct SeenValues {
    ids: HashMap<[u8; 32], ()>,
    problems: HashMap<[u8; 32], (String, String)>,
    chars: Vec<usize>,
    tests: Vec<usize>,
}

fn hash(text: &str) -> [u8; 32] {
    *blake3::hash(text.as_bytes()).as_bytes()
}

/// What is shown of a value.
fn word(value: &Value) -> String {
    whole(value).chars().take(60).collect()
}

fn whole(value: &Value) -> String {
    match value {
        Value::Str(text) => text.clone(),
        other => other.to_string(),
    }
}

fn spread(mut numbers: Vec<usize>) -> Option<[usize; 3]> {
    numbers.sort_unstable();
    Some([*numbers.first()?, numbers[numbers.len() / 2], *numbers.last()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_counted_and_what_is_in_two_splits_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        let lines = [
            r#"{"id": "a", "split": "train", "problem": "one", "level": 1, "tests": [1, 2]}"#,
            r#"{"id": "b", "split": "test", "problem": "one", "level": 5, "solution": "s"}"#,
            r#"{"id": "b", "split": "test", "problem": "three", "tests": []}"#,
        ];
        std::fs::write(&path, lines.join("\n")).unwrap();
        let statistics = Statistics::of(RecordFile::open(&path).unwrap()).unwrap();
        assert_eq!((statistics.records, statistics.duplicate_ids), (3, 1));
        assert_eq!(statistics.across_splits, [["a".to_owned(), "b".to_owned()]]);
        assert_eq!(statistics.counts["split"]["test"], 2);
        assert_eq!(statistics.counts["level"]["5"], 1);
        assert_eq!(statistics.problem_chars, Some([3, 3, 5]));
        assert_eq!(statistics.tests, Some([0, 2, 2]));
        assert_eq!(statistics.with_solution, 1);
    }

    #[test]
    fn ids_that_differ_far_behind_are_two() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        let line = |end: &str| format!(r#"{{"id": "{}{end}"}}"#, "x".repeat(400));
        std::fs::write(&path, [line("1"), line("2"), line("1")].join("\n")).unwrap();
        let statistics = Statistics::of(RecordFile::open(&path).unwrap()).unwrap();
        assert_eq!((statistics.records, statistics.duplicate_ids), (3, 1));
    }
}
