//! Cells that are kept: what one seed of a row came to, as a small file that may lie with the
//! sources, so that another call, with another build or on another machine, need not make it again.
//!
//! ```text
//! PART/ROW.toml        what the row was, for all its seeds
//! PART/ROW-SEED.json   what came of it
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::builds::builds_of;
use super::error::ExperimentError;
use super::file::{Exam, ExperimentFile};
use super::folder::{Folder, put};
use super::job::Job;
use super::planned::{Cell, PlannedRow};
use super::row::Source;
use super::sitting::Sitting;
use troupe_core::config::Config;
use troupe_core::provenance::Build;
use troupe_core::storage::{StorageError, create_folder, read_json, write_file};

/// The folder of the cells of an experiment.
#[derive(Clone, Debug)]
pub struct KeptCells {
    root: PathBuf,
}

/// What one seed of a row came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptCell {
    /// The builds that made the runs it is of, each once.
    pub builds: Vec<Build>,
    /// What came of it.
    pub sitting: Sitting,
}

/// What a row was when its cells were made.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptRow {
    /// The row whose warm start it began with.
    warm: String,
    /// Whether rows shared warm starts; before this was kept, they did.
    #[serde(default = "shared")]
    shared: bool,
    /// The tasks that it was examined on; before this was kept, those of the test split.
    #[serde(default = "usual_split")]
    split: String,
    /// Settings of the exam alone.
    exam_set: Vec<String>,
    /// Where its policies came from.
    source: Source,
    /// All settings, but for where things lie.
    config: toml::Table,
    /// The same of what other rows made for it, by row; what was not kept is not compared.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    lenders: BTreeMap<String, toml::Table>,
}

fn shared() -> bool {
    true
}

fn usual_split() -> String {
    Exam::default().split
}

impl KeptCells {
    /// Those in a folder, which need not be there yet.
    pub fn below(root: &Path) -> Self {
        KeptCells { root: root.to_owned() }
    }

    fn folder(&self, planned: &PlannedRow) -> PathBuf {
        self.root.join(&planned.row.part)
    }

    fn row_file(&self, planned: &PlannedRow) -> PathBuf {
        self.folder(planned).join(format!("{}.toml", planned.row.name))
    }

    fn cell_file(&self, planned: &PlannedRow, seed: u64) -> PathBuf {
        self.folder(planned).join(format!("{}-{seed}.json", planned.row.name))
    }

    /// Whether a cell of a row is there, whatever its seed.
    fn has_any(&self, planned: &PlannedRow) -> Result<bool, StorageError> {
        let folder = self.folder(planned);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            entries => entries.map_err(StorageError::io("read", &folder))?,
        };
        for entry in entries {
            let name = entry.map_err(StorageError::io("read", &folder))?.file_name();
            if is_cell(&name.to_string_lossy(), &planned.row.name) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The cells of a row that are there, of the seeds of a file.
    ///
    /// # Errors
    /// If a file cannot be read, or the row was another one when its cells were made, of whatever
    /// seeds: beside them, others would say that all were made alike.
    pub fn of(
        &self,
        planned: &PlannedRow,
        experiment: &ExperimentFile,
    ) -> Result<Vec<KeptCell>, ExperimentError> {
        if !self.has_any(planned)? {
            return Ok(Vec::new());
        }
        let files = experiment.seeds.iter().map(|seed| self.cell_file(planned, *seed));
        let files: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
        let file = self.row_file(planned);
        let text = fs::read_to_string(&file).map_err(StorageError::io("read", &file))?;
        let damaged = |reason| StorageError::Damaged { path: file.clone(), reason };
        let kept: KeptRow = toml::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if let Some(difference) = kept.difference(&KeptRow::of(planned, experiment)) {
            return Err(ExperimentError::Refused {
                row: planned.row.label(),
                reason: format!(
                    "its cells below `{}` were made with {difference}; remove them to make them \
                     anew, or name another folder",
                    self.root.display()
                ),
            });
        }
        let read = |file: &PathBuf| Ok(read_json(file)?);
        files.iter().map(read).collect()
    }

    /// Keep a cell whose jobs are done, if it is not there.
    ///
    /// # Errors
    /// If what they left cannot be read, or the files cannot be written.
    pub fn keep(
        &self,
        planned: &PlannedRow,
        experiment: &ExperimentFile,
        cell: Cell,
        (jobs, folder): (&[Job], &Folder),
    ) -> Result<(), StorageError> {
        let file = self.cell_file(planned, cell.seed);
        if file.is_file() {
            return Ok(());
        }
        let mut sitting = Sitting::read(cell, jobs, folder)?;
        sitting.run = None;
        let mut builds: Vec<Build> = Vec::new();
        for run in cell.trainings(jobs) {
            builds.extend(builds_of(&folder.run(&jobs[run].address))?);
        }
        builds.sort();
        builds.dedup();
        create_folder(&self.folder(planned))?;
        let row = toml::to_string(&KeptRow::of(planned, experiment)).unwrap_or_default();
        put(&self.row_file(planned), &row)?;
        let mut text = serde_json::to_vec(&KeptCell { builds, sitting }).unwrap_or_default();
        text.push(b'\n');
        write_file(&file, &text)
    }
}

impl KeptRow {
    fn of(planned: &PlannedRow, experiment: &ExperimentFile) -> Self {
        let lender = |(name, config): (&String, &Config)| (name.clone(), settings(config));
        KeptRow {
            warm: planned.row.warm.clone(),
            shared: experiment.warm.is_shared(),
            split: experiment.exam.split.clone(),
            exam_set: planned.row.exam_sets.clone(),
            source: planned.row.source.clone(),
            config: settings(&planned.config),
            lenders: planned.lenders.iter().map(lender).collect(),
        }
    }

    /// What is otherwise now, in words. A setting that there was not yet is the same if it is at
    /// its default.
    fn difference(&self, now: &KeptRow) -> Option<String> {
        let others = [
            ("other policies (`of`, `combine`)", self.source == now.source),
            ("another warm start (`warm`)", (&self.warm, self.shared) == (&now.warm, now.shared)),
            ("tasks of another split (`exam.split`)", self.split == now.split),
            ("another `exam_set`", self.exam_set == now.exam_set),
        ];
        if let Some((what, _)) = others.into_iter().find(|(_, is_same)| !is_same) {
            return Some(what.to_owned());
        }
        let default = settings(&Config::default());
        let lender = |(name, was): (&String, &toml::Table)| {
            let difference = differing(was, now.lenders.get(name)?, &default, "")?;
            Some(format!("the row `{name}`, in which {difference}"))
        };
        differing(&self.config, &now.config, &default, "")
            .or_else(|| self.lenders.iter().find_map(lender))
    }
}

/// Whether a file of this name is a cell of a row: its name, and a seed.
fn is_cell(file: &str, row: &str) -> bool {
    let seed = file.strip_prefix(row).and_then(|rest| rest.strip_prefix('-'));
    let seed = seed.and_then(|rest| rest.strip_suffix(".json"));
    seed.is_some_and(|seed| seed.parse::<u64>().is_ok())
}

/// A configuration without what only says where things lie, and which build of a component is
/// meant: a cell names the build that made it, whatever was granted to it.
fn settings(config: &Config) -> toml::Table {
    let mut bare = config.clone();
    bare.run = Default::default();
    let name = |file: &PathBuf| PathBuf::from(file.file_name().unwrap_or_default());
    bare.plugins.files = bare.plugins.files.iter().map(name).collect();
    bare.plugins.path.clear();
    bare.sandbox.interpreters = bare.sandbox.interpreters.iter().map(name).collect();
    for grantee in bare.sandbox.grant.iter_mut().chain(&mut bare.retrieval.grant) {
        grantee.digest = None;
    }
    // What was written as TOML is TOML.
    bare.to_toml().parse().unwrap_or_default()
}

/// The first setting that is not what it was, in words.
fn differing(
    before: &toml::Table,
    now: &toml::Table,
    default: &toml::Table,
    prefix: &str,
) -> Option<String> {
    let empty = toml::Table::new();
    let mut keys: Vec<&String> = before.keys().chain(now.keys()).collect();
    keys.sort();
    keys.dedup();
    keys.into_iter().find_map(|key| {
        let (was, is) = (before.get(key).or(default.get(key)), now.get(key).or(default.get(key)));
        if let (Some(toml::Value::Table(was)), Some(toml::Value::Table(is))) = (was, is) {
            let default = default.get(key).and_then(toml::Value::as_table).unwrap_or(&empty);
            return differing(was, is, default, &format!("{prefix}{key}."));
        }
        let shown = |value: Option<&toml::Value>| {
            value.map_or("unset".to_owned(), std::string::ToString::to_string)
        };
        (was != is).then(|| format!("`{prefix}{key}` {} where it is {}", shown(was), shown(is)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_was_not_there_yet_is_the_same_at_its_default_and_no_other_is() {
        let table = |text: &str| text.parse::<toml::Table>().unwrap();
        let default = table("[train]\nsteps = 100\nnew = 0");
        let before = table("[train]\nsteps = 50\n[plugins]\nfiles = [\"a\"]");
        let of = |now: &str| differing(&before, &table(now), &default, "");
        assert_eq!(of("[train]\nsteps = 50\nnew = 0\n[plugins]\nfiles = [\"a\"]"), None);
        let said = |now: &str| of(now).unwrap();
        assert_eq!(said("plugins = { files = [\"a\"] }"), "`train.steps` 50 where it is 100");
        let other = "train = { steps = 50, new = 1 }\nplugins = { files = [\"a\"] }";
        assert_eq!(said(other), "`train.new` 0 where it is 1");
        assert_eq!(
            said("train = { steps = 50 }"),
            "`plugins` { files = [\"a\"] } where it is unset"
        );
    }
}
