//! Searching: the host's corpus in a component, the world's own documents in a
//! native test, which has no host.

use plugin_sdk::environment::Problem;
use serde::{Deserialize, Serialize};

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
    fn new(title: &str, text: &str) -> Self {
        Found { title: title.to_owned(), text: text.chars().take(SHOWN).collect() }
    }
}

/// The documents that fit the query best.
#[cfg(target_family = "wasm")]
pub fn search(query: &str, limit: u32) -> Result<Vec<Found>, Problem> {
    let documents = plugin_sdk::retrieval::search(query, limit).map_err(Problem::internal)?;
    Ok(documents.iter().map(|one| Found::new(&one.title, &one.text)).collect())
}

/// The documents that have most words of the query, those in the title twice.
#[cfg(not(target_family = "wasm"))]
pub fn search(query: &str, limit: u32) -> Result<Vec<Found>, Problem> {
    let words = |text: &str| -> Vec<String> {
        text.to_lowercase().split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect()
    };
    let wanted = words(query);
    let score = |document: &crate::world::Document| {
        let (title, text) = (words(&document.title), words(&document.text));
        let wanted = wanted.iter().filter(|word| !word.is_empty());
        wanted
            .map(|word| 2 * usize::from(title.contains(word)) + usize::from(text.contains(word)))
            .sum()
    };
    let documents = crate::world::World::new().documents();
    let mut scored: Vec<(usize, &crate::world::Document)> =
        documents.iter().map(|document| (score(document), document)).collect();
    scored.retain(|(score, _)| *score > 0);
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let best = scored.into_iter().take(limit as usize);
    Ok(best.map(|(_, one)| Found::new(&one.title, &one.text)).collect())
}
