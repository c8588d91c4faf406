//! A corpus of documents that can be searched, indexed when a run begins. What
//! is found depends on the corpus and the query alone. **Only this module names
//! bm25.**

mod document;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use bm25::{Embedder, EmbedderBuilder, Embedding, Scorer, Tokenizer};
use document::Entry;
pub use document::{Document, MAX_DOCUMENTS};

use troupe_core::config::RetrievalConfig;
use troupe_core::error::{Coded, ExitCode};

/// Bytes of one line of a corpus.
const LINE_BYTES: usize = 1 << 20;
/// Bytes of a whole corpus: its index takes some ten times as many.
const CORPUS_BYTES: u64 = 256 << 20;
/// What a search costs by itself, and each document that it looks at for a word
/// beside the comparisons: hashing and sorting, counted as instructions.
const PER_SEARCH: u64 = 1000;
const PER_LOOK: u64 = 64;
/// Bytes of a query, and its words that count: the first ones, each once.
const QUERY_BYTES: usize = 4 << 10;
const QUERY_WORDS: usize = 64;

/// Why a corpus cannot be searched.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A plugin may search, and there is nothing to search in.
    #[error(
        "`{name}` was granted retrieval, and there is no corpus; name its files in \
         `retrieval.corpus`, or leave the grant out"
    )]
    Missing {
        /// The plugin.
        name: String,
    },
    /// There is a corpus, and no plugin may search it.
    #[error(
        "no plugin may search the corpus `{}`; grant it with `--grant PLUGIN=search` or \
         `retrieval.grant`, or leave `retrieval.corpus` out",
        file.display()
    )]
    Nobody {
        /// Its first file.
        file: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read the corpus `{}`: {reason}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system said.
        reason: std::io::Error,
    },
    /// A line is no document.
    #[error("line {line} of the corpus `{}` is no document: {reason}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// There is too much of it.
    #[error(
        "the corpus is larger than {} MiB, reached in `{}`; search in fewer documents",
        CORPUS_BYTES >> 20,
        file.display()
    )]
    TooLarge {
        /// The file in which it becomes too large.
        file: PathBuf,
    },
    /// No file of it has a line.
    #[error("there is no document in the corpus `{}`", file.display())]
    Empty {
        /// Its first file.
        file: PathBuf,
    },
}

impl Coded for CorpusError {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Usage)
    }
}

/// A query that nothing is searched for.
#[derive(Debug, thiserror::Error)]
#[error("the query has {bytes} bytes; at most {QUERY_BYTES} can be searched for")]
pub struct QueryTooLong {
    bytes: usize,
}

/// Documents that can be searched.
pub struct Corpus {
    entries: Vec<Entry>,
    embedder: Embedder<u64, Words>,
    scorer: Scorer<u32, u64>,
    /// How many different words each document has.
    sizes: Vec<u32>,
    digests: BTreeMap<String, String>,
}

/// What a search found, and what it took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchResult {
    /// The best document first; of equals the one that stands first in the corpus.
    pub documents: Vec<Document>,
    /// What the search costs on any machine: words compared and bytes found.
    pub work: u64,
}

/// Splits a text into words: runs of letters and digits, in lower case. There
/// is no list of words that do not matter, so it does not depend on a language.
#[derive(Clone, Copy, Debug, Default)]
struct Words;

impl Tokenizer for Words {
    fn tokenize(&self, text: &str) -> Vec<String> {
        let words = text.split(|letter: char| !letter.is_alphanumeric());
        words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
    }
}

impl Corpus {
    /// Indexes the corpus of a configuration; nothing if it names none.
    ///
    /// # Errors
    /// If a file cannot be read, a line of it is no document, or a plugin may
    /// search without a corpus, or none may search the corpus there is.
    pub fn open(config: &RetrievalConfig) -> Result<Option<Self>, CorpusError> {
        let Some(first) = config.corpus.first() else {
            let missing = |name: &String| CorpusError::Missing { name: name.clone() };
            return config.grant.first().map_or(Ok(None), |grantee| Err(missing(&grantee.name)));
        };
        let file = || first.clone();
        if config.grant.is_empty() {
            return Err(CorpusError::Nobody { file: file() });
        }
        let (mut entries, mut digests, mut bytes) = (Vec::new(), BTreeMap::new(), 0);
        for path in &config.corpus {
            let digest = read(path, &mut bytes, &mut entries)?;
            digests.insert(path.display().to_string(), digest);
        }
        if entries.is_empty() {
            return Err(CorpusError::Empty { file: file() });
        }
        Ok(Some(Corpus::index(entries, digests)))
    }

    fn index(entries: Vec<Entry>, digests: BTreeMap<String, String>) -> Self {
        let texts: Vec<String> = entries.iter().map(Entry::searched).collect();
        let embedder = {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            EmbedderBuilder::with_tokenizer_and_fit_to_corpus(Words, &texts).build()
        };
        let (mut scorer, mut sizes) = (Scorer::new(), Vec::new());
        for (place, text) in (0..).zip(&texts) {
            let Embedding(mut words) = embedder.embed(text);
            // A word's weight is the same wherever it stands in the document.
            words.sort_by_key(|word| word.index);
            words.dedup_by_key(|word| word.index);
            sizes.push(words.len() as u32);
            scorer.upsert(&place, Embedding(words));
        }
        Corpus { entries, embedder, scorer, sizes, digests }
    }

    /// The documents that fit a query best by BM25 (k1 1.2, b 0.75), at most
    /// `limit` of them. Their texts come to no more than `longest` bytes together.
    ///
    /// # Errors
    /// If the query is too long.
    pub fn search(
        &self,
        query: &str,
        limit: usize,
        longest: usize,
    ) -> Result<SearchResult, QueryTooLong> {
        if query.len() > QUERY_BYTES {
            return Err(QueryTooLong { bytes: query.len() });
        }
        let (Embedding(mut words), mut known) = (self.embedder.embed(query), BTreeSet::new());
        words.retain(|word| known.len() < QUERY_WORDS && known.insert(word.index));
        let asked = words.len() as u64;
        let mut matches = self.scorer.matches(&Embedding(words));
        let look = |place: u32| asked * (PER_LOOK + u64::from(self.sizes[place as usize]));
        let looks: u64 = matches.iter().map(|hit| look(hit.id)).sum();
        // The scorer's own order of equals is that of a hash table.
        matches.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
        matches.truncate(limit.min(MAX_DOCUMENTS));
        let share = longest / matches.len().max(1);
        let document = |hit: &bm25::ScoredDocument<u32>| {
            self.entries[hit.id as usize].document(f64::from(hit.score), share)
        };
        let documents: Vec<Document> = matches.iter().map(document).collect();
        let bytes: usize = documents.iter().map(|document| document.text.len()).sum();
        Ok(SearchResult { documents, work: PER_SEARCH + looks + bytes as u64 })
    }

    /// BLAKE3 of each file, for the manifest of a run.
    pub fn digests(&self) -> &BTreeMap<String, String> {
        &self.digests
    }
}

impl std::fmt::Debug for Corpus {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Corpus").field("documents", &self.entries.len()).finish_non_exhaustive()
    }
}

/// Reads the documents of a file; its digest.
fn read(path: &Path, bytes: &mut u64, entries: &mut Vec<Entry>) -> Result<String, CorpusError> {
    let io = |reason| CorpusError::Io { file: path.to_owned(), reason };
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(io)?);
    let (mut hasher, mut text) = (blake3::Hasher::new(), Vec::new());
    for line in 1.. {
        text.clear();
        let limited = &mut Read::take(&mut reader, LINE_BYTES as u64 + 1);
        if limited.read_until(b'\n', &mut text).map_err(io)? == 0 {
            break;
        }
        *bytes += text.len() as u64;
        if *bytes > CORPUS_BYTES {
            return Err(CorpusError::TooLarge { file: path.to_owned() });
        }
        hasher.update(&text);
        let refused = |reason| CorpusError::Line { file: path.to_owned(), line, reason };
        if text.len() > LINE_BYTES {
            return Err(refused(format!("it is longer than {} KiB", LINE_BYTES >> 10)));
        }
        let record = text.trim_ascii();
        if !record.is_empty() {
            entries.push(Entry::parse(record, path, line).map_err(refused)?);
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests;
