//! The file of an experiment, as its author writes it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::{ExperimentError, invalid};
use super::tuning::{Tune, Tuned};
use troupe_core::config::apply_override;
use troupe_core::installation::shipped;
use troupe_core::outcome::Answers;

/// A table of rows, and how it is filled.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentFile {
    /// What stands above the table.
    #[serde(default)]
    pub title: Option<String>,
    /// The seeds of every row.
    pub seeds: Vec<u64>,
    /// The configurations that rows are made of, where there are no `environments`.
    #[serde(default)]
    pub base: Base,
    /// Settings of all rows, as `--set` has them.
    #[serde(default)]
    pub set: Vec<String>,
    /// What every trained row may spend.
    #[serde(default)]
    pub budget: Budget,
    /// The warm starts that rows share.
    #[serde(default)]
    pub warm: Warm,
    /// How all rows are examined.
    #[serde(default)]
    pub exam: Exam,
    /// The parts of the table: every row is there in each.
    #[serde(default)]
    pub environments: Vec<Part>,
    /// The rows.
    pub rows: Vec<RowEntry>,
    /// Rows that differ from another in one setting.
    #[serde(default)]
    pub sweeps: Vec<Sweep>,
    /// How settings are chosen for rows before they are made.
    #[serde(default)]
    pub tune: Option<Tune>,
    /// What was chosen.
    #[serde(skip)]
    pub chosen: Vec<Tuned>,
    /// What is claimed of the rows.
    #[serde(default)]
    pub compare: Vec<Claim>,
    /// The default margin within which a difference is negligible, as a share.
    #[serde(default)]
    pub margin: Option<f64>,
    /// The folder that paths in the file are relative to.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// Configuration files, each over those before it: one list, or several by name.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Base {
    /// One for all rows.
    One(Vec<PathBuf>),
    /// A row says which, with `base`.
    Named(BTreeMap<String, Vec<PathBuf>>),
}

impl Default for Base {
    fn default() -> Self {
        Base::One(Vec::new())
    }
}

/// What a trained row may spend; the first limit that is met ends a run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Steps.
    pub steps: Option<u64>,
    /// Tokens of the answers drawn.
    pub completion_tokens: Option<u64>,
    /// Answers drawn.
    pub samples: Option<u64>,
    /// Wall-clock seconds; what a run comes to then depends on the machine.
    pub seconds: Option<f64>,
}

impl Budget {
    /// A share of it.
    pub(super) fn part(&self, share: f64) -> Budget {
        let of = |all: Option<u64>| all.map(|all| ((all as f64 * share) as u64).max(1));
        Budget {
            steps: of(self.steps),
            completion_tokens: of(self.completion_tokens),
            samples: of(self.samples),
            seconds: self.seconds.map(|all| all * share),
        }
    }

    /// As `--set` has it.
    pub(super) fn sets(&self) -> Vec<String> {
        let whole = [
            ("train.steps", self.steps),
            ("train.budget.completion_tokens", self.completion_tokens),
            ("train.budget.samples", self.samples),
        ];
        let whole = whole.into_iter().filter_map(|(key, value)| Some(format!("{key}={}", value?)));
        whole.chain(self.seconds.map(|limit| format!("train.budget.seconds={limit:?}"))).collect()
    }
}

/// `false`, or settings of `[imitation]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Warm {
    /// Whether rows share warm starts at all.
    Whether(bool),
    /// They do, with these settings.
    With(toml::Table),
}

impl Default for Warm {
    fn default() -> Self {
        Warm::Whether(true)
    }
}

impl Warm {
    /// Whether rows share warm starts.
    pub(super) fn is_shared(&self) -> bool {
        !matches!(self, Warm::Whether(false))
    }

    /// As `--set` has it.
    pub(super) fn sets(&self) -> Vec<String> {
        match self {
            Warm::Whether(_) => Vec::new(),
            Warm::With(table) => {
                table.iter().map(|(key, value)| format!("imitation.{key}={value}")).collect()
            }
        }
    }
}

/// The tasks that all rows are examined on.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Exam {
    /// `test` or `validation`.
    pub split: String,
    /// How many of each family.
    pub tasks: u32,
    /// Sampled episodes of each task, beside the greedy one.
    pub samples: u32,
    /// Which answers the table's first figure is of.
    pub answers: Answers,
    /// Settings that may differ between rows that are compared, because they do not change which
    /// tasks there are.
    pub ignore: Vec<String>,
}

impl Exam {
    /// Whether it is what a run examines itself in, at its end.
    pub fn is_of_the_run(&self) -> bool {
        self.split == "test"
    }
}

impl Default for Exam {
    fn default() -> Self {
        Exam {
            split: "test".to_owned(),
            tasks: 512,
            samples: 0,
            answers: Answers::Greedy,
            ignore: Vec::new(),
        }
    }
}

/// A part of the table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// What it is called.
    pub name: String,
    /// Its configurations.
    #[serde(default)]
    pub base: Base,
    /// Settings of all rows in it.
    #[serde(default)]
    pub set: Vec<String>,
    /// What a trained row may spend in it, if not what the experiment says.
    #[serde(default)]
    pub budget: Option<Budget>,
}

/// A row, as its author writes it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowEntry {
    /// What it is called.
    pub name: String,
    /// What stands in the table, if not the name.
    #[serde(default)]
    pub title: Option<String>,
    /// Another row, whose settings it has where it says nothing else.
    #[serde(default)]
    pub like: Option<String>,
    /// Which of several configurations it is made of.
    #[serde(default)]
    pub base: Option<String>,
    /// Settings, as `--set` has them.
    #[serde(default)]
    pub set: Vec<String>,
    /// Whether it is trained, as it is if nothing is said.
    #[serde(default)]
    pub train: Option<bool>,
    /// Another row, whose policies are examined under `exam_set`.
    #[serde(default)]
    pub of: Option<String>,
    /// Settings of the exam alone.
    #[serde(default)]
    pub exam_set: Vec<String>,
    /// Which answers its figures are of, if not those of the exam.
    #[serde(default)]
    pub answers: Option<Answers>,
    /// The row that each role's policy is taken from.
    #[serde(default)]
    pub combine: BTreeMap<String, String>,
    /// Another row, whose warm start it begins with.
    #[serde(default)]
    pub warm: Option<String>,
    /// The parts of the table that it is in; all if none is named.
    #[serde(default)]
    pub on: Vec<String>,
}

/// Rows like another one, each with another value of a setting.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// What it is called: a row is `<name>=<value>`.
    pub name: String,
    /// The row that they are like; they begin with its warm start.
    pub row: String,
    /// The setting.
    #[serde(default)]
    pub key: Option<String>,
    /// Its values.
    #[serde(default)]
    pub values: Vec<toml::Value>,
    /// Instead: several settings at a time.
    #[serde(default)]
    pub choices: Vec<Choice>,
    /// The parts of the table that it is in; all if none is named.
    #[serde(default)]
    pub on: Vec<String>,
}

/// One choice of a sweep.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// What it is called.
    pub name: String,
    /// Its settings.
    pub set: Vec<String>,
}

/// That one row is better than another.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The row that is said to be better.
    pub better: String,
    /// The row it is compared with.
    pub than: String,
    /// In words.
    #[serde(default)]
    pub claim: Option<String>,
    /// The parts of the table in which it is asked; all that have both rows if none is named.
    #[serde(default)]
    pub on: Vec<String>,
    /// The claims for whose number it is corrected: all that name the same family. Without a name,
    /// the others of its part of the table.
    #[serde(default)]
    pub family: Option<String>,
    /// The margin within which a difference is negligible, as a share.
    #[serde(default)]
    pub margin: Option<f64>,
    /// What both have to have spent as much of.
    #[serde(default)]
    pub budget: Equal,
}

impl Claim {
    /// The family that it belongs to in a part of the table.
    pub(super) fn family_in<'c>(&'c self, part: &'c str) -> &'c str {
        self.family.as_deref().unwrap_or(part)
    }
}

/// What rows that are compared have spent as much of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Equal {
    /// All that was drawn.
    #[default]
    Total,
    /// What was drawn, for each policy that is trained.
    Policy,
}

impl ExperimentFile {
    /// Read a file, with `key=value` overrides on top.
    ///
    /// # Errors
    /// If it cannot be read, a key is unknown or missing, or a value has another type than it
    /// must have.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self, ExperimentError> {
        let path = &shipped(path);
        let text = std::fs::read_to_string(path)
            .map_err(|reason| ExperimentError::Unreadable { path: path.to_owned(), reason })?;
        let mut file = ExperimentFile::parse(&text, path, overrides)?;
        file.folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(file)
    }

    /// Read a text; `path` is what errors name.
    ///
    /// # Errors
    /// As [`ExperimentFile::read`].
    pub fn parse(text: &str, path: &Path, overrides: &[String]) -> Result<Self, ExperimentError> {
        let malformed = |reason: String| ExperimentError::Malformed {
            path: path.to_owned(),
            reason: reason.trim().to_owned(),
        };
        // The text itself first: its errors name the line.
        let parser =
            toml::Deserializer::parse(text).map_err(|error| malformed(error.to_string()))?;
        let mut file: ExperimentFile = serde_path_to_error::deserialize(parser)
            .map_err(|error| malformed(format!("`{}`: {}", error.path(), error.inner())))?;
        if !overrides.is_empty() {
            let mut table: toml::Table =
                text.parse().map_err(|error: toml::de::Error| malformed(error.to_string()))?;
            for change in overrides {
                apply_override(&mut table, change).map_err(|error| malformed(error.to_string()))?;
            }
            file = serde_path_to_error::deserialize(toml::Value::Table(table))
                .map_err(|error| malformed(format!("`{}`: {}", error.path(), error.inner())))?;
        }
        file.check()?;
        Ok(file)
    }

    fn check(&self) -> Result<(), ExperimentError> {
        if self.seeds.is_empty() {
            return Err(invalid("seeds", "there is none; name one or more, such as [1, 2, 3]"));
        }
        if (1..self.seeds.len()).any(|place| self.seeds[..place].contains(&self.seeds[place])) {
            return Err(invalid("seeds", "one of them is there twice, and would count twice"));
        }
        if self.rows.is_empty() {
            return Err(invalid("rows", "there is none; add [[rows]] with a `name`"));
        }
        if !["test", "validation"].contains(&self.exam.split.as_str()) {
            let reason =
                format!("it is \"{}\", but must be \"test\" or \"validation\"", self.exam.split);
            return Err(invalid("exam.split", reason));
        }
        let margins = self
            .compare
            .iter()
            .enumerate()
            .map(|(place, claim)| (format!("compare[{place}].margin"), claim.margin));
        for (key, margin) in [("margin".to_owned(), self.margin)].into_iter().chain(margins) {
            if margin.is_some_and(|margin| !(0.0 < margin && margin < 1.0)) {
                let reason = "it is a share above 0 and below 1: 0.03 are three points";
                return Err(invalid(key, reason));
            }
        }
        if let Some(tune) = &self.tune {
            tune.check(self)?;
        }
        if self.exam.tasks == 0 {
            return Err(invalid("exam.tasks", "it is 0, and nothing would be measured"));
        }
        let rows = self.rows.iter().filter_map(|row| row.answers);
        let is_sampled = rows.chain([self.exam.answers]).any(|one| one == Answers::Sampled);
        if is_sampled && self.exam.samples == 0 {
            let reason = "figures are to be of sampled answers, and none is drawn; set 1 or more";
            return Err(invalid("exam.samples", reason));
        }
        Ok(())
    }
}
