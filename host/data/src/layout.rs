//! How the rows of each set become records.

mod apps;
mod boxoban;
mod code;
mod code_contests;
mod competition;
mod dapo_math;
mod gsm8k;
mod human_eval;
mod live_code_bench;
mod math;
mod mbpp;
mod olympiad_bench;
mod polaris;

use super::bounds::Bounds;
use super::refusal::Refusal;
use super::row::Row;
use super::set::DataSet;
use plugin_sdk::types::Split;
use troupe_grading::Value;

pub(super) use apps::folder_fields;
pub(super) use boxoban::levels;

/// What a row says, ready to be written.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// The publisher's name of it.
    pub id: Option<String>,
    /// The problem as it is asked: what tells two rows of one problem.
    pub problem: String,
    /// The split, if the set's own rule tells it.
    pub split: Option<Split>,
    /// What should be known about it, if anything.
    pub note: Option<&'static str>,
    /// Its other fields, in their order, as JSON.
    pub fields: Vec<(&'static str, String)>,
}

impl Entry {
    fn new(id: Option<String>, problem: &str) -> Self {
        let mut entry = Entry { id, problem: problem.to_owned(), ..Entry::default() };
        entry.text("problem", Some(problem));
        entry
    }

    /// Add a text, if there is one with something in it.
    fn text(&mut self, name: &'static str, text: Option<&str>) {
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            self.json(name, serde_json::Value::from(text).to_string());
        }
    }

    /// Add a value as it is written in JSON.
    fn json(&mut self, name: &'static str, json: String) {
        self.fields.push((name, json));
    }

    /// Add a field of the row as it is, whatever it is: a field that is only copied costs no row.
    /// What has no notation in JSON is left out.
    fn copy(&mut self, name: &'static str, row: &Row, field: &str) {
        match row.get(field) {
            Some(Value::Str(text)) => self.text(name, Some(text)),
            Some(value) if has_notation(value) => self.json(name, value.to_string()),
            _ => {}
        }
    }
}

/// What a row of any set may say of itself.
const OF_ALL: [&str; 2] = ["split", "license"];

/// The fields that a set's rows are read for; nothing else is taken out of columns.
pub(super) fn columns(set: DataSet) -> Vec<&'static str> {
    let own = match set {
        DataSet::Aime | DataSet::Amc => competition::COLUMNS,
        DataSet::Gsm8k => gsm8k::COLUMNS,
        DataSet::Math | DataSet::Math500 | DataSet::Minerva => math::COLUMNS,
        DataSet::OlympiadBench => olympiad_bench::COLUMNS,
        DataSet::Polaris => polaris::COLUMNS,
        DataSet::DapoMath => dapo_math::COLUMNS,
        DataSet::Apps => apps::COLUMNS,
        DataSet::CodeContests => code_contests::COLUMNS,
        DataSet::LiveCodeBench => live_code_bench::COLUMNS,
        DataSet::HumanEval => human_eval::COLUMNS,
        DataSet::Mbpp => mbpp::COLUMNS,
        DataSet::Boxoban => boxoban::COLUMNS,
    };
    [own, &OF_ALL].concat()
}

/// Read a row of a set.
pub(super) fn read(set: DataSet, row: Row, bounds: &Bounds) -> Result<Entry, Refusal> {
    match set {
        DataSet::Aime => competition::read(&row, competition::Answers::UpTo999),
        DataSet::Amc => competition::read(&row, competition::Answers::Any),
        DataSet::Gsm8k => gsm8k::read(&row),
        DataSet::Math | DataSet::Math500 | DataSet::Minerva => math::read(&row),
        DataSet::OlympiadBench => olympiad_bench::read(&row),
        DataSet::Polaris => polaris::read(&row),
        DataSet::DapoMath => dapo_math::read(&row),
        DataSet::Apps => apps::read(row),
        DataSet::CodeContests => code_contests::read(row),
        DataSet::LiveCodeBench => live_code_bench::read(row, bounds),
        DataSet::HumanEval => human_eval::read(&row),
        DataSet::Mbpp => mbpp::read(&row),
        DataSet::Boxoban => boxoban::read(&row),
    }
}

/// Whether JSON can say it.
fn has_notation(value: &Value) -> bool {
    match value {
        Value::Other(_) => false,
        Value::Float(number) => number.is_finite(),
        Value::List(items) | Value::Tuple(items) => items.iter().all(has_notation),
        Value::Dict(pairs) => {
            pairs.iter().all(|(name, part)| matches!(name, Value::Str(_)) && has_notation(part))
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Str(_) => true,
    }
}

/// An answer as text: a whole number without point and zeros after it.
fn answer_text(name: &str, value: &Value) -> Result<String, Refusal> {
    let text = match value {
        Value::Str(text) => text.trim().to_owned(),
        Value::Int(digits) => digits.clone(),
        Value::Float(value) if value.is_finite() && value.fract() == 0.0 && value.abs() < 1e15 => {
            format!("{value:.0}")
        }
        Value::Float(value) if value.is_finite() => value.to_string(),
        Value::Float(value) => {
            return Err(Refusal::new(format!("`{name}` is no number"), value.to_string()));
        }
        other => return Err(super::row::unlike(name, "a text or a number", other)),
    };
    match text.as_str() {
        "" => Err(Refusal::plain(format!("`{name}` is empty"))),
        _ => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{ASKED, Place};

    /// What every set finds a row of its own in.
    const WHOLE: &str = r##"{
        "id": "1", "idx": 1, "unique_id": "u", "problem_id": 1, "task_id": 11, "question_id": "q",
        "name": "n", "problem": "p", "question": "q", "description": "d", "text": "t",
        "prompt": "p", "question_title": "t", "question_content": "c", "context": "c",
        "answer": "7", "final_answer": ["7"], "reward_model": {"ground_truth": "7"},
        "extra_info": {"index": "1"}, "solution": "\\boxed{7}", "solutions": "[]", "code": "c",
        "canonical_solution": "c", "input_output": {"inputs": ["1"], "outputs": ["1"]},
        "public_test_cases": "[]", "private_test_cases": "[]", "metadata": "{}",
        "test_list": ["assert 1"], "test": "t", "entry_point": "f", "level": "#@$.#",
        "type": "Algebra", "subject": "Algebra", "difficulty": "1", "modality": "Text-only",
        "question_type": "OE", "is_multiple_answer": false
    }"##;

    #[test]
    fn whatever_a_set_reads_of_a_row_it_also_takes_out_of_columns() {
        let Ok(Value::Dict(whole)) = Value::parse(WHOLE) else { panic!("it is an object") };
        for set in DataSet::ALL {
            _ = ASKED.take();
            // Where a field is missing, another one is asked for.
            for missing in 0..=whole.len() {
                let mut fields = whole.clone();
                fields.truncate(whole.len() - missing);
                let others = whole.iter().enumerate().filter(|(place, _)| *place != missing);
                let others = others.map(|(_, field)| field.clone()).collect();
                for fields in [fields, others] {
                    let place = Place { path: "x.jsonl".into(), unit: "line", number: 1 };
                    let row = Row::new(place, Value::Dict(fields)).unwrap();
                    _ = read(set, row, &Bounds::default());
                }
            }
            let asked = ASKED.take();
            assert!(asked.len() > 1, "{set}: {asked:?}");
            for name in &asked {
                assert!(columns(set).contains(&name.as_str()), "{set} reads `{name}`");
            }
        }
    }
}
