//! An index: a file that says which components there are, and where each of them is had from.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::sheet::Sheet;
use troupe_core::error::{Coded, ExitCode};
use troupe_core::oci::{OciReference, SCHEME};
use troupe_core::storage::{StorageError, write_file, write_json};

/// Bytes of a file, its components, and characters of one sentence.
const FILE_BYTES: u64 = 8 << 20;
const COMPONENTS: usize = 20_000;
const SENTENCE: usize = 400;
/// Characters of a version, a contract or a licence.
const WORD: usize = 100;
/// Bytes of a name.
const NAME_BYTES: usize = 64;
/// Words of a question that count.
const WORDS: usize = 16;

/// The components that somebody knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// In any order.
    pub components: Vec<Known>,
}

/// A component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Its name, as it says.
    pub name: Name,
    /// Where it is had from.
    pub reference: Whence,
    /// What it is.
    pub sentence: Line<SENTENCE>,
    /// The version of the contract that it is built for.
    pub contract: Line<WORD>,
    /// What it brings: `environment`, `workflow` or `interpreter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Line<WORD>>,
    /// Its own version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Line<WORD>>,
    /// Its licence: an SPDX expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<Line<WORD>>,
}

/// A name in kebab-case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// A text on one line of at most so many characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Line<const MOST: usize>(String);

/// Where a component is had from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Whence {
    /// A registry, which has one component under this digest.
    Registry(OciReference),
    /// The program, which brings it.
    Program(Name),
}

/// Why a file is no index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// It cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// It says something else.
    #[error("`{}` is no index of components: {reason}", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// Where, and what is wrong there.
        reason: String,
    },
}

impl Coded for IndexError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            IndexError::Storage(error) => error.code(),
            IndexError::Malformed { .. } => Some(ExitCode::Usage),
        }
    }
}

impl Index {
    /// What a file says: TOML if it is named so, otherwise JSON.
    ///
    /// # Errors
    /// If it cannot be read, or is no index.
    pub fn read(file: &Path) -> Result<Self, IndexError> {
        let io = StorageError::io;
        let opened = File::open(file).map_err(io("read", file))?;
        let mut bytes = Vec::new();
        opened.take(FILE_BYTES + 1).read_to_end(&mut bytes).map_err(io("read", file))?;
        let malformed = |reason: String| IndexError::Malformed { file: file.to_owned(), reason };
        if bytes.len() as u64 > FILE_BYTES {
            return Err(malformed(format!("it is larger than {} MiB", FILE_BYTES >> 20)));
        }
        let text = String::from_utf8(bytes).map_err(|_| malformed("it is not UTF-8".to_owned()))?;
        let index: Index =
            if is_toml(file) { from_toml(&text) } else { from_json(&text) }.map_err(malformed)?;
        if index.components.len() > COMPONENTS {
            return Err(malformed(format!("it has more than {COMPONENTS} components")));
        }
        Ok(index)
    }

    /// Write it as it is read: as TOML if the file is named so, otherwise as JSON.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, file: &Path) -> Result<(), IndexError> {
        if !is_toml(file) {
            return Ok(write_json(file, self)?);
        }
        // Strings in tables: there is nothing that TOML could not say.
        let text = toml::to_string(self).unwrap_or_default();
        Ok(write_file(file, text.as_bytes())?)
    }

    /// Take in a component, in place of what was known under its reference or, of the program's, its
    /// name.
    pub fn put(&mut self, known: Known) {
        self.components.retain(|other| other.reference != known.reference);
        self.components.push(known);
        self.components.sort_by(|one, other| one.name.0.cmp(&other.name.0));
    }

    /// The components that some of these words fit, the best first; of equals, those that stand
    /// first.
    pub fn search(&self, words: &[String]) -> Vec<&Known> {
        let asked: BTreeSet<String> = words.iter().flat_map(|word| split(word)).collect();
        let asked: Vec<String> = asked.into_iter().take(WORDS).collect();
        let mut found: Vec<(Fit, &Known)> = self
            .components
            .iter()
            .map(|known| (known.fit(&asked), known))
            .filter(|(fit, _)| fit.words > 0)
            .collect();
        // Sorting keeps the order of equals.
        found.sort_by(|(one, _), (other, _)| other.cmp(one));
        found.into_iter().map(|(_, known)| known).collect()
    }
}

/// How well a component fits a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    /// How many of its words do.
    words: usize,
    /// How well they do.
    weight: usize,
}

impl Known {
    /// What is known of a component.
    ///
    /// # Errors
    /// With the reason why no index can have it: it is a file that nobody else has, or what it says
    /// is not what an index holds.
    pub fn of(sheet: &Sheet) -> Result<Self, String> {
        let (said, origin) = (&sheet.said, &sheet.origin);
        if !origin.is_shared() {
            return Err("it is a file that nobody else has; push it, and name its reference, or \
                        say with `--registry` where it will be pushed to"
                .to_owned());
        }
        Ok(Known {
            name: held("name", &said.name)?,
            reference: held("reference", &origin.named)?,
            sentence: held("summary", &said.summary)?,
            contract: held("contract", &sheet.facts.contract)?,
            kind: Some(held("kind", said.kind)?),
            version: Some(held("version", &said.version)?),
            licence: origin.licence.as_deref().map(|named| held("licence", named)).transpose()?,
        })
    }

    /// Its name, and before others its parts, weigh more than its sentence.
    fn fit(&self, asked: &[String]) -> Fit {
        let kind: Vec<String> = self.kind.iter().map(|kind| kind.0.clone()).collect();
        let (name, sentence) = (split(&self.name.0), split(&self.sentence.0));
        let best = |word: &String| {
            let of = |among: &[String], whole: usize, start: usize| {
                let fits = |other: &String| match other {
                    other if other == word => whole,
                    other if other.starts_with(word.as_str()) => start,
                    _ => 0,
                };
                among.iter().map(fits).max().unwrap_or(0)
            };
            let exact = if self.name.0 == *word { 8 } else { 0 };
            exact.max(of(&name, 6, 4)).max(of(&sentence, 3, 2)).max(of(&kind, 1, 0))
        };
        let weights: Vec<usize> = asked.iter().map(best).filter(|weight| *weight > 0).collect();
        Fit { words: weights.len(), weight: weights.iter().sum() }
    }
}

/// What is said of a component, as an index holds it.
fn held<T: TryFrom<String, Error = String>>(what: &str, said: &str) -> Result<T, String> {
    T::try_from(said.to_owned()).map_err(|reason| format!("its {what} does not fit: {reason}"))
}

fn is_toml(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "toml")
}

/// Runs of letters and digits, in small letters.
fn split(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        // The library itself says the line.
        format!("`{}`: {}", error.path(), error.inner())
    })?;
    json.end().map_err(|error| error.to_string())?;
    Ok(read)
}

fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let placed = |error: &toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("{} at line {line}", error.message())
    };
    let toml = toml::de::Deserializer::parse(text).map_err(|error| placed(&error))?;
    serde_path_to_error::deserialize(toml)
        .map_err(|error| format!("`{}`: {}", error.path(), placed(error.inner())))
}

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let word = |word: &str| {
            !word.is_empty() && word.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        };
        if text.len() <= NAME_BYTES && text.split('-').all(word) {
            return Ok(Name(text));
        }
        Err(format!("a name is in kebab-case, of at most {NAME_BYTES} letters"))
    }
}

impl<const MOST: usize> TryFrom<String> for Line<MOST> {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let length = text.chars().count();
        if text.contains(['\n', '\r']) || length > MOST {
            return Err(format!(
                "a text has one line of at most {MOST} characters, and this {length}"
            ));
        }
        Ok(Line(text))
    }
}

impl TryFrom<String> for Whence {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if !text.starts_with(SCHEME) {
            return Name::try_from(text).map(Whence::Program).map_err(|_| {
                format!(
                    "a reference is {SCHEME}registry/name:1.2.0@sha256:…, or the name of a \
                     component that comes with the program"
                )
            });
        }
        let reference: OciReference = text.parse().map_err(|error| format!("{error}"))?;
        match reference.digest {
            Some(_) => Ok(Whence::Registry(reference)),
            None => {
                Err(format!("`{reference}` has no digest, so it may mean another one tomorrow"))
            }
        }
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl<const MOST: usize> From<Line<MOST>> for String {
    fn from(line: Line<MOST>) -> Self {
        line.0
    }
}

impl From<Whence> for String {
    fn from(whence: Whence) -> Self {
        match whence {
            Whence::Registry(reference) => reference.to_string(),
            Whence::Program(name) => name.0,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl<const MOST: usize> fmt::Display for Line<MOST> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::said::Said;
    use crate::sheet::{Facts, Origin};
    use troupe_guests::plugin::Needs;

    fn known(name: &str, sentence: &str) -> Known {
        let word = |text: &str| Line::try_from(text.to_owned()).unwrap();
        Known {
            name: name.to_owned().try_into().unwrap(),
            reference: name.to_owned().try_into().unwrap(),
            sentence: sentence.to_owned().try_into().unwrap(),
            contract: word("0.2.0"),
            kind: Some(word("environment")),
            version: None,
            licence: None,
        }
    }

    fn found(words: &str) -> Vec<String> {
        let index = Index {
            components: vec![
                known("eight-queens", "Place queens on a board."),
                known("sudoku", "Fill a board with digits."),
                known("board-game", "Something with queens, a king and digits."),
            ],
        };
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        index.search(&words).into_iter().map(|known| known.name.0.clone()).collect()
    }

    #[test]
    fn names_come_before_sentences_and_more_words_before_fewer() {
        assert_eq!(found("sudoku"), ["sudoku"]);
        assert_eq!(found("board"), ["board-game", "eight-queens", "sudoku"]);
        assert_eq!(found("digits board"), ["board-game", "sudoku", "eight-queens"]);
        assert_eq!(found("QUEEN"), ["eight-queens", "board-game"], "beginnings count");
        assert_eq!(found("chess"), [""; 0]);
        assert_eq!(found("--"), [""; 0]);
    }

    #[test]
    fn an_index_is_written_as_its_name_says_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let index =
            Index { components: vec![known("sudoku", "Fill a \"board\"."), known("a", "")] };
        for (name, start) in [("index.toml", "[[components]]"), ("index.json", "{")] {
            let file = folder.path().join(name);
            index.write(&file).unwrap();
            assert_eq!(Index::read(&file).unwrap(), index);
            assert!(std::fs::read_to_string(&file).unwrap().starts_with(start), "{name}");
        }
    }

    /// A component that is had from there and says this of itself.
    fn sheet(named: &str, summary: &str) -> Sheet {
        let (named, summary) = (named.to_owned(), summary.to_owned());
        let (name, version) = ("sudoku".to_owned(), "0.1.0".to_owned());
        Sheet {
            said: Said { kind: "environment", name, version, summary },
            origin: Origin { named, licence: None },
            facts: Facts {
                size: 1,
                digest: "ab".repeat(32),
                contract: "0.2.0".to_owned(),
                wants: Vec::new(),
                needs: Needs::NOTHING,
            },
            environment: None,
            workflow: None,
            interpreter: None,
            checked: Ok(Vec::new()),
        }
    }

    #[test]
    fn what_no_index_can_have_is_refused_with_the_true_reason() {
        let of = |named: &str, summary: &str| Known::of(&sheet(named, summary));
        assert_eq!(of("sudoku", "A board.").map(|known| known.name.0), Ok("sudoku".to_owned()));
        let reason = of("./sudoku.wasm", "A board.").unwrap_err();
        assert!(reason.starts_with("it is a file that nobody else has; push it"), "{reason}");
        let reason = of("sudoku", "A board\nof digits.").unwrap_err();
        assert!(reason.starts_with("its summary does not fit: a text has one line"), "{reason}");
        let reason = of("oci://r.example/sudoku:0.1.0", "A board.").unwrap_err();
        assert!(reason.starts_with("its reference does not fit:"), "{reason}");
    }

    #[test]
    fn what_is_known_under_a_reference_is_replaced() {
        let mut index = Index::default();
        index.put(known("sudoku", "Old."));
        index.put(known("math", "Sums."));
        index.put(known("sudoku", "New."));
        let sentences: Vec<&str> = index.components.iter().map(|it| &*it.sentence.0).collect();
        assert_eq!(sentences, ["Sums.", "New."]);
    }
}
