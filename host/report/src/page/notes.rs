//! What a page could not show, and why.

use std::fmt::Display;

/// Notes that say the same of many files are cut after so many.
const MOST: usize = 20;

/// Notes, in the order in which they were made.
#[derive(Debug, Default)]
pub struct Notes(Vec<String>);

impl Notes {
    /// Make one.
    pub fn add(&mut self, note: impl Display) {
        self.0.push(note.to_string());
    }

    /// What was read; if it could not be, that is noted.
    pub fn unless<T>(&mut self, read: Result<T, impl Display>) -> Option<T> {
        read.map_err(|error| self.add(error)).ok()
    }

    /// The first of them, and how many more there are.
    pub fn into_list(mut self) -> Vec<String> {
        let more = self.0.len().saturating_sub(MOST);
        self.0.truncate(MOST);
        self.0.extend((more > 0).then(|| format!("and {more} more of this kind")));
        self.0
    }
}
