//! A document: as it is stored, and as a search returns it.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// Documents that one search returns at most.
pub const MAX_DOCUMENTS: usize = 64;
/// Bytes of a document's id and title.
const ID_BYTES: usize = 256;
const TITLE_BYTES: usize = 1 << 10;

/// A document that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    /// Its name in the corpus.
    pub id: String,
    /// Its title; may be empty.
    pub title: String,
    /// Its text, perhaps cut.
    pub text: String,
    /// Its BM25 score.
    pub score: f64,
}

/// A document of a corpus.
#[derive(Debug)]
pub(super) struct Entry {
    id: String,
    title: String,
    text: String,
}

/// A line of a corpus; what else it says is passed over.
#[derive(Deserialize)]
struct Line {
    text: String,
    #[serde(default)]
    id: Option<Id>,
    #[serde(default)]
    title: String,
}

/// Data sets name their documents or count them.
#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Name(String),
    Number(u64),
}

impl Entry {
    /// Reads a line of a file. One without an id is called by its place.
    pub(super) fn parse(record: &[u8], file: &Path, line: usize) -> Result<Self, String> {
        let form = r#"it must be like `{"id": "...", "title": "...", "text": "..."}`"#;
        let record: Line =
            serde_json::from_slice(record).map_err(|error| format!("{error}; {form}"))?;
        let stem = || file.file_stem().unwrap_or_default().to_string_lossy();
        let id = match record.id {
            None => format!("{}-{line}", stem()),
            Some(Id::Name(name)) => name,
            Some(Id::Number(number)) => number.to_string(),
        };
        let (title, text) = (record.title, record.text);
        for (what, length, most) in
            [("id", id.len(), ID_BYTES), ("title", title.len(), TITLE_BYTES)]
        {
            if length > most {
                return Err(format!("its {what} has {length} bytes; at most {most}"));
            }
        }
        Ok(Entry { id, title, text })
    }

    /// The text in which words are searched for.
    pub(super) fn searched(&self) -> String {
        format!("{}\n{}", self.title, self.text)
    }

    /// The document as a search returns it, with at most `longest` bytes of its text.
    pub(super) fn document(&self, score: f64, longest: usize) -> Document {
        let text = self.text[..self.text.floor_char_boundary(longest)].to_owned();
        Document { id: self.id.clone(), title: self.title.clone(), text, score }
    }
}
