//! A run as a page: one HTML file with curves, episodes and answers, which holds all that it
//! needs, asks for nothing, and shows whatever models and plugins wrote as text.

mod bounds;
mod texts;
mod html;
mod figures;
mod turns;
mod story;
mod siblings;
mod gallery;
mod notes;
mod names;
mod selection;
mod chapter;

use std::path::PathBuf;

use serde::Serialize;

pub use bounds::Bounds;
pub use chapter::Chapter;
pub use selection::Shown;

use self::names::names_of;
use self::texts::Texts;
use troupe_core::storage::StorageError;

/// What a page holds.
#[derive(Debug, Serialize)]
pub struct Page {
    /// The version of the program that made it.
    version: &'static str,
    /// The runs, one after the other.
    pub runs: Vec<Chapter>,
    /// What their episodes and answers say.
    texts: Texts,
}

impl Page {
    /// Gather what the folders of some runs hold.
    ///
    /// # Errors
    /// If a folder is none of a run, or cannot be read at all; what is damaged in it becomes a
    /// note on the page.
    pub fn of(runs: &[PathBuf], bounds: Bounds) -> Result<Self, StorageError> {
        let mut texts = Texts::new(bounds.text_bytes);
        let share = bounds.shared_by(runs.len());
        let write = |(run, name): (&PathBuf, String)| {
            chapter::write((run.as_path(), name), share, &mut texts)
        };
        let runs = runs.iter().zip(names_of(runs)).map(write).collect::<Result<_, _>>()?;
        Ok(Page { version: env!("CARGO_PKG_VERSION"), runs, texts })
    }

    /// The page as a file.
    ///
    /// # Errors
    /// If what it holds cannot be written as JSON.
    pub fn to_html(&self) -> Result<String, serde_json::Error> {
        let names: Vec<&str> = self.runs.iter().map(|run| run.name.as_str()).collect();
        html::page_of(&names.join(", "), self)
    }
}
