//! From published files to a file of records.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::bounds::Bounds;
use super::compressed::{Content, content_of, text_of};
use super::layout::{self, Entry};
use super::refusal::Refusal;
use super::report::{self, Report, SourceEntry};
use super::row::{Place, Row};
use super::seen::{Problem, Seen};
use super::set::DataSet;
use super::source::{Source, sources_of, would_read};
use super::split::{self, SplitChoice};
use super::writer::Writer;
use super::{json, parquet_file};
use plugin_sdk::types::Split;
use troupe_core::error::{Coded, ExitCode};
use troupe_core::storage::{self, StorageError};
use troupe_grading::{Value, parse_problems};

/// What is noted where a name is changed.
const RENAMED: &str = "ids of more than one split, written with the split before them";

/// Why there are no records.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file cannot be read.
    #[error("cannot read `{}`: {reason}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// A folder holds nothing of the kind.
    #[error("`{}` holds no file of {set}; give the files themselves", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
        /// The set.
        set: DataSet,
    },
    /// The records would replace what they are read from, or be read by the next import.
    #[error(
        "`{}` is one of the files that are read, or would be next time: it lies in what is read; \
         name a place outside of that with --out",
        path.display()
    )]
    OutIsSource {
        /// The file.
        path: PathBuf,
    },
    /// No row is a record.
    #[error(
        "none of {rows} rows is a record of {set}, so nothing was written; most often: {reason}"
    )]
    NoRecords {
        /// How many rows there were.
        rows: usize,
        /// The set.
        set: DataSet,
        /// Why most of them were dropped, and where.
        reason: String,
        /// All reasons.
        report: Box<Report>,
    },
    /// The records cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Coded for ImportError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            ImportError::Storage(error) => error.code(),
            _ => Some(ExitCode::Usage),
        }
    }
}

/// What is to be imported.
#[derive(Clone, Debug)]
pub struct Order {
    /// The set.
    pub set: DataSet,
    /// Its files, or folders that hold them.
    pub paths: Vec<PathBuf>,
    /// The file to write.
    pub out: PathBuf,
    /// What decides the split.
    pub split: SplitChoice,
    /// What one row may take.
    pub bounds: Bounds,
}

/// Read the files of an order and write its records; `progress` hears how many
/// of how many bytes are read. The report is written beside the records.
///
/// # Errors
/// If a file is not there, nothing in them is a record, or the records cannot
/// be written. What is wrong with single rows is in the report.
pub fn import(order: &Order, progress: &mut dyn FnMut(u64, u64)) -> Result<Report, ImportError> {
    let sources = find(order)?;
    let total = sources.iter().map(|source| source.bytes).sum();
    // Before anything is written, perhaps into a folder that is read.
    let described = order.paths.iter().map(|path| describe(path, order.set));
    let mut import = Import::begin(order, described.collect::<Result<_, _>>()?)?;
    let mut done = 0;
    for source in &sources {
        import.read_source(source, &mut |within| progress(done + within, total))?;
        done += source.bytes;
        progress(done, total);
    }
    import.finish()
}

fn find(order: &Order) -> Result<Vec<Source>, ImportError> {
    let mut sources = Vec::new();
    let out = order.out.canonicalize().ok();
    for path in &order.paths {
        let io = |reason| ImportError::Io { path: path.clone(), reason };
        let found = sources_of(path, order.set).map_err(io)?;
        if found.is_empty() {
            return Err(ImportError::Empty { path: path.clone(), set: order.set });
        }
        sources.extend(found);
    }
    let is_out = |source: &Source| out.is_some() && source.path.canonicalize().ok() == out;
    let reads_it = |path: &PathBuf| would_read(path, &order.out, order.set);
    match sources.iter().any(is_out) || order.paths.iter().any(reads_it) {
        true => Err(ImportError::OutIsSource { path: order.out.clone() }),
        false => Ok(sources),
    }
}

/// What the report says of a path.
fn describe(path: &Path, set: DataSet) -> Result<SourceEntry, ImportError> {
    let sources = sources_of(path, set)
        .map_err(|reason| ImportError::Io { path: path.to_owned(), reason })?;
    let mut entry = SourceEntry { path: path.display().to_string(), ..SourceEntry::default() };
    let mut lines = Sha256::new();
    for source in &sources {
        let files = match source.is_row {
            false => vec![source.path.clone()],
            true => storage::list_folder(&source.path)?
                .iter()
                .map(|name| source.path.join(name))
                .filter(|file| file.is_file())
                .collect(),
        };
        for file in files {
            entry.files += 1;
            entry.bytes += file.metadata().map(|metadata| metadata.len()).unwrap_or_default();
            entry.sha256 = storage::digest_file(&file)?;
            let name = file.strip_prefix(path).unwrap_or(&file).display().to_string();
            lines.update(format!("{}  {name}\n", entry.sha256));
        }
    }
    if path.is_dir() {
        entry.sha256 = lines.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    }
    Ok(entry)
}

/// An import in progress.
struct Import<'a> {
    order: &'a Order,
    writer: Writer,
    report: Report,
    seen: Seen,
    /// How many rows there were under each path that says a split.
    counts: [usize; 4],
}

impl<'a> Import<'a> {
    fn begin(order: &'a Order, sources: Vec<SourceEntry>) -> Result<Self, ImportError> {
        let report = Report {
            sources,
            data_set: order.set.name().to_owned(),
            licence: order.set.licence().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            file: order.out.display().to_string(),
            splits: Split::ALL.map(|split| (split.name().to_owned(), 0)).into(),
            ..Report::default()
        };
        Ok(Import {
            order,
            writer: Writer::begin(&order.out)?,
            report,
            seen: Seen::default(),
            counts: [0; 4],
        })
    }

    fn read_source(
        &mut self,
        source: &Source,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), ImportError> {
        let path: Arc<str> = source.path.display().to_string().into();
        let place = |unit, number| Place { path: path.clone(), unit, number };
        if source.is_row {
            let fields = layout::folder_fields(&source.path, &self.order.bounds);
            return self.take(place("", 1), fields);
        }
        let io = |reason| ImportError::Io { path: source.path.clone(), reason };
        let mut file = File::open(&source.path).map_err(io)?;
        let content = content_of(&mut file).map_err(io)?;
        if content == Content::Zip {
            let refusal = Refusal::plain("a ZIP archive: unpack it and give its files");
            return self.take(place("", 1), Err(refusal));
        }
        if self.order.set == DataSet::Boxoban {
            return self.read_levels(file, content, &path);
        }
        let position = file.try_clone().map_err(io)?;
        let (set, bounds) = (self.order.set, self.order.bounds);
        let mut rows = 0_usize;
        let mut sink = |unit, number, row| {
            rows += 1;
            if rows.is_multiple_of(64) {
                progress((&position).stream_position().unwrap_or_default().min(source.bytes));
            }
            self.take(place(unit, number), row)
        };
        if content == Content::Parquet {
            let names = layout::columns(set);
            return parquet_file::read_rows(&file, &names, &bounds, &mut |number, row| {
                sink("row", number, row)
            });
        }
        let text = text_of(file, content).map_err(io)?;
        json::read_rows(text, &bounds, &mut |number, row| sink("line", number, row))
    }

    fn read_levels(
        &mut self,
        file: File,
        content: Content,
        path: &Arc<str>,
    ) -> Result<(), ImportError> {
        let io = |reason| ImportError::Io { path: PathBuf::from(&**path), reason };
        let mut bytes = Vec::new();
        let most = self.order.bounds.bytes as u64;
        let text = text_of(file, content).map_err(io)?;
        let place = |line| Place { path: path.clone(), unit: "line", number: line };
        let text = match text.take(most + 1).read_to_end(&mut bytes) {
            Err(reason) => Err(Refusal::new("the file cannot be read", reason.to_string())),
            Ok(_) if bytes.len() as u64 > most => Err(self.order.bounds.too_long()),
            Ok(_) => String::from_utf8(bytes)
                .map_err(|error| Refusal::new("not UTF-8", error.to_string())),
        };
        let text = match text {
            Ok(text) => text,
            Err(refusal) => return self.take(place(1), Err(refusal)),
        };
        let base = level_base(path);
        for (index, level) in layout::levels(&text).into_iter().enumerate() {
            let name = if level.name.is_empty() { index.to_string() } else { level.name };
            let field = |name: &str, text: String| (Value::Str(name.to_owned()), Value::Str(text));
            let id = field("id", format!("{base}/{name}"));
            let fields = Value::Dict(vec![id, field("level", level.rows)]);
            self.take(place(level.line), Ok(fields))?;
        }
        Ok(())
    }

    /// Write a row's record, or count why there is none.
    fn take(&mut self, place: Place, fields: Result<Value, Refusal>) -> Result<(), ImportError> {
        let hint = self.order.set.only_split().or_else(|| split::of_path(&place.path));
        let count = &mut self.counts[hint.map_or(3, |split| split as usize)];
        let number = *count;
        let rows = fields.as_ref().err().map_or(1, |refusal| refusal.rows);
        *count += rows;
        self.report.rows += rows;
        let shown = place.to_string();
        let line = fields
            .and_then(|fields| Row::new(place, fields))
            .and_then(|row| self.record(row, hint, number, &shown));
        match line {
            Ok(line) => Ok(self.writer.line(&line)?),
            Err(refusal) => {
                self.report.drop_row(&shown, &refusal);
                Ok(())
            }
        }
    }

    fn record(
        &mut self,
        row: Row,
        hint: Option<Split>,
        number: usize,
        place: &str,
    ) -> Result<String, Refusal> {
        let licence = row.text("license").ok().flatten().map(str::to_owned);
        let named = row.text("split").ok().flatten().and_then(split::of_word);
        let mut entry = layout::read(self.order.set, row, &self.order.bounds)?;
        let published = match self.order.set.only_split() {
            Some(split) => Some(split),
            None => entry.split.or(named).or(hint),
        };
        let split = match self.order.split {
            SplitChoice::All(split) => split,
            SplitChoice::ByDigest => Split::owning(entry.problem.as_bytes()),
            SplitChoice::Published => {
                published.unwrap_or_else(|| Split::owning(entry.problem.as_bytes()))
            }
        };
        let set = self.order.set.name();
        let id = entry.id.take().unwrap_or_else(|| match hint {
            Some(hint) => format!("{set}/{hint}/{number}"),
            None => format!("{set}/{number}"),
        });
        let problem = match self.order.set {
            DataSet::Boxoban => Problem::of_text(&entry.problem),
            _ => Problem::of_words(&entry.problem),
        };
        let id = match self.seen.unused_name(&id, split, problem)? {
            None => id,
            Some(renamed) => {
                self.report.note(RENAMED, format!("{place}: `{id}`"));
                renamed
            }
        };
        let licence = licence.as_deref().unwrap_or(self.order.set.licence());
        let line = self.line(&entry, &id, split, licence)?;
        self.remember(&entry, id, split, problem, place);
        Ok(line)
    }

    /// The record as a line that its readers read.
    fn line(
        &self,
        entry: &Entry,
        id: &str,
        split: Split,
        licence: &str,
    ) -> Result<String, Refusal> {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let mut line = format!(
            r#"{{"id":{},"data_set":{},"split":{}"#,
            text(id),
            text(self.order.set.name()),
            text(split.name())
        );
        for (name, json) in &entry.fields {
            line.push_str(&format!(",\"{name}\":{json}"));
        }
        line.push_str(&format!(",\"licence\":{}}}", text(licence)));
        if line.len() > self.order.bounds.bytes {
            return Err(self.order.bounds.too_long());
        }
        if let Err(error) = serde_json::from_str::<&serde_json::value::RawValue>(&line) {
            let reason = "it holds what JSON has no notation for, such as NaN";
            return Err(Refusal::new(reason, error.to_string()));
        }
        // Only arguments and results can be nested too deeply for the grader.
        if entry.fields.iter().any(|(name, _)| *name == "function")
            && let Err(error) = parse_problems(Path::new("record"), &line)
        {
            return Err(Refusal::new("`host grade` would not read it", error.to_string()));
        }
        Ok(line)
    }

    fn remember(&mut self, entry: &Entry, id: String, split: Split, problem: Problem, place: &str) {
        if let Some(note) = entry.note {
            self.report.note(note, format!("{place}: `{id}`"));
        }
        if let Some((other_split, other)) = self.seen.first_of(problem) {
            let told = format!("`{id}` ({split}) is `{other}` ({other_split})");
            let reason = match *other_split == split {
                true => "the same problem twice in a split",
                false => "the same problem in two splits",
            };
            self.report.note(reason, told);
        }
        self.report.records += 1;
        *self.report.splits.entry(split.name().to_owned()).or_default() += 1;
        self.seen.add(id, split, problem);
    }

    fn finish(mut self) -> Result<Report, ImportError> {
        self.report.sort();
        if self.report.records == 0 {
            let reason = match self.report.dropped.first() {
                None => "there are none".to_owned(),
                Some(most) => format!("{} ({})", most.reason, most.places.join("; ")),
            };
            return Err(ImportError::NoRecords {
                rows: self.report.rows,
                set: self.order.set,
                reason,
                report: Box::new(self.report),
            });
        }
        (self.report.bytes, self.report.sha256) = self.writer.finish()?;
        let mut name = self.order.out.as_os_str().to_owned();
        name.push(report::ENDING);
        storage::write_json(Path::new(&name), &self.report)?;
        Ok(self.report)
    }
}

/// What the levels of a file are named after: `medium/train/003`.
fn level_base(path: &str) -> String {
    let path = path.strip_suffix(".txt").unwrap_or(path);
    let parts: Vec<&str> = path.split('/').collect();
    let kinds = ["unfiltered", "medium", "hard"];
    let start = parts.iter().rposition(|part| kinds.contains(part)).unwrap_or(parts.len() - 1);
    parts[start..].join("/")
}

#[cfg(test)]
mod tests;
