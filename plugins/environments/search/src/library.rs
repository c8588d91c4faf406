//! Searching: the host's corpus in a component, the world's own documents in a
//! native test, which has no host.

use plugin_sdk::environment::Problem;
use serde::{Deserialize, Serialize};

use crate::world::Document;

/// Characters of a document that are shown.
const SHOWN: usize = 1200;

/// A document that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Its title.
    pub title: String,
    /// What it says, cut if it is long.
    pub text: String,
}

impl Found {
    pub(crate) fn new(title: &str, text: &str) -> Self {
        Found { title: title.to_owned(), text: text.chars().take(SHOWN).collect() }
    }
}

/// The documents that fit the query best.
#[cfg(target_family = "wasm")]
pub fn search(query: &str, limit: u32) -> Result<Vec<Found>, Problem> {
    let documents = plugin_sdk::retrieval::search(query, limit).map_err(Problem::internal)?;
    Ok(documents.iter().map(|one| Found::new(&one.title, &one.text)).collect())
}

/// The world's own documents that fit the query best.
#[cfg(not(target_family = "wasm"))]
pub fn search(query: &str, limit: u32) -> Result<Vec<Found>, Problem> {
    Ok(best_of(&crate::world::World::new().documents(), query, limit))
}

/// The documents that have most words of the query, those in the title twice; of equals the first.
pub fn best_of(documents: &[Document], query: &str, limit: u32) -> Vec<Found> {
    let words = |text: &str| -> Vec<String> {
        text.to_lowercase().split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect()
    };
    let wanted = words(query);
    let score = |document: &Document| -> usize {
        let (title, text) = (words(&document.title), words(&document.text));
        let wanted = wanted.iter().filter(|word| !word.is_empty());
        wanted
            .map(|word| 2 * usize::from(title.contains(word)) + usize::from(text.contains(word)))
            .sum()
    };
    let mut scored: Vec<(usize, &Document)> =
        documents.iter().map(|document| (score(document), document)).collect();
    scored.retain(|(score, _)| *score > 0);
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let best = scored.into_iter().take(limit as usize);
    best.map(|(_, one)| Found::new(&one.title, &one.text)).collect()
}
