//! `[retrieval]`: what can be searched, and by whom.

use std::path::PathBuf;

use super::Grantee;
use super::table::table;

table! {
    /// A corpus that plugins may search.
    pub struct RetrievalConfig {
        /// Files of documents, one line of JSON each: a `text`, and perhaps an `id` and a `title`.
        pub corpus: Vec<PathBuf> = Vec::new();
        /// Plugins that may search it: names of their files, without `.wasm`, perhaps with a digest.
        pub grant: Vec<Grantee> = Vec::new();
    }
}
