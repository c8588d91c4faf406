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

/// The fields that a set's rows are read for; nothing else is taken out of columns.
pub(super) fn columns(set: DataSet) -> &'static [&'static str] {
    match set {
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
    }
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
