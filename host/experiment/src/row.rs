//! The rows that a file asks for, one by one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::error::{ExperimentError, invalid};
use super::file::{Base, Budget, ExperimentFile, Part, RowEntry, Sweep};
use super::tuning::Tuned;
use troupe_core::error::suggestion;
use troupe_core::outcome::Answers;

/// A row of one part of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The part; empty if the table has one.
    pub part: String,
    /// Its name.
    pub name: String,
    /// What stands in the table.
    pub title: String,
    /// Its configuration files.
    pub files: Vec<PathBuf>,
    /// Its settings.
    pub sets: Vec<String>,
    /// Where its policies come from.
    pub source: Source,
    /// Settings of the exam alone.
    pub exam_sets: Vec<String>,
    /// Which answers its figures are of.
    pub answers: Answers,
    /// The row whose warm start it begins with.
    pub warm: String,
    /// What it may spend.
    pub budget: Budget,
}

/// Where a row's policies come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// They are trained.
    Trained,
    /// They are what training would begin with.
    Prompted,
    /// They are another row's.
    Of(String),
    /// They are those of other rows, role by role.
    Combined(BTreeMap<String, String>),
}

impl AsRef<Row> for Row {
    fn as_ref(&self) -> &Row {
        self
    }
}

impl Row {
    /// Its name with its part's.
    pub fn label(&self) -> String {
        self.label_of(&self.name)
    }

    /// The name of a row of the same part, with the part's.
    pub(super) fn label_of(&self, name: &str) -> String {
        if self.part.is_empty() {
            return name.to_owned();
        }
        format!("{}/{name}", self.part)
    }
}

/// All rows: part by part, in the order of the file, those of sweeps last.
///
/// # Errors
/// If a name is taken twice, cannot be a file's, or is unknown.
pub fn expand(file: &ExperimentFile) -> Result<Vec<Row>, ExperimentError> {
    let entries = entries(file)?;
    let parts = parts(file)?;
    for entry in &entries {
        check_parts(&format!("rows.{}.on", entry.name), &entry.on, &parts)?;
    }
    let mut rows = Vec::new();
    for part in &parts {
        let on_it = |entry: &&RowEntry| entry.on.is_empty() || entry.on.contains(&part.name);
        for entry in entries.iter().filter(on_it) {
            rows.push(row(file, part, entry, &entries)?);
        }
    }
    for row in &rows {
        check_sources(row, &rows)?;
    }
    Ok(rows)
}

/// The file's rows, and those of its sweeps.
fn entries(file: &ExperimentFile) -> Result<Vec<RowEntry>, ExperimentError> {
    let mut entries = file.rows.clone();
    for sweep in &file.sweeps {
        entries.extend(rows_of(sweep, &file.rows)?);
    }
    for (place, entry) in entries.iter().enumerate() {
        let key = format!("rows.{}", entry.name);
        check_name(&key, &entry.name)?;
        if entries[..place].iter().any(|other| other.name == entry.name) {
            return Err(invalid(key, "there are two rows of this name; rename one"));
        }
    }
    Ok(entries)
}

fn rows_of(sweep: &Sweep, rows: &[RowEntry]) -> Result<Vec<RowEntry>, ExperimentError> {
    let key = format!("sweeps.{}", sweep.name);
    let row = find(rows, &sweep.row, &format!("{key}.row"))?;
    let choices: Vec<(String, Vec<String>)> = match (&sweep.key, &sweep.choices[..]) {
        (Some(setting), []) => {
            let value = |value: &toml::Value| (shown(value), vec![format!("{setting}={value}")]);
            sweep.values.iter().map(value).collect()
        }
        (None, choices) => {
            choices.iter().map(|choice| (choice.name.clone(), choice.set.clone())).collect()
        }
        _ => return Err(invalid(key, "say either `key` and `values`, or `choices`")),
    };
    if choices.is_empty() {
        return Err(invalid(key, "it has no value; say `key` and `values`, or `choices`"));
    }
    let entry = |(value, set): (String, Vec<String>)| RowEntry {
        name: format!("{}={value}", sweep.name),
        like: Some(sweep.row.clone()),
        warm: Some(row.warm.clone().unwrap_or_else(|| sweep.row.clone())),
        on: if sweep.on.is_empty() { row.on.clone() } else { sweep.on.clone() },
        set,
        ..RowEntry::default()
    };
    Ok(choices.into_iter().map(entry).collect())
}

fn shown(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The parts of the table; one without a name where the file names none.
fn parts(file: &ExperimentFile) -> Result<Vec<Part>, ExperimentError> {
    if file.environments.is_empty() {
        return Ok(vec![Part { base: file.base.clone(), ..Part::default() }]);
    }
    if !matches!(&file.base, Base::One(files) if files.is_empty()) {
        let reason = "there are `environments`, and each has a `base` of its own";
        return Err(invalid("base", reason));
    }
    for (place, part) in file.environments.iter().enumerate() {
        let key = format!("environments.{}", part.name);
        check_name(&key, &part.name)?;
        if file.environments[..place].iter().any(|other| other.name == part.name) {
            return Err(invalid(key, "there are two of this name; rename one"));
        }
    }
    Ok(file.environments.clone())
}

fn row(
    file: &ExperimentFile,
    part: &Part,
    entry: &RowEntry,
    entries: &[RowEntry],
) -> Result<Row, ExperimentError> {
    let line = match &entry.of {
        // What it is made of is the other's matter.
        Some(other) => {
            ancestry(find(entries, other, &format!("rows.{}.of", entry.name))?, entries)?
        }
        None => ancestry(entry, entries)?,
    };
    let sets = line.iter().flat_map(|entry| entry.set.iter().cloned());
    let last = |of: fn(&RowEntry) -> Option<&String>| line.iter().rev().find_map(|entry| of(entry));
    let base = last(|entry| entry.base.as_ref());
    let trains = line.iter().rev().find_map(|entry| entry.train).unwrap_or(true);
    let budget = part.budget.as_ref().unwrap_or(&file.budget).clone();
    let common = file.set.iter().chain(&part.set).cloned();
    let is_it = |tuned: &&Tuned| tuned.part == part.name && tuned.row == entry.name;
    let chosen = file.chosen.iter().find(is_it).map_or(&[][..], Tuned::set).iter().cloned();
    Ok(Row {
        part: part.name.clone(),
        name: entry.name.clone(),
        title: entry.title.clone().unwrap_or_else(|| entry.name.clone()),
        files: files(file, part, &entry.name, base)?,
        sets: (common.chain(file.warm.sets()).chain(budget.sets()).chain(sets))
            .chain(chosen)
            .collect(),
        source: source(entry, trains)?,
        exam_sets: match &entry.of {
            Some(_) => entry.exam_set.clone(),
            None => line.iter().flat_map(|entry| entry.exam_set.iter().cloned()).collect(),
        },
        answers: (entry.answers)
            .or_else(|| line.iter().rev().find_map(|entry| entry.answers))
            .unwrap_or(file.exam.answers),
        warm: last(|entry| entry.warm.as_ref()).unwrap_or(&line[line.len() - 1].name).clone(),
        budget,
    })
}

/// The entry and those it is like, the first of them first.
fn ancestry<'e>(
    entry: &'e RowEntry,
    entries: &'e [RowEntry],
) -> Result<Vec<&'e RowEntry>, ExperimentError> {
    let mut line = vec![entry];
    while let Some(like) = &line[line.len() - 1].like {
        let key = format!("rows.{}.like", line[line.len() - 1].name);
        let next = find(entries, like, &key)?;
        if line.iter().any(|known| known.name == next.name) {
            return Err(invalid(key, "the row is like itself, in a circle"));
        }
        line.push(next);
    }
    line.reverse();
    Ok(line)
}

fn source(entry: &RowEntry, trains: bool) -> Result<Source, ExperimentError> {
    let key = |what: &str| format!("rows.{}.{what}", entry.name);
    match (&entry.of, entry.combine.is_empty()) {
        (Some(_), false) => Err(invalid(key("of"), "the row has `combine`, too; leave out one")),
        (Some(_), true) if !entry.set.is_empty() => {
            let reason = "the policies are another row's, and are trained as that says; put what \
                          the exam is to be like into `exam_set`";
            Err(invalid(key("set"), reason))
        }
        (Some(other), true) => Ok(Source::Of(other.clone())),
        (None, false) => Ok(Source::Combined(entry.combine.clone())),
        (None, true) if trains => Ok(Source::Trained),
        (None, true) => Ok(Source::Prompted),
    }
}

fn files(
    file: &ExperimentFile,
    part: &Part,
    row: &str,
    base: Option<&String>,
) -> Result<Vec<PathBuf>, ExperimentError> {
    let key = format!("rows.{row}.base");
    let files = match (&part.base, base) {
        (Base::One(files), None) => files,
        (Base::One(_), Some(_)) => {
            return Err(invalid(key, "there is one `base` without names; leave it out"));
        }
        (Base::Named(known), Some(name)) => known.get(name).ok_or_else(|| {
            let hint = suggestion(name, known.keys().map(String::as_str));
            invalid(key, format!("there is no base `{name}`{hint}"))
        })?,
        (Base::Named(known), None) if known.len() == 1 => {
            known.values().next().ok_or_else(|| invalid(key, "there is no base"))?
        }
        (Base::Named(known), None) => {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            return Err(invalid(key, format!("say which base: {}", names.join(" or "))));
        }
    };
    Ok(files.iter().map(|path| file.folder.join(path)).collect())
}

fn find<'e>(rows: &'e [RowEntry], name: &str, key: &str) -> Result<&'e RowEntry, ExperimentError> {
    rows.iter().find(|row| row.name == name).ok_or_else(|| {
        let hint = suggestion(name, rows.iter().map(|row| row.name.as_str()));
        invalid(key, format!("there is no row `{name}`{hint}"))
    })
}

/// Rows that another takes something of are there, in the same part, and have it.
fn check_sources(row: &Row, rows: &[Row]) -> Result<(), ExperimentError> {
    let key = |what: &str| format!("rows.{}.{what}", row.name);
    let in_part: Vec<&Row> = rows.iter().filter(|other| other.part == row.part).collect();
    let find = |name: &String, key: String| {
        in_part.iter().find(|other| other.name == *name).copied().ok_or_else(|| {
            let hint = suggestion(name, in_part.iter().map(|row| row.name.as_str()));
            invalid(key, format!("there is no row `{name}`{hint}"))
        })
    };
    find(&row.warm, key("warm"))?;
    let trained = |name: &String, key: String| match find(name, key.clone())?.source {
        Source::Trained => Ok(()),
        _ => Err(invalid(key, format!("the row `{name}` is not trained, so it has no run"))),
    };
    match &row.source {
        Source::Of(other) => trained(other, key("of")),
        Source::Combined(parts) => parts
            .iter()
            .try_for_each(|(role, other)| trained(other, key(&format!("combine.{role}")))),
        Source::Trained if !row.exam_sets.is_empty() => {
            let reason = "a row that is trained is examined as it was trained; add a row `of` it";
            Err(invalid(key("exam_set"), reason))
        }
        _ => Ok(()),
    }
}

fn check_parts(key: &str, names: &[String], parts: &[Part]) -> Result<(), ExperimentError> {
    let known = parts.iter().map(|part| part.name.as_str());
    match names.iter().find(|name| !known.clone().any(|known| known == *name)) {
        None => Ok(()),
        Some(name) => {
            let hint = suggestion(name, known);
            Err(invalid(key, format!("there is no environment `{name}`{hint}")))
        }
    }
}

/// Names are names of files, too.
fn check_name(key: &str, name: &str) -> Result<(), ExperimentError> {
    let fits = |c: char| c.is_alphanumeric() || " ._=+-".contains(c);
    if (1..=120).contains(&name.len()) && !name.starts_with('.') && name.chars().all(fits) {
        return Ok(());
    }
    let reason = "a name has up to 120 letters, digits, spaces and `._=+-`, and no dot first";
    Err(invalid(key, reason))
}
